/* cmd_tree.c - pawl tree: prints an execution and its descendants. For people the items of
 * fan-outs are folded; with --json it is one object with everything in it. */
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

static void print_moment(const struct pawl_moment *at, struct line *l)
{
    struct buf b = BUF_INIT;

    out_moment(&b, at);
    line_addf(l, TINT_FAINT, "as of %s", b.ptr);
    puts(buf_cstr(&l->text));
    buf_release(&b);
}

static void print_view(const struct view *v, const struct command_options *a)
{
    struct style style = style_of(stdout);
    struct view_rails rails = {0};
    struct line l = {0};
    size_t i;

    line_begin(&l, &style);
    if (moment_of(a))
        print_moment(&a->at, &l);
    for (i = 0; i < v->nodes.n; i++) {
        line_begin(&l, &style);
        rails_enter(&rails, &v->nodes.at[i]);
        view_line(v, &v->nodes.at[i], &rails, &l);
        puts(buf_cstr(&l.text));
    }
    rails_release(&rails);
    line_release(&l);
}

static int print_json(struct pawl *p, int64_t id, const struct command_options *a)
{
    struct pawl_error err;
    char *text = NULL;
    int rc = a->critical ? pawl_critical(p, id, moment_of(a), &text, &err)
                         : pawl_tree_at(p, id, moment_of(a), &text, &err);

    return print_answer(rc, text, &err);
}

static int print_tree(struct pawl *p, int64_t id, const struct command_options *a)
{
    struct pawl_error err;
    struct view v = {0};
    int rc;

    if (a->critical)
        rc = view_critical(p, id, moment_of(a), &err);
    else if (!(rc = view_read(p, id, moment_of(a), &v, &err)))
        print_view(&v, a);
    view_release(&v);
    return rc ? cli_fail(&err) : 0;
}

static int tree(struct cli *c)
{
    int64_t id;
    int code = cli_id(c->p, c->words[0], &id);

    return code ? code : (c->json ? print_json : print_tree)(c->p, id, c->values);
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
    .run = tree,
    .opens = true,
};
