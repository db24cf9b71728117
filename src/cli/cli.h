/* cli.h - what the commands share. A command is a client of pawl.h like any other: it includes that
 * and base/, reads its options, and prints. */
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

/* The options that every command takes, and the words that are not options. */
struct cli {
    const char *db, *tenant;
    bool json, help;
    const char **words;
    int nwords;
};

/* ---- options.c ---- */

/* What an option that may be repeated was given; ends with NULL. A VEC. */
struct texts {
    const char **at;
    size_t n, cap;
};

/* Reads argv[1…]: common options, the command's own, whose values go into *values, and other words,
 * as many as it takes. Returns -1 to go on, else what to exit with: an error and `--help` have been
 * answered then. */
int cli_begin(struct cli *c, const struct command *command, int argc, char **argv, void *values);
void cli_end(struct cli *c);

/* Opens the database for reading: it must exist. Returns 0, or an error that was printed. */
MUST_USE int cli_open(const struct cli *c, struct pawl **out);
struct pawl_options cli_options(const struct cli *c, bool must_exist);

/* A number, or @last. */
MUST_USE int cli_id(struct pawl *p, const char *text, int64_t *id);

/* ---- help.c ---- */

void help_all(FILE *to);
void help_command(FILE *to, const struct command *c);

/* ---- note.c ---- */

/* For pawl_options.note; any thread may call it. */
void cli_note(void *arg, const char *sentence);

/* ---- out.c ---- */

int cli_fail(const struct pawl_error *err); /* says it; returns the exit code */
/* The same, of a command that takes params by this option. */
int cli_fail_param(const struct pawl_error *err, const char *option);
int cli_wrong(const char *fmt, ...) PRINTF_LIKE(1, 2);
int cli_done(int exit_code); /* whether all that was printed has arrived decides, too */

/* Text without control characters, as they may come out of the database: for terminals. */
void out_clean(struct buf *b, const char *text);
/* Appends it as one word for the shell: as it is, or in quotes. */
void out_word(struct buf *b, const char *word);

/* "2026-01-31 14:00:00.123456 UTC", "event 1234". */
void out_moment(struct buf *b, const struct pawl_moment *at);
static inline bool is_moment(const struct pawl_moment *at)
{
    return at->time || at->event;
}

/* Fields of a JSON object: "" or 0 where there is none. */
const char *field(const json_t *o, const char *key);
int64_t field_int(const json_t *o, const char *key);
/* A time in µs, 0 if there is none. */
int64_t field_time(const json_t *o, const char *key);
json_t *parse_object(const char *json); /* what the library writes is valid */

/* A pawl_line that prints the line. */
int print_line(void *arg, const char *json);

#endif
