/* counts.c - pawl_counts: how many executions have each status. The database keeps no counter per
 * status, and counting all rows of a large table takes long: the newest executions are counted, up
 * to a bound. */
#include "api/api.h"
#include "api/list_filter.h"

#define PAGE      1000
#define COUNT_MAX 10000

struct answer {
    int64_t n[S_COUNT], total;
    bool more;
};
#define ROW          struct answer
#define COUNT(which) INT(n[which]), NULL
static const struct column columns[] = {
    {"total", INT(total), "the sum of the others"},
    {"pending", COUNT(S_PENDING)},
    {"ready", COUNT(S_READY)},
    {"running", COUNT(S_RUNNING)},
    {"succeeded", COUNT(S_SUCCEEDED)},
    {"failed", COUNT(S_FAILED)},
    {"timed_out", COUNT(S_TIMED_OUT)},
    {"cancelled", COUNT(S_CANCELLED)},
    {"skipped", COUNT(S_SKIPPED)},
    {"more", BOOL(more), "older executions may match: the numbers are lower bounds"},
};
const struct noun counts_noun = {"## Counts", NOUN_COLUMNS(columns)};
#undef ROW

/* Counts one page, and sets *before to the start of the next one. */
static int count_page(struct pawl *p, const struct list_filter *f, int64_t *before, size_t max,
                      struct answer *a, struct err *err)
{
    AUTO(found_list_release) struct found_list page = {0};

    TRY(query_find(p->store, f, before, max, &page, err));
    for (size_t i = 0; i < page.n; i++)
        a->n[page.at[i].status]++;
    a->total += (int64_t)page.n;
    a->more = *before != 0;
    return 0;
}

int pawl_counts(struct pawl *p, const struct pawl_list_query *q, char **json, struct pawl_error *e)
{
    int64_t left, before = q->before, max = COUNT_MAX;
    AUTO_LIST_FILTER filter = {0};
    struct answer a = {0};
    API_ERR(e);

    if (q->tasks)
        return err_set(err, E_INVALID,
                       "counts do not take the filter `tasks`: give the workflow as "
                       "`parent`");
    TRY(list_filter_read(q, &filter, err));
    if (p->remote)
        return remote_counts(p->remote, q, json, err);
    if (q->parent)
        TRY(api_check_exists(p, q->parent, err));
    if (q->limit > 0 && q->limit < max)
        max = q->limit;
    /* ends at a page with fewer rows than PAGE: such a page has read as many rows as one call may
     * read */
    for (left = max; left > 0 && a.total == max - left; left -= PAGE) {
        TRY(count_page(p, &filter.f, &before, left < PAGE ? (size_t)left : PAGE, &a, err));
        if (!before)
            break;
    }
    *json = noun_text(&counts_noun, &a);
    return 0;
}
