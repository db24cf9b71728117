/* bulk.c - pawl_bulk: one operator action on all executions that match a filter, in slices. A page
 * of them is found without locks; each slice of it is then changed by operations that check each
 * execution again (bulk_slice.c). The search moves from newer to older executions and never back,
 * so it ends, and executions that are requested meanwhile are out of its reach. */
#include "api/bulk.h"

#include "api/list_filter.h"
#include "core/graph.h"

#include <stdlib.h>
#include <string.h>

#define PAGE        1000 /* executions found at once */

/* ---- actions ---- */

#define BIT(status) ((uint64_t)1 << (status))
#define OPEN        (BIT(S_PENDING) | BIT(S_READY) | BIT(S_RUNNING))
#define UNSUCCEEDED (BIT(S_FAILED) | BIT(S_TIMED_OUT) | BIT(S_CANCELLED))
#define ENDED       (UNSUCCEEDED | BIT(S_SUCCEEDED) | BIT(S_SKIPPED))

static bool may_cancel(const struct found_execution *e)
{
    return !e->cancel_requested || (e->flags & FLAG_LET_FINISH);
}

static bool may_let_finish(const struct found_execution *e)
{
    return !e->cancel_requested && !(e->flags & FLAG_LET_FINISH);
}

static bool may_pause(const struct found_execution *e)
{
    return !(e->flags & FLAG_PAUSED) && !e->cancel_requested &&
           !(kind_is_job(e->kind) && e->status == S_RUNNING);
}

static bool may_resume(const struct found_execution *e)
{
    return (e->flags & FLAG_PAUSED) != 0;
}

static bool may_rerun_failed(const struct found_execution *e)
{
    return e->kind == KIND_WORKFLOW;
}

static const struct verb verb_cancel = {op_cancel, NULL, false, NULL};

static const struct bulk_action actions[] = {
    {.name = "cancel", .statuses = OPEN, .may = may_cancel, .verb = &verb_cancel, .cancels = true},
    {.name = "let_finish",
     .statuses = OPEN,
     .may = may_let_finish,
     .verb = &verb_cancel,
     .cancels = true,
     .let_finish = true},
    {.name = "pause", .statuses = OPEN, .may = may_pause, .verb = &verb_pause},
    {.name = "resume", .statuses = OPEN, .may = may_resume, .verb = &verb_resume},
    {.name = "skip", .statuses = BIT(S_PENDING) | BIT(S_READY), .verb = &verb_skip},
    {.name = "rerun", .statuses = ENDED},
    {.name = "rerun_failed", .statuses = UNSUCCEEDED, .may = may_rerun_failed, .failed = true},
};

static bool is_allowed(const struct bulk_action *a, const struct found_execution *e)
{
    return (a->statuses & BIT(e->status)) && (!a->may || a->may(e));
}

static int find_action(const char *name, const struct bulk_action **out, struct err *err)
{
    for (size_t i = 0; name && i < sizeof(actions) / sizeof(*actions); i++)
        if (!strcmp(actions[i].name, name)) {
            *out = &actions[i];
            return 0;
        }
    return err_set(err, E_INVALID,
                   "'%.60s' is not an action on many executions: use cancel, let_finish, pause, "
                   "resume, skip, rerun or rerun_failed",
                   name ? name : "");
}

/* ---- report ---- */

struct bulk {
    const struct pawl_bulk *given;
    const struct bulk_action *action;
    const char *by; /* the requester, as the history shows it */
    struct pawl_bulk_result result;
    struct lines lines;
};

struct line {
    struct found_execution e;
    const char *error;
};
#define ROW struct line
static const struct column columns[] = {
    {"id", INT(e.id), NULL},
    {"name", TEXT(e.name), "its full name"},
    {"status", WORD(e.status, status_text), "its status after the action; in a dry run, now"},
    {"error", OPT_TEXT(error), "why the action was not carried out; null if it was"},
};
const struct noun bulk_noun = {"## A bulk action", NOUN_COLUMNS(columns)};
#undef ROW

static void add_line(struct bulk *b, const struct found_execution *e, const char *error)
{
    if (b->lines.each && !b->lines.closed)
        lines_add(&b->lines, &bulk_noun, &(struct line){*e, error});
}

/* Whether the action no longer applies to an execution that was refused, because another user or
 * the action on an earlier execution has changed it meanwhile. */
static bool has_changed(struct pawl *p, const struct bulk_action *a, int64_t id)
{
    AUTO(execution_list_release) struct execution_list now = {0};
    struct found_execution found;
    struct err ignored = ERR_INIT;
    const struct execution *e;

    if (query_execution(p->store, id, &now, &ignored))
        return false;
    e = &now.at[0];
    found = (struct found_execution){.kind = e->kind,
                                     .status = e->status,
                                     .flags = e->flags,
                                     .cancel_requested = e->cancel_requested};
    return !is_allowed(a, &found);
}

static void count_fate(struct pawl *p, struct bulk *b, int64_t id, enum error_code code)
{
    if (!code) {
        b->result.done++;
    } else if (code == E_INVALID && has_changed(p, b->action, id)) {
        b->result.changed++;
    } else {
        b->result.refused++;
        if (!b->result.code)
            b->result.code = (int)code;
    }
}

static int act_on_slice(struct pawl *p, struct bulk *b, struct found_execution *at, size_t n,
                        struct err *err)
{
    AUTO_FREE struct bulk_slice *s = mem_zalloc(sizeof(*s));

    s->action = b->action;
    s->by = b->by;
    s->reason = b->given->reason;
    s->at = at;
    s->n = n;
    TRY(bulk_act(p, s, err));
    TRY(query_found_statuses(p->store, at, n, err));
    for (size_t i = 0; i < n; i++) {
        count_fate(p, b, at[i].id, s->errors[i].code);
        add_line(b, &at[i], s->errors[i].code ? s->errors[i].msg : NULL);
    }
    return 0;
}

/* ---- pages ---- */

static int act_on_page(struct pawl *p, struct bulk *b, struct found_list *page, struct err *err)
{
    size_t n = 0;

    for (size_t i = 0; i < page->n; i++)
        if (is_allowed(b->action, &page->at[i]))
            page->at[n++] = page->at[i];
    if (n && !b->result.before)
        b->result.before = page->at[0].id + 1;
    b->result.matched += (int64_t)n;
    for (size_t i = 0; b->given->dry_run && i < n; i++)
        add_line(b, &page->at[i], NULL);
    for (size_t i = 0; !b->given->dry_run && i < n && !b->lines.closed; i += BULK_SLICE)
        TRY(act_on_slice(p, b, page->at + i, n - i < BULK_SLICE ? n - i : BULK_SLICE, err));
    return 0;
}

static int act_on_all(struct pawl *p, struct bulk *b, const struct list_filter *f, struct err *err)
{
    const struct pawl_list_query *q = b->given->filter;
    int64_t before = q->before, left = q->limit > 0 ? q->limit : INT64_MAX;

    b->result.before = before;
    do {
        AUTO(found_list_release) struct found_list page = {0};

        TRY(query_find(p->store, f, &before, left < PAGE ? (size_t)left : PAGE, &page, err));
        TRY(act_on_page(p, b, &page, err));
        left = q->limit > 0 ? q->limit - b->result.matched : INT64_MAX;
    } while (before && left && !b->lines.closed);
    return 0;
}

/* ---- the call ---- */

static int refuse_no_filter(const struct list_filter *f, const struct bulk_action *a,
                            struct err *err)
{
    if (f->parent || f->statuses || f->kind || f->since || f->until || f->worker || f->name ||
        f->queue || f->workflow || f->host || f->by || f->input)
        return 0;
    return err_set(err, E_INVALID,
                   "%s needs at least one filter, such as the workflow or the status: without one "
                   "it would act on all executions",
                   a->name);
}

/* Leaves only the statuses in which the action is allowed. Refuses a filter without such a
 * status. */
static int restrict_statuses(struct list_filter *f, const struct bulk *b, struct err *err)
{
    uint64_t allowed = b->action->statuses;
    AUTO_BUF words = BUF_INIT;

    f->statuses = f->statuses ? f->statuses & allowed : allowed;
    if (f->statuses)
        return 0;
    for (int status = S_PENDING; status < S_COUNT; status++)
        if (allowed & BIT(status))
            buf_addf(&words, "%s%s", words.len ? ", " : "", status_text(status));
    return err_set(err, E_INVALID,
                   "%s can't change executions with the status %.100s: use the status %s",
                   b->action->name, b->given->filter->status, buf_cstr(&words));
}

static int run_bulk(struct pawl *p, void *arg, struct err *err)
{
    struct bulk *b = arg;
    const struct pawl_list_query *q = b->given->filter;
    AUTO_LIST_FILTER filter = {0};

    TRY(find_action(b->given->action, &b->action, err));
    if (q->tasks)
        return err_set(err, E_INVALID,
                       "%s does not take the filter `tasks`: give the workflow as `parent`",
                       b->action->name);
    TRY(list_filter_read(q, &filter, err));
    TRY(refuse_no_filter(&filter.f, b->action, err));
    TRY(restrict_statuses(&filter.f, b, err));
    if (p->remote)
        return remote_bulk(p->remote, b->given, b->lines.each, b->lines.arg, &b->result, err);
    if (q->parent)
        TRY(api_check_exists(p, q->parent, err));
    return act_on_all(p, b, &filter.f, err);
}

int pawl_bulk(struct pawl *p, const struct pawl_bulk *bulk, pawl_line *each, void *arg,
              struct pawl_bulk_result *result, struct pawl_error *e)
{
    static const struct pawl_list_query none;
    struct pawl_bulk given = *bulk;
    struct bulk b = {.given = &given, .by = bulk->by, .lines = {.each = each, .arg = arg}};
    int rc;

    if (!given.filter)
        given.filter = &none; /* an empty filter, which is refused */
    rc = api_request(p, &b.by, bulk->reason, run_bulk, &b, e);

    if (result)
        *result = b.result;
    lines_release(&b.lines);
    return rc;
}
