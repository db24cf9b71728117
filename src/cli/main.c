/* main.c - pawl: finds the command and runs it. */
#include "cli/cli.h"

#include <fcntl.h>
#include <locale.h>
#include <string.h>

static bool takes_value(const char *word)
{
    const struct option *o =
        word[1] == '-' ? option_find(common_options, word + 2, strlen(word + 2)) : NULL;

    return o && o->value;
}

/* Returns the index of the command. Common options may come before it: `pawl --db URL show 1`. */
static int find_command(int argc, char **argv)
{
    int i = 1;

    while (i < argc && argv[i][0] == '-') {
        if (takes_value(argv[i]))
            i++;
        i++;
    }
    return i;
}

/* Opens /dev/null for standard descriptors that are closed: the next file opened would get such a
 * number, and messages would be written into that file. /dev/null is opened in the wrong direction,
 * so that using it is still an error. */
static void fill_standard_descriptors(void)
{
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)!open("/dev/null",
                        fd ? O_RDONLY : O_WRONLY); /* gets the lowest free number: fd */
}

int main(int argc, char **argv)
{
    int at = find_command(argc, argv), i;
    const struct command *c;
    char *name;

    fill_standard_descriptors();
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
    return run_command(c, argc - 1, argv + 1);
}
