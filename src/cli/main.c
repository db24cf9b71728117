/* main.c - pawl: finds the command and runs it. */
#include "cli/cli.h"

#include <locale.h>
#include <string.h>

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

    if (argc > 1 && !strcmp(argv[1], "--version")) {
        printf("pawl %s\n", pawl_version());
        return cli_done(0);
    }
    setlocale(LC_CTYPE, "");
    if (at >= argc) {
        bool asked = argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"));

        help_all(asked ? stdout : stderr);
        return asked ? cli_done(0) : err_exit_code(E_INVALID);
    }
    c = command_find(argv[at]);
    if (!c)
        return command_unknown(argv[at]);
    name = argv[at];
    for (i = at; i > 1; i--)
        argv[i] = argv[i - 1];
    argv[1] = name;
    return c->run(argc - 1, argv + 1);
}
