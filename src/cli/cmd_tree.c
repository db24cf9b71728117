/* cmd_tree.c - pawl tree: prints an execution and its descendants. For people it leaves out most
 * items of fan-outs; with --json it prints everything as one object. */
#include "base/mem.h"
#include "cli/view/view.h"

struct command_options {
    struct pawl_moment at;
    bool critical;
};

static const struct pawl_moment *moment_of(const struct command_options *a)
{
    return is_moment(&a->at) ? &a->at : NULL;
}

static void print_view(const struct view *v, const struct command_options *a)
{
    struct style style = style_of(stdout);
    AUTO_BUF moment = BUF_INIT, lines = BUF_INIT;
    AUTO(line_release) struct line l = {0};

    line_begin(&l, &style);
    if (is_moment(&a->at)) {
        out_moment(&moment, &a->at);
        line_addf(&l, TINT_FAINT, "as of %s", moment.ptr);
        line_print(&l, stdout);
    }
    view_lines(v, &style, &lines);
    fputs(buf_cstr(&lines), stdout);
}

static int print_json(struct cli *c, int64_t id, const struct command_options *a)
{
    char *text;

    TRY((a->critical ? pawl_critical : pawl_tree_at)(c->p, id, moment_of(a), &text, &c->err));
    return print_answer(text);
}

static int print_tree(struct cli *c, int64_t id, const struct command_options *a)
{
    AUTO(view_release) struct view v = {0};

    if (a->critical)
        return view_critical(c->p, id, moment_of(a), &c->err);
    TRY(view_read(c->p, id, moment_of(a), &v, &c->err));
    print_view(&v, a);
    return 0;
}

static int tree(struct cli *c, int64_t id)
{
    return (c->json ? print_json : print_tree)(c, id, c->values);
}

static const struct option options[] = {
    {"at", OPTION_MOMENT, offsetof(struct command_options, at), "TIME",
     "show it as of this time, or with --at=#N after event number N; default: now"},
    {"critical", OPTION_FLAG, offsetof(struct command_options, critical), NULL,
     "show the critical path: the chain of executions that determined its end, and where their "
     "time went"},
    {0},
};

const struct command command_tree = {
    .name = "tree",
    .forms = "ID",
    .text = "show an execution and its descendants",
    .options = options,
    .size = sizeof(struct command_options),
    .examples = {{"pawl tree @last", "the newest execution and its descendants"},
                 {"pawl tree 17 --at 2026-01-31T14:00:00Z", "its state at that time"},
                 {"pawl tree 17 --critical", "why it took so long"}},
    .least = 1,
    .most = 1,
    .run_id = tree,
    .reads = true,
};
