/* list_filter.c - the filters of pawl_list and of actions on many executions: checks a query and
 * converts it for the store, and applies it to executions that are already loaded. */
#include "api/list_filter.h"

#include "api/api.h"
#include "base/text.h"
#include "core/route.h"

#include <stdlib.h>
#include <string.h>

#define MAX_TEXT      1000 /* bytes of a filter */
#define WORKER_DIGITS 16

/* Parses a list of statuses such as "ready,running". */
static int parse_statuses(const char *text, uint64_t *bits, struct err *err)
{
    AUTO_FREE char *copy = mem_strdup(text);
    char *rest = copy, *word;

    while ((word = strsep(&rest, ","))) {
        int status = status_from_text(word);

        if (!status)
            return err_set(err, E_INVALID,
                           "'%.60s' is not a status: use pending, ready, running, succeeded, "
                           "failed, timed_out, cancelled or skipped",
                           word);
        *bits |= (uint64_t)1 << status;
    }
    return 0;
}

int api_parse_worker(const char *text, int64_t *id, struct err *err)
{
    if (strlen(text) != WORKER_DIGITS || strspn(text, "0123456789abcdef") != WORKER_DIGITS)
        return err_set(err, E_INVALID,
                       "'%.60s' is not a worker: write its 16 hexadecimal digits, as `pawl "
                       "workers` shows them",
                       text);
    *id = (int64_t)strtoull(text, NULL, 16);
    return 0;
}

static int check_texts(const struct pawl_list_query *q, struct err *err)
{
    TRY(text_check("name", q->name, MAX_TEXT, err));
    TRY(text_check("workflow", q->workflow, MAX_TEXT, err));
    TRY(text_check("queue", q->queue, MAX_TEXT, err));
    TRY(text_check("host", q->host, MAX_TEXT, err));
    return text_check("requester's name", q->by, MAX_TEXT, err);
}

int list_filter_read(const struct pawl_list_query *q, struct api_list_filter *out, struct err *err)
{
    struct list_filter *f = &out->f;

    *f = (struct list_filter){.parent = q->parent,
                              .all = q->all,
                              .name = q->name,
                              .queue = q->queue,
                              .workflow = q->workflow,
                              .since = q->since,
                              .until = q->until,
                              .host = q->host,
                              .by = q->by};
    if (q->parent && q->all)
        return err_set(err, E_INVALID, "a query can't set both `parent` and `all`");
    if (q->kind && !(f->kind = kind_from_text(q->kind)))
        return err_set(err, E_INVALID, "'%.60s' is not a kind: use workflow, task, foreach or exec",
                       q->kind);
    TRY(check_texts(q, err));
    if (q->worker)
        TRY(api_parse_worker(q->worker, &f->worker, err));
    TRY(input_filter_read(&out->input, q->params, err));
    if (out->input.conditions.n)
        f->input = &out->input;
    return q->status ? parse_statuses(q->status, &f->statuses, err) : 0;
}

void list_filter_release(struct api_list_filter *f)
{
    input_filter_release(&f->input);
}

static bool history_matches(const struct list_filter *f, const struct execution_history *h)
{
    AUTO_BUF b = BUF_INIT;
    const char *by = f->by ? execution_requester(h, &b) : NULL;

    return (!f->worker || f->worker == h->worker) &&
           (!f->host || (h->host && !strcmp(f->host, h->host))) &&
           (!f->by || (by && glob_matches(f->by, by)));
}

bool list_filter_matches(const struct list_filter *f, const struct execution *e,
                         const struct execution_history *h)
{
    return (!f->statuses || (f->statuses & ((uint64_t)1 << e->status))) &&
           (!f->kind || f->kind == e->kind) && (!f->queue || !strcmp(f->queue, e->queue)) &&
           (!f->name || glob_matches(f->name, e->name)) && e->requested_at >= f->since &&
           (!f->until || e->requested_at < f->until) && history_matches(f, h) &&
           (!f->input || input_filter_matches(f->input, e->input));
}
