/* cmd_graph.c - pawl graph: draws the tasks of a workflow and their needs, from a file or from
 * the definition stored with a run. */
#include "cli/definition.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Columns of the terminal; 0 if the output is not a terminal. */
static int width(void)
{
    struct winsize size;

    return isatty(1) && !ioctl(1, TIOCGWINSZ, &size) && size.ws_col >= 20 ? size.ws_col : 0;
}

static int print_graph(int rc, char *text, const struct pawl_error *err)
{
    if (rc)
        return cli_fail(err);
    fputs(text, stdout);
    free(text);
    return 0;
}

static int draw_file(const char *file, const char *format)
{
    struct pawl_error err;
    char *text = NULL;
    struct pawl_workflow *w = NULL;
    int code, rc = pawl_graph(file, format, width(), &text, &err);

    if (rc && (code = cli_load(file, &w))) /* prints all problems of the file */
        return code;
    pawl_workflow_free(w);
    return print_graph(rc, text, &err);
}

static int draw_run(struct cli *c, const char *format)
{
    struct pawl_error err;
    char *text = NULL;
    int64_t id;
    int rc, code;

    if ((code = cli_open(c)) || (code = cli_id(c->p, c->words[0], &id)))
        return code;
    rc = pawl_graph_of(c->p, id, format, width(), &text, &err);
    return print_graph(rc, text, &err);
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
    {"format", OPTION_TEXT, offsetof(struct graph, format), "ascii|dot|mermaid|svg",
     "output format; default: ascii, for a terminal"},
    {0},
};

static int draw(struct cli *c)
{
    const struct graph *g = c->values;

    return is_id(c->words[0]) ? draw_run(c, g->format) : draw_file(c->words[0], g->format);
}

const struct command command_graph = {
    .name = "graph",
    .forms = "FILE|ID",
    .text = "draw the tasks of a workflow file, or of a run",
    .options = options,
    .size = sizeof(struct graph),
    .examples = {{"pawl graph nightly.flow.yaml", "for the terminal"},
                 {"pawl graph @last", "the graph of a run"},
                 {"pawl graph nightly.flow.yaml --format svg >nightly.svg", "as a picture"}},
    .least = 1,
    .most = 1,
    .run = draw,
    .no_json = true,
};
