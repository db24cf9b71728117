/* commands.h - the table of commands. Each command defines its entry in its own file, next to its
 * code: arguments, description, options, examples. The parser (options.c), the help (help.c),
 * completion (complete/complete.c), the man pages and docs/CLI.md (tools/manual) all read this
 * table, so they can't disagree.
 *
 * To add a command: write its file, and add a line here. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum option_kind {
    OPTION_FLAG,
    OPTION_TEXT,
    OPTION_TEXTS, /* may be repeated */
    OPTION_NUMBER,
    OPTION_TIME,
    OPTION_MOMENT, /* a time or an event number */
    OPTION_DURATION
};

/* An option of a command; a list ends with a NULL name. */
struct option {
    const char *name; /* without the dashes */
    enum option_kind kind;
    /* Offset of the option's value in the structure of the command's values: a bool, const char *,
     * struct texts, struct pawl_moment or int64_t. */
    size_t at;
    /* The name of the option's value in the help; NULL for a flag. "a|b|c" lists the words allowed;
     * a trailing comma means a comma-separated list. For the names that completion knows see
     * placeholders in complete/complete.c. */
    const char *value;
    const char *text; /* what the option does: a phrase without capital and full stop */
};

struct cli;

struct example {
    const char *line, *text;
};

#define EXAMPLES 7

struct command {
    const char *name;
    /* The arguments, one form per line: lowercase words are literal, uppercase words are
     * placeholders, "…" repeats, [ ] is optional, a|b is a choice. Options are listed only where
     * they belong to one of several forms. */
    const char *forms;
    const char *text;  /* what the command does, for one line of a list */
    const char *about; /* further explanation, with empty lines between paragraphs; or NULL */
    const struct option *options; /* NULL if only the common ones (command_common) */
    size_t size;                  /* size of the structure of the options' values */
    const void *defaults;         /* initial contents of that structure; NULL for zeros */
    struct example examples[EXAMPLES];
    int least, most; /* minimum and maximum number of arguments that are not options */
    /* Runs the command. Returns the exit code, or the negative code of the error in c->err, which
     * the caller then prints. */
    int (*run)(struct cli *c);
    /* Instead of `run`: called for each argument, an id, with the database open. If one call fails,
     * its error is printed, and the other calls are still made; the exit code is that of the first
     * error. */
    int (*run_id)(struct cli *c, int64_t id);
    bool opens;   /* the database must exist and is opened first, as c->p */
    bool reads;   /* changes nothing, so it waits less long for a connection */
    bool no_json; /* the command prints no data, so it has no --json */
    bool local;   /* works with the database itself, so it has no --server */
    bool hidden;  /* called by programs, not by people */
};

/* All commands, in the order of the help. */
#define COMMANDS(X) \
    X(worker)       \
    X(serve)        \
    X(exec)         \
    X(run)          \
    X(submit)       \
    X(wait)         \
    X(watch)        \
    X(submissions)  \
    X(apply)        \
    X(workflow)     \
    X(schedule)     \
    X(validate)     \
    X(init)         \
    X(trust)        \
    X(graph)        \
    X(schema)       \
    X(ls)           \
    X(show)         \
    X(tree)         \
    X(diff)         \
    X(events)       \
    X(why)          \
    X(logs)         \
    X(cancel)       \
    X(pause)        \
    X(resume)       \
    X(rerun)        \
    X(skip)         \
    X(approve)      \
    X(reject)       \
    X(queue)        \
    X(workers)      \
    X(drain)        \
    X(top)          \
    X(verify)       \
    X(metrics)      \
    X(bench)        \
    X(admin)        \
    X(completion)   \
    X(complete)     \
    X(help)

#define X(name) extern const struct command command_##name;
COMMANDS(X)
#undef X
extern const struct command *const commands[];        /* ends with NULL */
const struct command *command_find(const char *name); /* NULL if there is none */
int command_unknown(
    const char *word); /* prints an error with a suggestion; returns the exit code */

/* Sets *b to the i-th form: the text that follows `pawl NAME`, with a leading space. Returns
 * false, and leaves *b alone, if there are fewer forms. */
bool command_form(const struct command *c, size_t i, struct buf *b);

/* The options of every command (--json only if it prints data, --server only if it is not local);
 * their values go into struct cli. */
extern const struct option common_options[];
const struct option *command_common(const struct command *c); /* all common options if c is NULL */
const struct option *option_find(const struct option *list, const char *name, size_t len);
const char *option_dashes(const struct option *o);
void option_heading(struct buf *b, const struct option *o); /* "--name VALUE…" */

/* How ids and times are written; part of the help. */
extern const char notation[];

/* The meaning of an exit code. */
struct exit_code {
    const char *code, *text;
};
extern const struct exit_code exit_codes[]; /* ends with a NULL code */

#endif
