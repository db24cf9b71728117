/* commands.h - the table of commands. Each command's entry stands in its own file, beside the code
 * that reads it: what follows its name, what it does, its options, examples. The parser
 * (options.c), the help (help.c), completion (complete.c), the man pages and docs/CLI.md
 * (tools/manual) are all made from it, so none can say other than the others.
 *
 * A new command: its file, and a line here and in commands.c. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

enum option_kind {
    OPTION_FLAG,
    OPTION_TEXT,
    OPTION_TEXTS, /* may be given several times */
    OPTION_NUMBER,
    OPTION_TIME,
    OPTION_MOMENT, /* a time, or the number of an event */
    OPTION_DURATION
};

/* An option of a command; a list ends with a name of NULL. */
struct option {
    const char *name; /* without the dashes */
    enum option_kind kind;
    /* Where its value goes in the structure that the command hands to cli_begin: a bool, const
     * char *, struct texts, struct pawl_moment or int64_t. */
    size_t at;
    /* What its value is called, NULL for a flag. "a|b|c" are the words that it may be; a comma at
     * the end says that several may be given, with commas between them. Names that completion
     * knows: see placeholders in
     * complete.c. */
    const char *value;
    const char *text; /* what it does: follows the option, so without a capital and a full stop */
};

struct example {
    const char *line, *text;
};

#define EXAMPLES 3

struct command {
    const char *name;
    /* What may follow the name, one form a line: words in small letters are themselves, those in
     * capitals stand for something, "…" repeats, [ ] may be left out, a|b is a choice. Options are
     * named only where they belong to one form. */
    const char *forms;
    const char *text;  /* what it does, for a line in a list */
    const char *about; /* what else is good to know, paragraphs between empty lines; or NULL */
    const struct option *options; /* NULL: none but the common ones (command_common) */
    struct example examples[EXAMPLES];
    int least, most; /* how many words that are no options */
    int (*run)(int argc, char **argv);
    bool no_json; /* prints no data, so that --json would say nothing else */
    bool hidden;  /* for programs, not for people */
};

extern const struct command command_worker;
extern const struct command command_exec;
extern const struct command command_run;
extern const struct command command_submit;
extern const struct command command_submissions;
extern const struct command command_apply;
extern const struct command command_schedule;
extern const struct command command_validate;
extern const struct command command_init;
extern const struct command command_graph;
extern const struct command command_schema;
extern const struct command command_ls;
extern const struct command command_show;
extern const struct command command_tree;
extern const struct command command_diff;
extern const struct command command_events;
extern const struct command command_why;
extern const struct command command_logs;
extern const struct command command_cancel;
extern const struct command command_pause;
extern const struct command command_resume;
extern const struct command command_rerun;
extern const struct command command_skip;
extern const struct command command_approve;
extern const struct command command_reject;
extern const struct command command_queue;
extern const struct command command_workers;
extern const struct command command_top;
extern const struct command command_verify;
extern const struct command command_metrics;
extern const struct command command_bench;
extern const struct command command_admin;
extern const struct command command_completion;
extern const struct command command_complete;
extern const struct command command_help;

/* All of them, in the order of the help; ends with NULL. */
extern const struct command *const commands[];
const struct command *command_find(const char *name); /* NULL: there is none */
int command_unknown(const char *word); /* says so, and what may be meant; returns the exit code */

/* What follows `pawl NAME` in the i-th way to call it, with a space before it. Returns false, and
 * leaves *b alone, if there are not so many. */
bool command_form(const struct command *c, size_t i, struct buf *b);

/* The options that every command takes, but --json one that prints no data; their values go into
 * struct cli. */
extern const struct option common_options[];
const struct option *command_common(const struct command *c); /* those of one; NULL: all */
const struct option *option_find(const struct option *list, const char *name, size_t len);
const char *option_dashes(const struct option *o);
void option_heading(struct buf *b, const struct option *o); /* "--name VALUE…" */

/* How ids and times are written. */
extern const char notation[];

/* What exit codes say. */
struct exit_code {
    const char *code, *text;
};
extern const struct exit_code exit_codes[]; /* ends with a code of NULL */

#endif
