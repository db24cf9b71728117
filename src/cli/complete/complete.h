/* complete.h - completes a command line: complete.c finds the position in the line, candidates.c
 * the candidates from the database. */
#ifndef CLI_COMPLETE_COMPLETE_H
#define CLI_COMPLETE_COMPLETE_H

#include "cli/cli.h"

/* A command line up to the word to complete. */
struct completion {
    const struct command *command; /* NULL if not given yet */
    const struct option *option;   /* the option whose value the word is; NULL if none */
    bool words_only;               /* "--" was given */
    bool unknown;                  /* the command does not exist */
    struct cli cli;                /* the words and common options before the word */
    const char *word;              /* the word as typed so far */
    char last[64];     /* the previous candidate: several forms may start with the same word */
    const char *typed; /* the part of `word` to match; the text before it is kept as a prefix */
};

/* Prints a candidate if it starts with the typed text. */
void offer(struct completion *l, const char *word, const char *text);

/* ---- candidates.c ---- */

MUST_USE int offer_ids(struct completion *l, struct pawl *p, struct pawl_error *err);
MUST_USE int offer_tasks(struct completion *l, struct pawl *p, struct pawl_error *err);
MUST_USE int offer_queues(struct completion *l, struct pawl *p, struct pawl_error *err);
MUST_USE int offer_schedules(struct completion *l, struct pawl *p, struct pawl_error *err);
MUST_USE int offer_workflows(struct completion *l, struct pawl *p, struct pawl_error *err);
MUST_USE int offer_hooks(struct completion *l, struct pawl *p, struct pawl_error *err);
MUST_USE int offer_tokens(struct completion *l, struct pawl *p, struct pawl_error *err);
MUST_USE int offer_versions(struct completion *l, struct pawl *p, struct pawl_error *err);
MUST_USE int offer_workers(struct completion *l, struct pawl *p, struct pawl_error *err);
MUST_USE int offer_hosts(struct completion *l, struct pawl *p, struct pawl_error *err);
void offer_tenants(struct completion *l);

#endif
