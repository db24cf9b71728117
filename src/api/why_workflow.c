/* why_workflow.c - the reasons of `pawl why` that concern the tree: the needs of a task, the open
 * children of a workflow or fan-out, a paused ancestor, the holders of a limit's permits, an
 * approval. */
#include "api/why.h"

#include "base/text.h"
#include "core/graph.h"

#include <jansson.h>

#define NAMED  5   /* needs named in a sentence */
#define LISTED 100 /* needs listed in the facts */

/* ---- related executions ---- */

void why_add_others(struct reasons *r)
{
    for (size_t i = 0; i < r->y->nothers; i++)
        buf_addf(r->text, "%s%lld %s (%s)", i ? ", " : "", (long long)r->y->others[i].id,
                 r->y->others[i].name, status_text(r->y->others[i].status));
    if (r->y->nothers == WHY_MAX_OTHERS)
        buf_addstr(r->text, ", …");
}

#define ROW struct why_execution
static const struct column other_columns[] = {
    {"id", INT(id), NULL},
    {"name", TEXT(name), NULL},
    {"status", WORD(status, status_text), NULL},
};
static const struct noun other_noun = {NULL, NOUN_COLUMNS(other_columns)};
#undef ROW

struct fact why_others(const struct reasons *r, const char *key)
{
    return (struct fact){.name = key,
                         .type = COLUMN_LIST,
                         .rows = {r->y->others, r->y->nothers, sizeof(*r->y->others)},
                         .noun = &other_noun};
}

/* Names the `pawl why` command for the first of the listed executions, unless one of them is
 * running, or the next reason explains a ready one. */
static void add_next_command(struct reasons *r)
{
    const struct why *y = r->y;

    if (!y->nothers || y->others[0].status == S_RUNNING || y->ready)
        return;
    buf_addf(r->text, "; `pawl why %lld` shows what it waits for", (long long)y->others[0].id);
}

/* ---- a running workflow or fan-out ---- */

static void add_items(struct reasons *r)
{
    const struct why *y = r->y;
    const struct execution *e = &y->execution;
    int64_t all = y->items < 0 ? e->children_made : y->items;

    buf_addf(r->text, "%lld of its %lld items have ended, %d %s open",
             (long long)(e->children_made - e->children_open), (long long)all, e->children_open,
             e->children_open == 1 ? "is" : "are");
    if (e->children_made < all)
        buf_addf(r->text, ", more are created as these end (at most %d at once)",
                 y->max_parallel && y->max_parallel < WHY_WINDOW ? y->max_parallel : WHY_WINDOW);
    if (y->nothers) {
        buf_addstr(r->text, ": ");
        why_add_others(r);
        add_next_command(r);
    }
    WHY_REASON(r, "items", FACT_INT("total", all), FACT_INT("made", e->children_made),
               FACT_INT("left", e->children_open), FACT_ID("max_parallel", y->max_parallel),
               why_others(r, "open"));
}

void why_workflow_runs(struct reasons *r)
{
    if (r->y->execution.kind == KIND_FOREACH) {
        add_items(r);
        return;
    }
    buf_addstr(r->text, r->y->nothers ? "it runs until its children have ended: "
                                      : "all of its children have ended, and it ends next");
    why_add_others(r);
    add_next_command(r);
    WHY_REASON(r, "children", why_others(r, "open"));
}

/* ---- needs ---- */

static bool is_open(const struct why_need *n)
{
    return !n->id || !status_is_terminal(n->status);
}

/* Whether a list of needs includes `n`: a list of the open ones, or of those that did not
 * succeed. */
static bool is_listed(const struct why_need *n, bool open)
{
    return open ? is_open(n) : n->status != S_SUCCEEDED;
}

static const char *status_of(const struct why_need *n)
{
    return n->id ? status_text(n->status) : "not created yet";
}

static void add_needs(struct reasons *r, bool open)
{
    size_t n = 0;

    for (size_t i = 0; i < r->y->nneeds && n <= NAMED; i++)
        if (is_listed(&r->y->needs[i], open) && n++ < NAMED)
            buf_addf(r->text, "%s%s (%s)", n > 1 ? ", " : ": ", r->y->needs[i].name,
                     status_of(&r->y->needs[i]));
    if (n > NAMED)
        buf_addstr(r->text, ", …");
}

#define ROW struct why_need
static const struct column need_columns[] = {
    {"name", TEXT(name), NULL},
    {"id", ID(id), NULL},
    {"status", OPT_WORD(status, status_text), NULL},
};
static const struct noun need_noun = {NULL, NOUN_COLUMNS(need_columns)};
#undef ROW

static void add_needs_reason(struct reasons *r, bool open)
{
    const struct why *y = r->y;
    struct why_need listed[LISTED];
    size_t n = 0;

    for (size_t i = 0; i < y->nneeds && n < LISTED; i++)
        if (is_listed(&y->needs[i], open)) {
            listed[n] = y->needs[i];
            listed[n].status = listed[n].id ? listed[n].status : S_NONE;
            n++;
        }
    WHY_REASON(r, "needs", FACT_INT("left", y->execution.needs_left),
               FACT_INT("all", (int64_t)y->nneeds), FACT_ID("join", y->join),
               FACT_INT("succeeded", y->execution.needs_succeeded), FACT_TEXT("if", y->condition),
               (struct fact){.name = "needs",
                             .type = COLUMN_LIST,
                             .rows = {listed, n, sizeof(*listed)},
                             .noun = &need_noun});
}

/* How many needs have ended without the task having been notified: a task with many followers
 * notifies them in slices. */
static int not_notified(const struct why *y)
{
    int open = 0;

    for (size_t i = 0; i < y->nneeds; i++)
        open += is_open(&y->needs[i]);
    return y->has_task ? y->execution.needs_left - open : 0;
}

static void add_needs_sentence(struct reasons *r)
{
    const struct why *y = r->y;
    const struct execution *e = &y->execution;

    if (!y->has_task)
        buf_addf(r->text, "it waits for %d of its needs", e->needs_left);
    else if (!y->nneeds)
        buf_addstr(r->text, "its workflow is still creating its tasks; it has no needs");
    else if (y->join)
        buf_addf(r->text, "it waits until %d of its %zu needs have succeeded (%d so far, %d open)",
                 y->join, y->nneeds, e->needs_succeeded, e->needs_left);
    else
        buf_addf(r->text, "it waits for %d of its %zu needs", e->needs_left, y->nneeds);
    add_needs(r, true);
    if (not_notified(y) > 0)
        buf_addf(r->text, "; %d of them ended just now, and it has not been notified yet",
                 not_notified(y));
}

void why_needs(struct reasons *r)
{
    add_needs_sentence(r);
    add_needs_reason(r, true);
}

void why_skipped(struct reasons *r)
{
    if (!r->y->has_task)
        return;
    if (r->y->condition)
        buf_addf(r->text, "its condition was: %s", r->y->condition);
    else
        buf_addstr(r->text, "it runs only if its needs succeed");
    add_needs(r, false);
    add_needs_reason(r, false);
}

/* ---- a pause ---- */

void why_paused(struct reasons *r)
{
    const struct why *y = r->y;
    json_auto_t *data = api_data(y->pause.data);
    const char *by = api_data_text(data, "by"), *reason = api_data_text(data, "reason");
    char at[TIME_TEXT_SIZE];

    if (y->pause.id == y->execution.id)
        buf_addstr(r->text, "it has been paused");
    else
        buf_addf(r->text, "its ancestor %s (%lld) has been paused", y->pause.name,
                 (long long)y->pause.id);
    buf_addf(r->text, " since %s", text_time(y->pause.at, at));
    why_add_who(r->text, by, reason);
    buf_addf(r->text, "; resume it with `pawl resume %lld`", (long long)y->pause.id);
    WHY_REASON(r, "paused", FACT_INT("execution", y->pause.id),
               FACTS_REQUEST(y->pause.at, by, reason));
}

/* ---- an approval ---- */

void why_approval(struct reasons *r, const struct event_row *v)
{
    json_auto_t *data = api_data(v ? v->data : NULL);
    const char *message = api_data_text(data, "message"), *until = api_data_text(data, "until");
    char at[TIME_TEXT_SIZE];

    buf_addstr(r->text, v ? "it has been waiting for approval" : "it waits for approval");
    if (v)
        buf_addf(r->text, " since %s", text_time(v->created_at, at));
    if (until)
        buf_addf(r->text, ", until %s", until);
    if (message)
        buf_addf(r->text, ": %s", message);
    buf_addf(r->text, "; `pawl approve %lld` lets it continue, `pawl reject %lld` fails it",
             (long long)r->y->execution.id, (long long)r->y->execution.id);
    WHY_REASON(r, "approval", FACT_TIME("since", v ? v->created_at : 0),
               FACT_TEXT("message", message), FACT_TEXT("until", until));
}
