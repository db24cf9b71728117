/* filter_options.c - the options that select executions; see filter_options.h. */
#include "cli/filter_options.h"

bool filter_is_given(const struct filter_options *f)
{
    const struct pawl_list_query *q = &f->q;

    return q->status || q->kind || q->name || q->workflow || q->queue || q->since || q->until ||
           q->by || q->worker || q->host || f->params.n || f->parent;
}

int filter_resolve(struct cli *c, struct filter_options *f)
{
    f->q.params = f->params.at;
    if (f->parent && f->q.all)
        return cli_wrong("--parent and --all exclude each other");
    return f->parent ? cli_id(c, f->parent, &f->q.parent) : 0;
}
