/* commands.c - the table of commands; see commands.h. */
#include "cli/cli.h"

#include "base/mem.h"
#include "base/suggest.h"

#include <string.h>

const struct command *const commands[] = {
#define X(name) &command_##name,
    COMMANDS(X)
#undef X
        NULL,
};

#define JSON_OPTION                                                                              \
    {                                                                                            \
        "json", OPTION_FLAG, offsetof(struct cli, json), NULL, "print JSON, one object per line" \
    }
#define DATABASE_OPTIONS                                                                         \
    {"db", OPTION_TEXT, offsetof(struct cli, db), "URL",                                         \
     "sqlite:FILE or postgres://USER@HOST/DATABASE; default: $PAWL_DB, else the database in "    \
     "pawl.yaml, else pawl.db in your state folder"},                                            \
        {"tenant", OPTION_TEXT, offsetof(struct cli, tenant), "TENANT",                          \
         "tenant in that database; default: $PAWL_TENANT (if $PAWL_DB is set), else the tenant " \
         "of pawl.yaml"},                                                                        \
    {                                                                                            \
        "help", OPTION_FLAG, offsetof(struct cli, help), NULL, "print this help; also -h"        \
    }

const struct option common_options[] = {
    JSON_OPTION,
    {"server", OPTION_TEXT, offsetof(struct cli, server), "SERVER",
     "work through this server instead of a database: http://HOST:PORT, https://HOST or unix:PATH; "
     "default: $PAWL_SERVER, unless --db is given"},
    {"token-file", OPTION_TEXT, offsetof(struct cli, token_file), "FILE",
     "the first line of this file is the token for the server; default: $PAWL_TOKEN"},
    DATABASE_OPTIONS,
    {0},
};
static const struct option local_options[] = {JSON_OPTION, DATABASE_OPTIONS, {0}};

/* The option --json comes first in the array, and is skipped for commands that print no data. */
const struct option *command_common(const struct command *c)
{
    const struct option *all = c && c->local ? local_options : common_options;

    return c && c->no_json ? all + 1 : all;
}

const struct exit_code exit_codes[] = {
    {"0", "success"},
    {"1",
     "the execution failed; verify found a violation; diff --exit-code found a difference; or an "
     "internal error"},
    {"2", "wrong usage, input or definition; or the execution's state does not allow the action"},
    {"3", "the execution was cancelled or skipped"},
    {"4", "the execution timed out"},
    {"5", "not found"},
    {"6", "the database or the server can't be used"},
    {"7", "refused: the limit on concurrent runs is reached"},
    {"8", "the timeout of wait came before the end of the execution"},
    {"128+N", "ended by signal N; unfinished jobs are left to the workers of its state folder"},
    {0},
};

const char notation[] =
    "An ID is a number, or @last for the newest execution without a parent. A TIME is 2026-01-31, "
    "2026-01-31T14:00:00Z, or a DURATION before now: 30s 5m 2h 90d. Set PAWL_TRACE=1 to print each "
    "SQL statement, or each request to a server, with its duration.";

const struct command *command_find(const char *name)
{
    const struct command *const *c;

    for (c = commands; *c; c++)
        if (!strcmp((*c)->name, name))
            return *c;
    return NULL;
}

int command_unknown(const char *word)
{
    VEC(const char *) names = {0};
    const struct command *const *c;
    const char *meant;

    for (c = commands; *c; c++)
        *vec_add(&names) = (*c)->name;
    *vec_add(&names) = NULL;
    meant = suggest_from(word, names.at);
    vec_release(&names);
    if (meant)
        return cli_wrong("unknown command '%.60s'; did you mean `pawl %s`? `pawl help` lists all "
                         "commands",
                         word, meant);
    return cli_wrong("unknown command '%.60s': `pawl help` lists all commands", word);
}

const struct option *option_find(const struct option *list, const char *name, size_t len)
{
    for (; list && list->name; list++)
        if (strlen(list->name) == len && !memcmp(list->name, name, len))
            return list;
    return NULL;
}

const char *option_dashes(const struct option *o)
{
    return o->name[1] ? "--" : "-";
}

/* Writes a form of the command. A command with one form takes its options anywhere; if there are
 * several forms, each lists its own options. */
bool command_form(const struct command *c, size_t i, struct buf *b)
{
    const char *form = c->forms;
    bool only = !strchr(form, '\n');

    for (; i; i--) {
        if (!(form = strchr(form, '\n')))
            return false;
        form++;
    }
    buf_reset(b);
    buf_addf(b, "%s%.*s", *form && *form != '\n' ? " " : "", (int)strcspn(form, "\n"), form);
    buf_addstr(b, only && !strstr(form, "[OPTION]") ? " [OPTION]…" : "");
    return true;
}

/* Writes an option as help shows it. A value name that ends with a comma stands for a
 * comma-separated list of values. */
void option_heading(struct buf *b, const struct option *o)
{
    size_t len = o->value ? strlen(o->value) : 0;

    buf_addf(b, "%s%s", option_dashes(o), o->name);
    if (len)
        buf_addf(b, " %s%s", o->value,
                 o->kind == OPTION_TEXTS || o->value[len - 1] == ',' ? "…" : "");
}
