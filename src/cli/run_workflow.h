/* run_workflow.h - shared by the commands that have their own engine: signals that are read from
 * a descriptor, stepping until one arrives, and copying the output of a running execution. */
#ifndef CLI_RUN_WORKFLOW_H
#define CLI_RUN_WORKFLOW_H

#include "cli/cli.h"

/* Blocks SIGINT, SIGTERM and SIGHUP, except those that the parent process set to be ignored, and
 * returns a descriptor to read them from; -1 after printing an error. Call it before anything that
 * starts threads. */
int signals_open(void);

/* Adds a signal to the descriptor. */
void signals_add(int fd, int signal);

/* Whether a signal that asks to stop is pending. For pawl_engine_options.give_up, so that an
 * unreachable database does not delay the stop. */
bool signals_pending(void *unused);

/* Sleeps until the engine has something to do, a signal arrives, or most_ms have passed (negative:
 * no limit), and steps the engine. Sets *signal to the signal that arrived, 0 if none. */
MUST_USE int run_step(struct pawl_engine *e, int signals, int most_ms, int *signal,
                      struct pawl_error *err);

/* Handles a failed read of the execution. If the database is unreachable, returns -1, and the
 * caller continues: the engine waits for the database, too; else prints the error and returns the
 * exit code. */
MUST_USE int handle_read_error(const struct pawl_error *err);

/* The position of a reader in an execution's output. */
struct output {
    int64_t execution;
    int attempt; /* 0 if none has started */
    int64_t at;  /* offset up to which the output was read */
    FILE *to;    /* NULL to discard the output */
    char *page;
    json_t *ended; /* the execution, once it has ended and all output was copied */
};

/* Copies new output, of all attempts in order. Check ferror(to) for failed writes. */
MUST_USE int output_copy(struct pawl *p, struct output *o, struct pawl_error *err);
void output_release(struct output *o);

#endif
