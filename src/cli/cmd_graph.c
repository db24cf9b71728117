/* cmd_graph.c - pawl graph: the tasks of a workflow file and what needs what. */
#include "cli/definition.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Columns of the terminal; 0: it is none. */
static int width(void)
{
    struct winsize size;

    return isatty(1) && !ioctl(1, TIOCGWINSZ, &size) && size.ws_col >= 20 ? size.ws_col : 0;
}

static int draw(const char *file, const char *format)
{
    struct pawl_error err;
    char *text;
    int rc = pawl_graph(file, format, width(), &text, &err);

    if (rc)
        return cli_fail(&err);
    fputs(text, stdout);
    free(text);
    return 0;
}

int cmd_graph(int argc, char **argv)
{
    const char *format = NULL;
    const struct option options[] = {{"format", OPTION_TEXT, &format}, {NULL, OPTION_FLAG, NULL}};
    struct cli c;
    int code = cli_begin(&c, "graph", argc, argv, options, 1, 1);

    if (code >= 0)
        return code;
    if (!(code = cli_validate(c.words[0], false, NULL)))
        code = draw(c.words[0], format);
    cli_end(&c);
    return cli_done(code);
}
