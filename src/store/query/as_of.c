/* as_of.c - loads a tree as it was at a moment, and builds lists, outlines and timelines from it;
 * see as_of.h. Reads the rows of the tree in one query, then the events of a thousand executions at
 * a time. Events after the moment are replayed, too, because the event of a later rerun contains
 * the earlier result, and max_attempts at the moment can be computed only from its present
 * value. */
#include "store/query/as_of.h"

#include "base/text.h"
#include "core/graph.h"
#include "store/query/query_internal.h"

#define EVENTS_SLICE 1000 /* number of executions whose events are read at once */

/* Indexes of the columns that this file reads. The SQL macro @event@ lists the columns of an event
 * (sql/query.sql). The rows of query_as_of_rows start with the columns of the SQL macro @whole@,
 * those of an execution (sql/00_columns.sql); these columns follow. */
enum { NUMBER, ROOT, EXECUTION, CREATED_AT, DATA = CREATED_AT + 8, HOST };
enum { DEFINITION = WHOLE_COLUMNS, ITEMS = DEFINITION + 2 };

struct as_of_row {
    struct execution execution; /* the execution as it was at the moment */
    struct replay at_moment, now;
    struct timeline timeline; /* set only if with_timelines is set */
    const char *result;       /* the result, if a later rerun moved it from the row to an event */
    const char *host;         /* host of the last worker at the moment; NULL if none or unknown */
    const char *request;      /* JSON that tells who requested the run; NULL if unknown */
    const char *definition, *variables;
    int64_t items; /* number of items of a fan-out; -1 if unknown, or for other kinds */
};

struct as_of_tree {
    /* The arguments: what to load. */
    int64_t id;
    struct moment at;
    bool with_texts;     /* whether to load input, result and variables, too */
    bool whole_tree;     /* whether to load all descendants, not only the tasks of a workflow */
    bool with_timelines; /* whether to compute timelines, too */

    int64_t now; /* the time of the moment at which the tree is viewed */
    /* The executions by depth, requested_at and id, so that parents come first. */
    struct as_of_row *rows;
    size_t n;
    struct idmap by_id;
    struct arena arena;
};

static void as_of_release(struct as_of_tree *p)
{
    idmap_release(&p->by_id);
    arena_release(&p->arena);
}

/* ---- reading ---- */

static void read_rows(struct as_of_tree *p, const struct rows *r)
{
    size_t i;

    p->rows = arena_zalloc(&p->arena, (r->n + 1) * sizeof(*p->rows));
    for (p->n = i = 0; i < r->n; i++) {
        struct as_of_row *row = &p->rows[p->n++];

        execution_read_whole(&row->execution, r, i, 0, &p->arena);
        rows_read(r, i, DEFINITION, &p->arena, &row->definition, &row->variables, &row->items);
        if (rows_null(r, i, ITEMS))
            row->items = -1;
        idmap_put(&p->by_id, row->execution.id, row);
    }
}

static bool is_before(const struct as_of_tree *p, const struct rows *r, size_t i)
{
    return p->at.event ? rows_int(r, i, NUMBER) <= p->at.event
                       : rows_int(r, i, CREATED_AT) <= p->at.time;
}

/* Copies texts that point into the events of a slice, because the events are released after the
 * slice. */
static void keep_texts(struct replay *f, struct arena *arena)
{
    f->outcome = arena_strdup(arena, f->outcome);
    f->reason = arena_strdup(arena, f->reason);
    f->pause = arena_strdup(arena, f->pause);
}

static void apply_event(struct as_of_tree *p, const struct rows *r, size_t i)
{
    struct as_of_row *row = idmap_get(&p->by_id, rows_int(r, i, EXECUTION));
    struct replay_event e = {0};
    int seq, attempt, epoch; /* not from an event: replay counts these itself */
    bool first_rerun;

    rows_read(r, i, CREATED_AT, NULL, &e.at, &e.worker, &seq, &attempt, &epoch, &e.type, &e.from,
              &e.to, &e.data);
    first_rerun = e.type % WORKFLOW_EVENT == EV_RERUN && row->now.reruns == row->at_moment.reruns;
    replay_event(&row->now, &e, &p->arena);
    if (is_before(p, r, i)) {
        row->at_moment = row->now;
        if (e.worker)
            row->host = arena_strdup(&p->arena, rows_text(r, i, HOST));
        if (seq == 1)
            row->request = arena_strdup(&p->arena, e.data);
        if (p->with_timelines)
            timeline_event(&row->timeline, &e, row->now.held, &p->arena);
    } else if (first_rerun) {
        row->result = replay_result(&e, &p->arena);
    }
}

static int read_slice(struct as_of_tree *p, struct db *db, size_t first, struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;
    AUTO_ARGS a = ARGS_INIT;

    args_begin(&a, Q_QUERY_AS_OF_EVENTS);
    for (size_t i = first; i < p->n && i < first + EVENTS_SLICE; i++)
        args_row(&a, p->rows[i].execution.root, p->rows[i].execution.id);
    TRY(db_query(db, &a, &r, err));
    for (size_t i = 0; i < r.n; i++)
        apply_event(p, &r, i);
    for (size_t i = first; i < p->n && i < first + EVENTS_SLICE; i++)
        keep_texts(&p->rows[i].at_moment, &p->arena);
    return 0;
}

static int read_as_of(struct db *db, void *arg, struct err *err)
{
    struct as_of_tree *p = arg;
    AUTO_ROWS r = ROWS_INIT;
    AUTO_ARGS a = ARGS_INIT;

    arena_reset(&p->arena); /* start anew: the body may run more than once */
    idmap_reset(&p->by_id);
    args_begin(&a, Q_QUERY_AS_OF_ROWS, p->id, p->with_texts, p->whole_tree);
    TRY(db->driver->send_now(db, &p->now, err));
    TRY(db_query(db, &a, &r, err));
    p->now += db->env->clock_offset;
    read_rows(p, &r);
    for (size_t i = 0; i < p->n; i += EVENTS_SLICE)
        TRY(read_slice(p, db, i, err));
    return 0;
}

/* ---- the state at the moment ---- */

/* Whether the stored input existed at the moment. The input of a task is computed when the task
 * becomes ready, and again by each rerun. */
static bool had_input(const struct as_of_row *r)
{
    const struct execution *e = &r->execution;

    if (!e->task_name)
        return true;
    return r->at_moment.reruns == r->now.reruns &&
           (kind_is_job(e->kind) ? r->at_moment.ready_at != 0 : r->at_moment.started_at != 0);
}

/* Restores the execution as it was at the moment: replaces all fields that the door changes by
 * replayed values. */
static void restore_execution(struct as_of_row *r)
{
    struct execution *e = &r->execution;
    const struct replay *f = &r->at_moment;
    const struct execution_state present = e->state;
    bool later = f->reruns != r->now.reruns;

    if (!had_input(r)) {
        e->input = NULL;
        r->items = -1;
    }
    e->result = !status_is_terminal(f->status) ? NULL : later ? r->result : e->result;
    e->error = f->error;
    e->state = f->state;
    /* A SQL submission was requested before its first event. */
    e->requested_at = present.requested_at;
    e->max_attempts = present.max_attempts + f->max_attempts - r->now.max_attempts;
    e->flags = f->paused ? FLAG_PAUSED : 0;
    e->until = present.until;
    e->expired_at = present.expired_at;
    e->folder = present.folder;
    e->needs_left = NEEDS_UNKNOWN;
}

static int set_did_not_exist(const struct as_of_tree *p, struct err *err)
{
    char at_moment[TIME_TEXT_SIZE], requested[TIME_TEXT_SIZE];

    text_time(p->rows[0].execution.requested_at, requested);
    if (p->at.event)
        return err_set(err, E_NOT_FOUND,
                       "execution %lld did not exist yet at event %lld: it was submitted at %s",
                       (long long)p->id, (long long)p->at.event, requested);
    return err_set(err, E_NOT_FOUND, "execution %lld did not exist at %s: it was requested at %s",
                   (long long)p->id, text_time(p->at.time, at_moment), requested);
}

/* Keeps only the executions that existed at the moment, in order, and sets p->now to the time of
 * the moment. */
static int finish_moment(struct as_of_tree *p, struct err *err)
{
    int64_t last = 0;
    size_t i, n = 0;

    if (!p->n)
        return query_set_not_found(p->id, err);
    if (!p->rows[0].at_moment.status)
        return set_did_not_exist(p, err);
    for (i = 0; i < p->n; i++) {
        if (!p->rows[i].at_moment.status)
            continue;
        restore_execution(&p->rows[i]);
        if (p->rows[i].at_moment.updated_at > last)
            last = p->rows[i].at_moment.updated_at;
        p->rows[n++] = p->rows[i];
    }
    p->n = n;
    if (p->at.event)
        p->now = last;
    else if (p->at.time < p->now)
        p->now = p->at.time;
    return 0;
}

/* Loads the tree in one snapshot. -E_NOT_FOUND if the execution did not exist at the moment. The
 * caller releases p even after an error. */
static int as_of_load(struct as_of_tree *p, struct store *s, struct err *err)
{
    TRY(query_read(s, read_as_of, p, err));
    return finish_moment(p, err);
}

/* ---- lists ---- */

static int list_at(struct store *s, int64_t id, const struct moment *at, bool whole_tree,
                   struct execution_list *out, struct err *err)
{
    AUTO(as_of_release)
    struct as_of_tree p = {.id = id, .at = *at, .with_texts = true, .whole_tree = whole_tree};
    struct execution_list l = {0};

    TRY(as_of_load(&p, s, err));
    l.arena = p.arena;
    p.arena = (struct arena)ARENA_INIT;
    l.at = arena_zalloc(&l.arena, (p.n + 1) * sizeof(*l.at));
    l.history = arena_zalloc(&l.arena, (p.n + 1) * sizeof(*l.history));
    for (; l.n < p.n; l.n++) {
        const struct as_of_row *r = &p.rows[l.n];

        l.at[l.n] = r->execution;
        l.history[l.n] = (struct execution_history){.outcome = r->at_moment.outcome,
                                                    .worker = r->at_moment.last_worker,
                                                    .host = r->host,
                                                    .request = r->request,
                                                    .due_at = r->at_moment.due_at,
                                                    .definition = r->definition,
                                                    .variables = r->variables,
                                                    .pause = r->at_moment.pause};
    }
    *out = l;
    return 0;
}

int query_tree_at(struct store *s, int64_t id, const struct moment *at, struct execution_list *out,
                  struct err *err)
{
    return list_at(s, id, at, true, out, err);
}

int query_execution_at(struct store *s, int64_t id, const struct moment *at,
                       struct execution_list *out, struct err *err)
{
    return list_at(s, id, at, false, out, err);
}

/* ---- outlines ---- */

/* Whether the execution gets a line in the outline. Its parent must have a line, and only the first
 * max_items running and the first max_items failed items of a fan-out are shown. */
static bool is_shown(struct idmap *lines, const struct execution *e, size_t max_items)
{
    struct outline_row *up = idmap_get(lines, e->parent);
    bool failed = e->status == S_FAILED || e->status == S_TIMED_OUT;
    int64_t before;

    if (!up || up->execution.kind != KIND_FOREACH)
        return up != NULL;
    before = failed ? up->items[S_FAILED] + up->items[S_TIMED_OUT] : up->items[S_RUNNING];
    up->items[e->status]++;
    return (failed || e->status == S_RUNNING) && before < (int64_t)max_items;
}

int query_outline_at(struct store *s, int64_t id, const struct moment *at, size_t max_items,
                     struct outline *out, struct err *err)
{
    AUTO(as_of_release) struct as_of_tree p = {.id = id, .at = *at, .whole_tree = true};
    AUTO_IDMAP lines = IDMAP_INIT;
    struct outline o = {0};

    TRY(as_of_load(&p, s, err));
    o.now = p.now;
    o.arena = p.arena;
    p.arena = (struct arena)ARENA_INIT;
    o.at = arena_zalloc(&o.arena, (p.n + 1) * sizeof(*o.at));
    for (size_t i = 0; i < p.n; i++) {
        const struct as_of_row *r = &p.rows[i];
        bool has_reason = r->at_moment.status == S_CANCELLED || r->at_moment.status == S_SKIPPED;

        if (i && !is_shown(&lines, &r->execution, max_items))
            continue;
        o.at[o.n] = (struct outline_row){.execution = r->execution,
                                         .ready_at = r->at_moment.ready_at,
                                         .worker = r->at_moment.last_worker,
                                         .due_at = r->at_moment.due_at,
                                         .reason = has_reason ? r->at_moment.reason : NULL,
                                         .nitems = r->items};
        idmap_put(&lines, r->execution.id, &o.at[o.n++]);
    }
    *out = o;
    return 0;
}

int query_timelines(struct store *s, int64_t id, const struct moment *at, struct timeline_list *out,
                    struct err *err)
{
    AUTO(as_of_release)
    struct as_of_tree p = {.id = id, .at = *at, .whole_tree = true, .with_timelines = true};
    struct timeline_list l = {0};

    TRY(as_of_load(&p, s, err));
    l.now = p.now;
    l.arena = p.arena;
    p.arena = (struct arena)ARENA_INIT;
    l.at = arena_alloc(&l.arena, (p.n + 1) * sizeof(*l.at));
    for (; l.n < p.n; l.n++)
        l.at[l.n] = (struct timeline_row){.execution = p.rows[l.n].execution,
                                          .timeline = p.rows[l.n].timeline,
                                          .definition = p.rows[l.n].definition};
    *out = l;
    return 0;
}
