/* cmd_graph.c - pawl graph: draws the tasks of a workflow and their needs, from a file or from
 * the definition stored with a run. */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Returns the columns of the terminal; 0 if the output is not a terminal. */
static int width(void)
{
    struct winsize size;

    return isatty(1) && !ioctl(1, TIOCGWINSZ, &size) && size.ws_col >= 20 ? size.ws_col : 0;
}

static int draw_file(struct cli *c, const char *format, char **text)
{
    const char *file = c->words[0];
    AUTO_WORKFLOW w = NULL;
    int rc = pawl_graph(file, format, width(), text, &c->err);

    if (rc)
        TRY(cli_load(file, &w)); /* prints all problems of the file */
    return rc;
}

static int draw_run(struct cli *c, const char *format, char **text)
{
    int64_t id;

    TRY(cli_open(c));
    TRY(cli_id(c, c->words[0], &id));
    return pawl_graph_of(c->p, id, format, width(), text, &c->err);
}

/* A file may be named like an id: a word is an id only if no such file exists. */
static bool is_id(const char *word)
{
    return (!strcmp(word, "@last") || word[strspn(word, "0123456789")] == 0) && access(word, F_OK);
}

struct graph {
    const char *format;
};

static const struct option options[] = {
    {"format", OPTION_TEXT, offsetof(struct graph, format), "ascii|dot|mermaid|svg|json",
     "output format; default: ascii, for a terminal; svg is a picture, json its coordinates"},
    {0},
};

static int draw(struct cli *c)
{
    const struct graph *g = c->values;
    AUTO_FREE char *text = NULL;

    TRY((is_id(c->words[0]) ? draw_run : draw_file)(c, g->format, &text));
    fputs(text, stdout);
    if (g->format && !strcmp(g->format, "json"))
        putchar('\n');
    return 0;
}

const struct command command_graph = {
    .name = "graph",
    .forms = "FILE|ID",
    .text = "draw the tasks of a workflow file, or of a run with the status of each",
    .options = options,
    .size = sizeof(struct graph),
    .examples = {{"pawl graph nightly.flow.yaml", "for the terminal"},
                 {"pawl graph @last", "the graph of a run"},
                 {"pawl graph nightly.flow.yaml --format svg >nightly.svg", "as a picture"},
                 {"pawl graph @last --format json", "the same with coordinates, for programs"}},
    .least = 1,
    .most = 1,
    .run = draw,
    .no_json = true,
    .reads = true,
};
