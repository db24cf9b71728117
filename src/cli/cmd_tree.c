/* cmd_tree.c - pawl tree: an execution and all below it, one line each. */
#include "cli/cli.h"

#include <stdlib.h>

struct printing {
    int64_t top; /* depth of the first one; -1: not seen yet */
};

static void add_span(struct buf *b, const char *word, int64_t from, int64_t to)
{
    char text[DURATION_TEXT_SIZE];

    if (from && to)
        buf_addf(b, "  %s %s", word, text_duration(to - from, text));
}

static int print_node(void *arg, const char *json)
{
    struct printing *p = arg;
    json_t *o = parse_object(json);
    struct buf b = BUF_INIT;
    int indent;

    if (p->top < 0)
        p->top = field_int(o, "depth");
    indent = (int)(field_int(o, "depth") - p->top) * 2;
    buf_addf(&b, "%*s", indent, "");
    out_clean(&b, field(o, "name"));
    buf_addf(&b, "  #%lld  %s", (long long)field_int(o, "id"), field(o, "status"));
    if (field_int(o, "attempt"))
        buf_addf(&b, "  attempt %lld/%lld", (long long)field_int(o, "attempt"),
                 (long long)field_int(o, "max_attempts"));
    add_span(&b, "waited", field_time(o, "requested_at"), field_time(o, "started_at"));
    add_span(&b, "ran", field_time(o, "started_at"), field_time(o, "finished_at"));
    if (*field(o, "worker"))
        buf_addf(&b, "  on %s", field(o, "worker"));
    if (*field(o, "waiting")) {
        buf_addstr(&b, "  waits for ");
        out_clean(&b, field(o, "waiting"));
    }
    if (*field(o, "error")) {
        buf_addstr(&b, "  ! ");
        out_clean(&b, field(o, "error"));
    }
    puts(b.ptr);
    buf_release(&b);
    json_decref(o);
    return 0;
}

static int tree(struct pawl *p, const char *which, bool json)
{
    struct printing printing = {.top = -1};
    struct pawl_error err;
    char *text = NULL;
    int64_t id;
    int code;

    if ((code = cli_id(p, which, &id)))
        return code;
    if (!json)
        return pawl_tree_lines(p, id, print_node, &printing, &err) ? cli_fail(&err) : 0;
    if (pawl_tree(p, id, &text, &err))
        return cli_fail(&err);
    puts(text);
    free(text);
    return 0;
}

int cmd_tree(int argc, char **argv)
{
    struct cli c;
    struct pawl *p;
    int code = cli_begin(&c, "tree", argc, argv, NULL, 1, 1);

    if (code >= 0)
        return code;
    if (!(code = cli_open(&c, &p))) {
        code = tree(p, c.words[0], c.json);
        pawl_close(p);
    }
    cli_end(&c);
    return cli_done(code);
}
