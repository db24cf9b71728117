/* run_workflow.h - what the commands with an engine of their own share: signals as something to be
 * read, stepping until one comes, and the output of an execution while it runs. */
#ifndef CLI_RUN_WORKFLOW_H
#define CLI_RUN_WORKFLOW_H

#include "cli/cli.h"

/* Takes INT, TERM and HUP, except those that whoever started us wants ignored. Before anything that
 * starts threads. Returns a descriptor, or -1: said already. */
int signals_open(void);

/* Takes one more, on the same descriptor. */
void signals_add(int fd, int signal);

/* Whether one that asks for an end waits to be read. For pawl_engine_options.give_up: a database
 * that is away does not keep it waiting. */
bool signals_pending(void *unused);

/* Sleeps until the engine has something to do, a signal comes, or so many ms are over (< 0: as long
 * as it takes), and lets the engine step. *signal is the one that came, 0: none. */
MUST_USE int run_step(struct pawl_engine *e, int signals, int most_ms, int *signal,
                      struct pawl_error *err);

/* Looking at what runs has failed: -1 to go on, since the engine waits for a database that is away,
 * too; else the exit code, and it is said. */
MUST_USE int run_later(const struct pawl_error *err);

/* Where a reader of an execution's output is. */
struct output {
    int64_t execution;
    int attempt; /* 0: none has begun */
    int64_t at;  /* how far it was read */
    FILE *to;    /* NULL: nobody wants it */
    char *page;
    json_t *ended; /* the execution, once it has ended and all was copied */
};

/* Copies what is new, of all attempts in order. A failed write is seen by ferror(to). */
MUST_USE int output_copy(struct pawl *p, struct output *o, struct pawl_error *err);
void output_release(struct output *o);

#endif
