/* cli.h - helpers shared by the commands. A command is an ordinary client of pawl.h: it includes
 * only that header and base/, reads its options, and prints. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include "base/buf.h"
#include "base/err.h"
#include "base/text.h"
#include "cli/commands.h"
#include "pawl.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* A call of a command: the options common to all commands, the arguments that are not options, and
 * the values of its own options. */
struct cli {
    const char *db, *tenant, *server, *token_file;
    char *token; /* read from token_file by cli_read_token; NULL if none */
    bool json, help;
    const char **words;
    int nwords;
    const struct command *command;
    void *values;
    struct pawl *p;        /* closed after the command */
    struct pawl_error err; /* error of the call that failed; see command.run */
};

/* ---- options.c ---- */

/* The values of an option that may be repeated: a VEC that ends with NULL. */
struct texts {
    const char **at;
    size_t n, cap;
};

/* Parses argv[1…], runs the command and returns its exit code. */
int run_command(const struct command *command, int argc, char **argv);

/* Opens an existing database as c->p. Returns 0 or, like all functions below, the negative code of
 * the error in c->err. */
MUST_USE int cli_open(struct cli *c);
/* Opens a database, and creates it if it does not exist. `config` is the configuration file; NULL
 * for the default. */
MUST_USE int cli_open_or_create(struct cli *c, const char *config);
struct pawl_options cli_options(const struct cli *c, bool must_exist);
/* The URL of the server that the command works through: --server, or $PAWL_SERVER if no database is
 * given; NULL if none. */
const char *cli_server(const struct cli *c);
/* Reads the file of --token-file, if it is given. Returns 0, or the exit code of an error that was
 * printed. */
MUST_USE int cli_read_token(struct cli *c);
/* Refuses a server: `what` needs the database itself. Returns 0 if no server is given. */
MUST_USE int cli_needs_database(const struct cli *c, const char *what);

/* Parses an id: a number, or @last. Returns 0, the negative code of the error in c->err, or the
 * exit code of an error that was printed. */
MUST_USE int cli_id(struct cli *c, const char *text, int64_t *id);

/* Calls run_id for each word, as command.run_id; the database must be open. Returns the exit code.
 */
int cli_each_id(struct cli *c, int (*run_id)(struct cli *c, int64_t id));

/* ---- cmd_validate.c ---- */

/* Reads a workflow file, once. If it has problems, prints all of them on stderr, with the source
 * lines, and returns the exit code. */
MUST_USE int cli_load(const char *file, struct pawl_workflow **out);
/* Prints a warning for each executor that the job needs and no worker is known to have (with `e`:
 * that this engine does not have), and adds it to the JSON list, which may be NULL. Ignores errors:
 * the command itself will run into them and report them. */
void cli_warn_executors(struct pawl *p, struct pawl_engine *e, const struct pawl_job *job,
                        json_t *list);
/* Frees the workflow of a command at the end of its scope. */
static inline void release_workflow(struct pawl_workflow **w)
{
    pawl_workflow_free(*w);
}
#define AUTO_WORKFLOW AUTO(release_workflow) struct pawl_workflow *

/* ---- help.c ---- */

void help_all(FILE *to);
void help_command(FILE *to, const struct command *c);

/* ---- note.c ---- */

/* A pawl_options.note that prints to standard error; safe to call from any thread. */
void cli_note(void *arg, const char *sentence);

/* ---- out.c ---- */

int cli_fail(const struct pawl_error *err); /* prints the error; returns the exit code */
/* Like cli_fail, for a command that takes params with this option: if a param is missing, adds a
 * hint that names the option. */
int cli_fail_param(const struct pawl_error *err, const char *option);
int cli_wrong(const char *fmt, ...) PRINTF_LIKE(1, 2);
/* Prints a line without control characters. */
void print_clean(FILE *to, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Prints a line with a label; nothing if the text is empty. */
void print_field(const char *label, const char *fmt, ...) PRINTF_LIKE(2, 3);
int cli_done(int exit_code); /* flushes standard output; returns the exit code, or an error if the
                                output could not be written */

/* Appends text without control characters, so that text from the database is safe to print on a
 * terminal. */
void out_clean(struct buf *b, const char *text);
/* Appends text as one shell word, quoted if necessary. */
void out_word(struct buf *b, const char *word);

/* Appends a moment, such as "2026-01-31 14:00:00.123456 UTC" or "event 1234". */
void out_moment(struct buf *b, const struct pawl_moment *at);
static inline bool is_moment(const struct pawl_moment *at)
{
    return at->time || at->event;
}

/* Finds the row of a table whose first member is this name; NULL if there is none. */
#define FIND_NAMED(table, name) \
    find_named((table), sizeof(table) / sizeof(*(table)), sizeof(*(table)), (name))
const void *find_named(const void *rows, size_t n, size_t size, const char *name);

/* field and field_int return a field of a JSON object: "" or 0 if it is missing. */
const char *field(const json_t *o, const char *key);
int64_t field_int(const json_t *o, const char *key);
/* Returns a time in µs; 0 if missing. */
int64_t field_time(const json_t *o, const char *key);
/* How long an execution has run, up to `now` while it runs; -1 if it never did. */
int64_t field_duration(const json_t *o, int64_t now);
json_t *parse_object(const char *json); /* for a text from the library, which is valid */
/* Like parse_object, and frees the text. */
json_t *take_object(char *json);
/* Reads an execution; the caller releases it. */
MUST_USE int show_object(struct pawl *p, int64_t id, json_t **out, struct pawl_error *err);
/* Prints an execution as JSON if c->json is set, else only its id. */
MUST_USE int print_execution(struct cli *c, int64_t id);
/* Prints the text as a line, and frees it. Returns 0. */
int print_answer(char *text);

/* Prints a JSON object and releases it. All of its strings must be valid UTF-8. */
void print_json_object(json_t *o);

/* A pawl_line that prints the line. */
int print_line(void *arg, const char *json);

#endif
