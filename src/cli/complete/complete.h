/* complete.h - what may stand at the end of a command line: complete.c knows where on the line one
 * is, candidates.c what the database has to offer there. */
#ifndef CLI_COMPLETE_COMPLETE_H
#define CLI_COMPLETE_COMPLETE_H

#include "cli/cli.h"

/* A command line up to the word that is to be completed. */
struct completion {
    const struct command *command; /* NULL: not yet */
    const struct option *option;   /* whose value the word is */
    bool words_only;               /* "--" was there */
    bool unknown;                  /* a command that there is not */
    struct cli cli;                /* words and common options before it */
    const char *word;              /* as far as it is typed */
    char last[64];                 /* the candidate before: forms may begin with the same word */
    const char *typed;             /* the part of it that is matched; the rest stays before it */
};

/* A candidate, if it goes on as the word begins. */
void offer(struct completion *l, const char *word, const char *text);

/* ---- candidates.c ---- */

MUST_USE int offer_ids(struct completion *l, struct pawl *p, struct pawl_error *err);
MUST_USE int offer_tasks(struct completion *l, struct pawl *p, struct pawl_error *err);
MUST_USE int offer_queues(struct completion *l, struct pawl *p, struct pawl_error *err);
MUST_USE int offer_schedules(struct completion *l, struct pawl *p, struct pawl_error *err);
MUST_USE int offer_workflows(struct completion *l, struct pawl *p, struct pawl_error *err);
void offer_tenants(struct completion *l);

#endif
