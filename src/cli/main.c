/* main.c - pawl: finds the command and runs it. */
#include "cli/cli.h"

#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

struct command {
    const char *name, *usage, *text;
    int (*run)(int argc, char **argv);
};

static const struct command commands[] = {
#define X(name, usage, text) {#name, usage, text, cmd_##name},
    COMMANDS(X)
#undef X
};
#define COMMAND_COUNT (sizeof(commands) / sizeof(*commands))

static const struct command *find(const char *name)
{
    size_t i;

    for (i = 0; i < COMMAND_COUNT; i++)
        if (!strcmp(commands[i].name, name))
            return &commands[i];
    return NULL;
}

void cli_usage(FILE *to, const char *name)
{
    const struct command *c = name ? find(name) : NULL;
    size_t i;

    if (c) {
        fprintf(to, "usage: pawl %s %s\n  %s\n", c->name, c->usage, c->text);
    } else {
        fprintf(to, "usage: pawl COMMAND …\n\n");
        for (i = 0; i < COMMAND_COUNT; i++)
            fprintf(to, "  %-8s %s\n", commands[i].name, commands[i].text);
        fprintf(to, "\n`pawl help COMMAND` tells more.\n");
    }
    fprintf(to,
            "\n  --db URL       sqlite:FILE or postgres://USER@HOST/DATABASE; else $PAWL_DB, else\n"
            "                 pawl.db in the user's state folder\n"
            "  --tenant NAME  the tenant in it\n"
            "  --json         print JSON, one object a line\n"
            "\nAn ID is a number, or @last for the newest execution that has no parent. A time is\n"
            "2026-01-31, 2026-01-31T14:00:00Z, or so long ago: 30s 5m 2h 90d. PAWL_TRACE=1 shows\n"
            "each statement with its time.\n");
}

int cmd_help(int argc, char **argv)
{
    if (argc > 1 && !find(argv[1]))
        return cli_wrong("there is no command '%s': `pawl help` lists them", argv[1]);
    cli_usage(stdout, argc > 1 ? argv[1] : NULL);
    return cli_done(0);
}

/* Options before the command belong behind it: `pawl --db URL show 1`. */
static int find_command(int argc, char **argv)
{
    int i = 1;

    while (i < argc && argv[i][0] == '-') {
        if (!strcmp(argv[i], "--db") || !strcmp(argv[i], "--tenant"))
            i++;
        i++;
    }
    return i;
}

int main(int argc, char **argv)
{
    int at = find_command(argc, argv), i;
    const struct command *c;
    char *name;

    setlocale(LC_CTYPE, "");
    if (argc > 1 && !strcmp(argv[1], "--version")) {
        printf("pawl %s\n", pawl_version());
        return cli_done(0);
    }
    if (at >= argc) {
        bool asked = argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"));

        cli_usage(asked ? stdout : stderr, NULL);
        return asked ? cli_done(0) : err_exit_code(E_INVALID);
    }
    c = find(argv[at]);
    if (!c)
        return cli_wrong("there is no command '%s': `pawl help` lists them", argv[at]);
    name = argv[at];
    for (i = at; i > 1; i--)
        argv[i] = argv[i - 1];
    argv[1] = name;
    return c->run(argc - 1, argv + 1);
}
