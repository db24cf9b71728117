/* commands.c - prints pawl(1), pawl-NAME(1) and docs/CLI.md from the table of commands. */
#include "cli/commands.h"

#include "manual.h"

#include <stdio.h>
#include <string.h>

static const char about_pawl[] =
    "Pawl is a durable workflow and job engine. It stores what should run, what runs and everything "
    "that has happened, in SQLite (embedded, the default) or PostgreSQL (many machines). Any process "
    "may be killed at any time, even by kill -9: no accepted job is lost, no attempt runs twice at "
    "once, and the history records every attempt.\n\n`pawl run` and `pawl exec` run in the "
    "foreground and wait; `pawl submit` and `pawl exec --detach` put jobs into a queue, from which "
    "`pawl worker` claims them. `pawl ls`, `show`, `tree`, `events`, `logs` and `why` show what "
    "happened; `cancel`, `pause`, `rerun`, `skip` and `approve` intervene.";

/* variables for users of the command line */
static const struct {
    const char *name, *text;
} environment[] = {
    {"PAWL_DB", "The database, unless `--db` is given."},
    {"PAWL_TENANT", "Its tenant, unless `--db` or `--tenant` is given."},
    {"PAWL_SERVER",
     "A server to work through instead of a database, unless `--server` or `--db` is given."},
    {"PAWL_TOKEN", "The token for the server, unless `--token-file` is given."},
    {"PAWL_CONFIG", "The configuration file; default: `./pawl.yaml`, else your own."},
    {"PAWL_STATE",
     "The state folder, unless `--state` is given; tasks inherit that of their worker."},
    {"PAWL_SHIM",
     "The program `pawl-shim`, if it is neither next to `pawl` nor in `../libexec/pawl`."},
    {"PAWL_CGROUPS", "`off`: the worker creates no control groups for its attempts."},
    {"PAWL_EXECUTION_ID",
     "Set for each task: executions that it starts with `pawl run`, `exec` or `submit` become its "
     "children."},
    {"PAWL_TRACE", "1 prints each SQL statement, or each request to a server, with its duration."},
    {"NO_COLOR", "If set, no colors are used."},
    {"XDG_STATE_HOME, XDG_CONFIG_HOME",
     "Location of your state folder and of `pawl.yaml`; default: `~/.local/state`, `~/.config`."},
};

static void add_options(struct buf *b, const struct option *o)
{
    struct buf heading = BUF_INIT;

    for (; o && o->name; o++) {
        buf_reset(&heading);
        option_heading(&heading, o);
        roff_item(b, buf_cstr(&heading), o->text);
    }
    buf_release(&heading);
}

static void add_exit_codes(struct buf *b)
{
    const struct exit_code *e;

    roff_section(b, "EXIT STATUS");
    for (e = exit_codes; e->code; e++)
        roff_item(b, e->code, e->text);
}

/* The introduction to the common options. */
static void add_common_intro(struct buf *b)
{
    const struct command *const *c;
    size_t n = 0;

    buf_addstr(
        b, "Every command takes these options, before or after its name; commands that print no "
           "data (");
    for (c = commands; *c; c++)
        if ((*c)->no_json && !(*c)->hidden)
            buf_addf(b, "%s`%s`", n++ ? ", " : "", (*c)->name);
    buf_addstr(b, ") have no `--json`, and those that need the database itself (");
    n = 0;
    for (c = commands; *c; c++)
        if ((*c)->local)
            buf_addf(b, "%s`%s`", n++ ? ", " : "", (*c)->name);
    buf_addstr(b, ") have no `--server`:");
}

void page_pawl(struct buf *b)
{
    const struct command *const *c;
    struct buf every = BUF_INIT;
    size_t i;

    roff_begin(b, "pawl", "1", "durable workflows and jobs");
    roff_section(b, "SYNOPSIS");
    roff_text(b, "`pawl` COMMAND [OPTION]…");
    roff_section(b, "DESCRIPTION");
    roff_text(b, about_pawl);
    roff_section(b, "COMMANDS");
    roff_text(b, "Each command has its own page, `pawl-COMMAND`(1), and prints its help with "
                 "`--help`.");
    for (c = commands; *c; c++)
        if (!(*c)->hidden)
            roff_item(b, (*c)->name, (*c)->text);
    roff_section(b, "OPTIONS");
    add_common_intro(&every);
    roff_text(b, buf_cstr(&every));
    buf_release(&every);
    add_options(b, common_options);
    roff_text(b, notation);
    add_exit_codes(b);
    roff_section(b, "ENVIRONMENT");
    for (i = 0; i < sizeof(environment) / sizeof(*environment); i++)
        roff_item(b, environment[i].name, environment[i].text);
    roff_section(b, "SEE ALSO");
    roff_text(b, "`pawl-run`(1), `pawl-worker`(1), `pawl-workflow`(5), `pawl.yaml`(5)");
}

static void add_synopsis(struct buf *b, const struct command *c)
{
    struct buf form = BUF_INIT, all = BUF_INIT;
    size_t i;

    for (i = 0; command_form(c, i, &form); i++)
        buf_addf(&all, "%s`pawl %s`%s", i ? "\n\n" : "", c->name, buf_cstr(&form));
    roff_section(b, "SYNOPSIS");
    roff_text(b, all.ptr);
    buf_release(&form);
    buf_release(&all);
}

/* "run a workflow" -> "Run a workflow." */
static void add_sentence(struct buf *b, const char *text)
{
    buf_addf(b, "%c%s.", *text - 'a' + 'A', text + 1);
}

void page_command(struct buf *b, const struct command *c)
{
    struct buf text = BUF_INIT;
    char name[64];
    size_t i;

    snprintf(name, sizeof(name), "pawl-%s", c->name);
    roff_begin(b, name, "1", c->text);
    add_synopsis(b, c);
    add_sentence(&text, c->text);
    roff_section(b, "DESCRIPTION");
    roff_text(b, buf_cstr(&text));
    if (c->about)
        roff_text(b, c->about);
    roff_text(b, notation);
    roff_section(b, "OPTIONS");
    add_options(b, c->options);
    add_options(b, command_common(c));
    roff_section(b, "EXAMPLES");
    for (i = 0; i < EXAMPLES && c->examples[i].line; i++)
        roff_item(b, c->examples[i].line, c->examples[i].text);
    add_exit_codes(b);
    roff_section(b, "SEE ALSO");
    roff_text(b, "`pawl`(1), `pawl-workflow`(5), `pawl.yaml`(5)");
    buf_release(&text);
}

/* ---- docs/CLI.md ---- */

/* A cell of a table; a bar would end it, so it is escaped. */
static void add_cell(struct buf *b, const char *text)
{
    for (; *text; text++)
        buf_addf(b, "%s%c", *text == '|' ? "\\" : "", *text);
}

static void add_rows(struct buf *b, const struct option *o)
{
    struct buf heading = BUF_INIT;

    buf_addstr(b, "| option | |\n|---|---|\n");
    for (; o && o->name; o++) {
        buf_reset(&heading);
        option_heading(&heading, o);
        buf_addstr(b, "| `");
        add_cell(b, buf_cstr(&heading));
        buf_addstr(b, "` | ");
        add_cell(b, o->text);
        buf_addstr(b, " |\n");
    }
    buf_addch(b, '\n');
    buf_release(&heading);
}

static void add_command(struct buf *b, const struct command *c)
{
    struct buf form = BUF_INIT;
    size_t i;

    buf_addf(b, "## pawl %s\n\n", c->name);
    add_sentence(b, c->text);
    buf_addf(b, "%s%s\n\n```\n", c->about ? " " : "", c->about ? c->about : "");
    for (i = 0; command_form(c, i, &form); i++)
        buf_addf(b, "pawl %s%s\n", c->name, buf_cstr(&form));
    buf_addstr(b, "```\n\n");
    if (c->options)
        add_rows(b, c->options);
    for (i = 0; i < EXAMPLES && c->examples[i].line; i++)
        buf_addf(b, "- `%s`: %s\n", c->examples[i].line, c->examples[i].text);
    buf_addch(b, '\n');
    buf_release(&form);
}

void page_markdown(struct buf *b)
{
    const struct command *const *c;
    const struct exit_code *e;

    buf_addstr(
        b,
        "# The command line\n\nThis page is generated from the table of commands "
        "(`src/cli/commands.h`), like `--help`, the man\npages and completion: do not edit it, run "
        "`make docs/CLI.md`.\n\n");
    add_common_intro(b);
    buf_addstr(b, "\n\n");
    add_rows(b, common_options);
    buf_addf(b, "%s\n\n| exit code | |\n|---|---|\n", notation);
    for (e = exit_codes; e->code; e++)
        buf_addf(b, "| %s | %s |\n", e->code, e->text);
    buf_addch(b, '\n');
    for (c = commands; *c; c++)
        if (!(*c)->hidden)
            add_command(b, *c);
    b->len--; /* keep only one newline at the end */
    b->ptr[b->len] = '\0';
}
