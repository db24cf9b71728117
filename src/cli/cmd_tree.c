/* cmd_tree.c - pawl tree: an execution and all below it. For people the items of fan-outs are
 * folded; for programs it is one object with everything in it. */
#include "base/mem.h"
#include "cli/view.h"

#include <stdlib.h>

static void print_view(const struct view *v)
{
    struct style style = style_of(stdout);
    struct view_rails rails = {0};
    struct line l = {0};
    size_t i;

    for (i = 0; i < v->nodes.n; i++) {
        line_begin(&l, &style);
        rails_enter(&rails, &v->nodes.at[i]);
        view_line(v, &v->nodes.at[i], &rails, &l);
        puts(buf_cstr(&l.text));
    }
    rails_release(&rails);
    line_release(&l);
}

static int tree(struct pawl *p, const char *which, bool json)
{
    struct pawl_error err;
    struct view v = {0};
    char *text = NULL;
    int64_t id;
    int code;

    if ((code = cli_id(p, which, &id)))
        return code;
    if (json ? pawl_tree(p, id, &text, &err) : view_read(p, id, &v, &err))
        return cli_fail(&err);
    if (json)
        puts(text);
    else
        print_view(&v);
    view_release(&v);
    free(text);
    return 0;
}

static int cmd_tree(int argc, char **argv)
{
    struct cli c;
    struct pawl *p;
    int code = cli_begin(&c, &command_tree, argc, argv, NULL);

    if (code >= 0)
        return code;
    if (!(code = cli_open(&c, &p))) {
        code = tree(p, c.words[0], c.json);
        pawl_close(p);
    }
    cli_end(&c);
    return cli_done(code);
}

const struct command command_tree = {
    .name = "tree",
    .forms = "ID",
    .text = "show an execution and everything below it",
    .examples = {{"pawl tree @last", "the newest execution and all that belongs to it"}},
    .least = 1,
    .most = 1,
    .run = cmd_tree,
};
