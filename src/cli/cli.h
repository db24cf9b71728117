/* cli.h - what the commands share. A command is a client of pawl.h like any other: it includes that
 * and base/, reads its options, and prints. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include "base/buf.h"
#include "base/err.h"
#include "base/text.h"
#include "pawl.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* name, what follows it, what it does: the table, the help and the functions come from here. */
#define COMMANDS(X)                                                                                   \
    X(worker,                                                                                         \
      "[--queue Q]… [--slots N] [--drain] [--plugin FILE.so]… [--state DIR] [--config FILE]",         \
      "run what is queued until it is told to stop, or (--drain) until nothing is left")              \
    X(exec,                                                                                           \
      "[--detach] [--queue Q] [--priority N] [--delay D] [--retry N] [--timeout D] [--name NAME]"     \
      " [--executor KEY] [--key KEY] [--env NAME=VALUE]… [--cwd DIR] [--no-parent] [--state DIR]"   \
      " [--config FILE] -- CMD ARG…",                                                                 \
      "run a command here and now and wait for it, or (--detach) leave it to a worker")               \
    X(run,                                                                                            \
      "FILE [--param NAME=VALUE]… [--progress auto|tty|plain|json|none] [--priority N] [--key KEY]" \
      " [--state DIR] [--config FILE]",                                                               \
      "run a workflow here and now, and wait for its end")                                            \
    X(submit,                                                                                         \
      "FILE|NAME [--param NAME=VALUE]… [--queue Q] [--priority N] [--key KEY] [--config FILE]",       \
      "put a workflow into its queue: a file, or one that was applied, by its name")                  \
    X(apply, "FILE",                                                                                  \
      "store a workflow under its name, and have its schedules fire it from now on")                  \
    X(schedule,                                                                                       \
      "[ls [NAME] | next [NAME] [-n N] | pause NAME [--reason TEXT] | resume NAME"                    \
      " | run NAME [--reason TEXT]]",                                                                 \
      "show what runs by the clock, and when; pause, resume and run it. NAME is WORKFLOW/SCHEDULE,"   \
      " or WORKFLOW for all of them")                                                                 \
    X(validate, "FILE…", "check workflow files, and say all that is wrong with them")                 \
    X(init, "[FILE]", "write a first workflow file, with comments, that can be run as it is")         \
    X(graph, "FILE|ID [--format ascii|dot|mermaid|svg]",                                              \
      "draw the tasks of a workflow file, or of a run")                                               \
    X(schema, "", "print the JSON Schema of workflow files, for editors")                             \
    X(ls,                                                                                             \
      "[--status S,…] [--kind K] [--name GLOB] [--workflow NAME] [--queue Q]"                       \
      " [--parent ID | --all | --tasks ID] [--limit N] [--before ID]",                                \
      "list executions, newest first: those without a parent, right below one, all, or the tasks"     \
      " of a workflow")                                                                               \
    X(show, "ID [--parent | --workflow]",                                                             \
      "show one execution, or its parent, or the workflow that it is a task of")                      \
    X(tree, "ID", "show an execution and everything below it")                                        \
    X(events, "[ID] [--self] [--type T] [--since T] [--until T] [--limit N] [--follow]",              \
      "show the history: of an execution and all below it, or the newest of all")                     \
    X(why, "ID", "say why an execution waits, or how it ended")                                       \
    X(logs, "ID [--attempt N] [--tail LINES] [--follow] [--raw]",                                     \
      "print what an attempt wrote (the last one, unless another is named)")                          \
    X(cancel, "ID… [--let-finish] [--reason TEXT]",                                                   \
      "cancel executions and all below them; what runs is asked to end, or may finish")               \
    X(pause, "ID… [--reason TEXT]", "let nothing of executions and below them start any more")        \
    X(resume, "ID… [--reason TEXT]", "end the pause of executions")                                   \
    X(rerun,                                                                                          \
      "ID [--failed | --from TASK] [--set NAME=VALUE]… [--file FILE] [--dry-run] [--reason TEXT]"   \
      " [--state DIR]",                                                                               \
      "run again what has ended, in place; with --set or --file as a new execution")                  \
    X(skip, "ID… [--reason TEXT]",                                                                    \
      "leave out tasks that have not begun; others take them for done")                               \
    X(approve, "ID… [--reason TEXT]", "let tasks go on that wait for an approval")                    \
    X(reject, "ID… [--reason TEXT]", "fail tasks that wait for an approval")                          \
    X(queue, "[set QUEUE --limit N|none | pause QUEUE [--reason TEXT] | resume QUEUE]",               \
      "show the queues: what waits, for how long, what runs; limit, pause and resume one")            \
    X(workers, "", "show the workers and what they hold")                                             \
    X(verify, "[--save FILE] [--since FILE]", "check the whole database against its invariants")      \
    X(metrics, "", "print metrics as Prometheus reads them")                                          \
    X(admin,                                                                                          \
      "migrate | tenant create|drop NAME | tenant list | cleanup-events --older-than D"               \
      " [--dry-run] | fence --yes",                                                                   \
      "create and upgrade a database, its tenants; remove what is old; fence a restored backup")      \
    X(help, "[COMMAND]", "explain a command")

/* The options that every command takes, and the words that are not options. */
struct cli {
    const char *db, *tenant;
    bool json, help;
    const char **words;
    int nwords;
};

#define X(name, usage, text) int cmd_##name(int argc, char **argv);
COMMANDS(X)
#undef X

/* ---- options.c ---- */

enum option_kind {
    OPTION_FLAG,
    OPTION_TEXT,
    OPTION_TEXTS, /* may be given several times */
    OPTION_NUMBER,
    OPTION_TIME,
    OPTION_DURATION
};

/* What an option that may be repeated was given; ends with NULL. A VEC. */
struct texts {
    const char **at;
    size_t n, cap;
};

/* An option of one command; a list ends with a name of NULL. `to` is a bool, const char *, struct
 * texts or int64_t. */
struct option {
    const char *name; /* without the dashes */
    enum option_kind kind;
    void *to;
};

/* Reads argv[1…]: common options, the command's own, and between `least` and `most` other words.
 * Returns -1 to go on, else what to exit with: an error and `--help` have been answered then. */
int cli_begin(struct cli *c, const char *command, int argc, char **argv,
              const struct option *options, int least, int most);
void cli_end(struct cli *c);

/* Opens the database for reading: it must exist. Returns 0, or an error that was printed. */
MUST_USE int cli_open(const struct cli *c, struct pawl **out);
struct pawl_options cli_options(const struct cli *c, bool must_exist);

/* A number, or @last. */
MUST_USE int cli_id(struct pawl *p, const char *text, int64_t *id);

void cli_usage(FILE *to, const char *command);

/* ---- out.c ---- */

int cli_fail(const struct pawl_error *err); /* says it; returns the exit code */
int cli_wrong(const char *fmt, ...) PRINTF_LIKE(1, 2);
int cli_done(int exit_code); /* whether all that was printed has arrived decides, too */

/* Text without control characters, as they may come out of the database: for terminals. */
void out_clean(struct buf *b, const char *text);

/* Rows in aligned columns. The first row is the heading; "<" before a column's name keeps its cells
 * to the left, otherwise they go to the right. */
struct table {
    struct buf cells; /* NUL-terminated, one after the other */
    size_t ncols, n;
};
void table_add(struct table *t, const char *cell);
void table_addf(struct table *t, const char *fmt, ...) PRINTF_LIKE(2, 3);
void table_add_span(struct table *t, int64_t us);
void table_heads(struct table *t, const char *const *heads, size_t n);
void table_print(struct table *t); /* and forget */

/* Fields of a JSON object: "" or 0 where there is none. */
const char *field(const json_t *o, const char *key);
int64_t field_int(const json_t *o, const char *key);
/* A time in µs, 0 if there is none. */
int64_t field_time(const json_t *o, const char *key);
json_t *parse_object(const char *json); /* what the library writes is valid */

/* A pawl_line that prints the line. */
int print_line(void *arg, const char *json);

#endif
