/* submit.c - creates executions from submissions. Idempotency keys are in idempotency.c. */
#include "core/graph.h"
#include "store/door/door.h"
#include "store/door/event_data.h"
#include "store/ops/admission.h"
#include "store/ops/idempotency.h"
#include "store/store_internal.h"
#include "store/workflow/workflow.h"

#include "base/json.h"
#include "base/text.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int check_range(const struct submission *s, const char *what, int64_t value, int64_t min,
                       int64_t max, struct err *err)
{
    if (value >= min && value <= max)
        return 0;
    return err_set(err, E_INVALID, "the %s of '%s' must be from %lld to %lld, not %lld", what,
                   s->name, (long long)min, (long long)max, (long long)value);
}

int submission_check(const struct submission *s, struct err *err)
{
    if (*kind_text(s->kind) == '?')
        return err_set(err, E_INVALID, "%d is not a kind of execution", s->kind);
    if (!s->name)
        return err_set(err, E_INVALID, "an execution needs a name");
    TRY(text_check_name("name", s->name, STORE_MAX_NAME, err));
    TRY(text_check_name("queue", s->queue, STORE_MAX_QUEUE, err));
    TRY(text_check_name("lane", s->lane, STORE_MAX_LANE, err));
    TRY(text_check_name("concurrency key", s->concurrency, STORE_MAX_KEY, err));
    TRY(text_check_name("task's name", s->task_name, STORE_MAX_NAME, err));
    TRY(text_check("idempotency key", s->key, STORE_MAX_KEY, err));
    TRY(text_check_name("requester's name", s->by, STORE_MAX_BY, err));
    TRY(check_range(s, "number of attempts", s->max_attempts, 0, 1000000, err));
    TRY(check_range(s, "concurrency limit", s->concurrency_max, 0, INT_MAX, err));
    TRY(check_range(s, "delay in µs", s->delay, 0, STORE_MAX_DELAY, err));
    TRY(check_range(s, "priority", s->priority, -1000000, 1000000, err));
    if (s->input)
        TRY(json_check(s->input, strlen(s->input), STORE_MAX_INPUT, "the input", err));
    return s->spec ? json_check(s->spec, strlen(s->spec), STORE_MAX_SPEC, "the spec", err) : 0;
}

/* Locks the trees of the parents and checks that the parents may get new children. */
static int find_parents(struct turn *t, struct submission *list, size_t n, struct err *err)
{
    struct row_ref *wants = arena_zalloc(&t->arena, (n + 1) * sizeof(*wants));
    size_t i, count = 0, at = 0;

    for (i = 0; i < n; i++)
        if (list[i].parent && !list[i].rc && !list[i].existed)
            wants[count++].id = list[i].parent;
    if (!count)
        return 0;
    TRY(turn_find_roots(t, wants, count, err));
    TRY(turn_load(t, wants, count, err));
    for (i = 0; i < n; i++) {
        struct submission *s = &list[i];
        const struct row *p;

        if (!s->parent || s->rc || s->existed)
            continue;
        s->rc = wants[at++].rc;
        p = turn_row(t, s->parent);
        if (s->rc == -E_NOT_FOUND)
            err_set(&s->err, E_NOT_FOUND, "the parent, execution %lld, does not exist",
                    (long long)s->parent);
        else if (!s->rc && (status_is_terminal(p->now.status) || p->now.cancel_requested))
            s->rc = err_set(
                &s->err, E_INVALID, "the parent, execution %lld, %s: it can't have new children",
                (long long)s->parent, p->now.cancel_requested ? "is being cancelled" : "has ended");
    }
    return 0;
}

const char *queue_foreground(int64_t id, char out[QUEUE_FOREGROUND_SIZE])
{
    snprintf(out, QUEUE_FOREGROUND_SIZE, "%s%lld", QUEUE_FOREGROUND, (long long)id);
    return out;
}

static const char *find_queue(struct turn *t, const struct submission *s)
{
    char name[QUEUE_FOREGROUND_SIZE];

    if (!s->queue)
        return "default";
    return strcmp(s->queue, QUEUE_FOREGROUND)
               ? s->queue
               : arena_strdup(&t->arena, queue_foreground(s->id, name));
}

/* Whether the submission, or its tasks if it is a workflow, counts against queue.cap. */
static bool is_capped(const struct turn *t, const struct submission *s)
{
    return t->store->workflow_options.cap && !s->shares_slot;
}

static void fill_image(struct turn *t, const struct submission *s, struct execution *e)
{
    const struct row *p = s->parent ? turn_row(t, s->parent) : NULL;
    bool job = kind_is_job(s->kind);

    *e = (struct execution){
        .id = s->id,
        .rerun_of = s->rerun_of,
        .parent = s->parent,
        .root = p ? p->now.root : s->id,
        .workflow = !p                             ? 0
                    : p->now.kind == KIND_WORKFLOW ? p->now.id
                                                   : p->now.workflow,
        .depth = p ? p->now.depth + 1 : 0,
        .kind = s->kind,
        .priority = s->priority,
        .max_attempts = s->max_attempts ? s->max_attempts : 1,
        .task_index = s->task_index,
        .name = s->name,
        .queue = find_queue(t, s),
        .lane = job ? s->lane : NULL,
        .concurrency = job ? s->concurrency : NULL,
        .flags = (s->paused ? FLAG_PAUSED : 0) | (is_capped(t, s) ? FLAG_CAPPED : 0) |
                 (job && !s->lane ? FLAG_ROUTED : 0),
        .task_name = s->task_name,
        .input = s->input,
        .spec = s->spec,
    };
}

/* The limit of a concurrency key that a submission uses, with its maximum in case this turn creates
 * the limit. */
struct new_limit {
    const char *key;
    int max;
    size_t nth; /* index of the submission in its list */
};

static int by_key(const void *a, const void *b)
{
    const struct new_limit *x = a, *y = b;
    int c = strcmp(x->key, y->key);

    return c ? c : (x->nth > y->nth) - (x->nth < y->nth);
}

/* Creates the cap, and the limits of new concurrency keys: the first job that uses a key creates
 * its limit. Goes through the limits in key order, to keep the lock order. */
static int create_limits(struct turn *t, struct submission *list, size_t n, struct err *err)
{
    struct new_limit *new = arena_alloc(&t->arena, (2 * n + 1) * sizeof(*new));
    size_t i, count = 0;

    for (i = 0; i < n; i++) {
        const struct submission *s = &list[i];

        if (s->rc || s->existed)
            continue;
        if (s->concurrency && kind_is_job(s->kind))
            new[count++] =
                (struct new_limit){s->concurrency, s->concurrency_max ? s->concurrency_max : 1, i};
        if (is_capped(t, s))
            new[count++] = (struct new_limit){LIMIT_CAP, t->store->workflow_options.cap, i};
    }
    qsort(new, count, sizeof(*new), by_key);
    args_begin(&t->args, Q_LIMIT_CREATE);
    for (i = 0; i < count; i++)
        if (!i || strcmp(new[i].key, new[i - 1].key)) {
            struct limit *l = limit_get(t, 'k', new[i].key);

            /* The statement below may create the limit, so it must be read again. */
            l->known &= l->max >= 0;
            args_row(&t->args, l->key, new[i].max);
        }
    return db_send(t->db, &t->args, NULL, ANY_ROWS, err);
}

/* Whether the submission is refused because a limit has no free permit for it; sets s->rc if so.
 * The cap refuses single jobs, since they do not wait; the tasks of a workflow are held. */
static bool is_refused(struct turn *t, struct submission *s, const struct execution *e)
{
    struct limit *limits[LIMITS_MAX];
    size_t n = limits_find(t, e, limits);

    if (s->paused || s->delay > 0)
        return false;
    for (size_t i = 0; i < n && !s->rc; i++) {
        const struct limit *l = limits[i];

        if (l->used < l->max)
            continue;
        if (limit_is_cap(l))
            s->rc = err_set(&s->err, E_REFUSED,
                            "queue.cap (%d) is reached, and queues are disabled: try again when a "
                            "run has ended, or raise queue.cap in pawl.yaml",
                            t->store->workflow_options.cap);
        else if (s->refuse)
            s->rc = err_set(&s->err, E_REFUSED,
                            "the limit %s is full (%d of %d in use): try again later", l->key,
                            l->used, l->max);
    }
    return s->rc;
}

/* Refuses a submission and all later submissions of the list that have the same idempotency key;
 * deletes the key. */
static int refuse_submission(struct turn *t, struct submission *list, size_t n, size_t nth,
                             struct err *err)
{
    struct submission *s = &list[nth];
    int64_t id = s->id;

    s->id = 0;
    if (!s->key)
        return 0;
    for (size_t i = nth + 1; i < n; i++)
        if (list[i].existed && list[i].id == id) {
            list[i].existed = false;
            list[i].id = 0;
            list[i].rc = s->rc;
            list[i].err = s->err;
        }
    return db_queue(t->db, NULL, ANY_ROWS, err, Q_KEYS_DELETE, id);
}

/* Counts an execution that a job submitted as an open child of the nearest workflow above the job,
 * because that workflow must not end before the execution. */
static int count_spawned(struct turn *t, const struct execution *e, struct err *err)
{
    struct workflow_state *f = NULL;
    int rc = e->workflow ? workflow_state_get(t, e->workflow, e->root, &f, err) : 0;

    if (!rc && f) {
        f->row->now.children_open++;
        door_mark_changed(t, f->row);
    }
    return rc;
}

static int create_execution(struct turn *t, struct submission *list, size_t n, size_t nth,
                            struct err *err)
{
    struct submission *s = &list[nth];
    int64_t from = s->requested_at ? s->requested_at : t->now;
    struct hold_reasons h = {.due = s->delay ? from + s->delay : 0, .only_create = s->only_create};
    const char *origin = s->origin ? s->origin : data_request(t, &(struct request){.by = s->by});
    struct execution e;
    struct row *r;

    fill_image(t, s, &e);
    if (e.flags & FLAG_CAPPED)
        limit_apply_cap(t);
    if (is_refused(t, s, &e))
        return refuse_submission(t, list, n, nth, err);
    TRY(door_create(t, &e, origin, &r, err));
    if (from < r->now.requested_at)
        r->now.requested_at = from;
    if (s->paused && !kind_is_job(e.kind))
        TRY(door_move(t, r, EV_PAUSED, S_PENDING, NULL, err));
    if (s->parent)
        TRY(count_spawned(t, &e, err));
    if (s->definition || s->hash)
        return submission_start_workflow(t, s, &h, err);
    if (!kind_is_job(e.kind))
        return door_move(t, r, EV_STARTED, S_RUNNING, NULL, err);
    if (e.flags & FLAG_ROUTED)
        TRY(turn_route(t, &(struct route_query){.name = e.name}, &r->now.lane, err));
    TRY(door_move(t, r, EV_MARKED_READY, S_READY, NULL, err));
    return admit_or_hold(t, r, &h, err);
}

/* Notes the limits that a submission needs. The tasks of a workflow may need the cap in the same
 * turn. */
static void note_limits(struct turn *t, const struct submission *s)
{
    if (is_capped(t, s))
        limit_get_cap(t);
    limits_note(t, &(struct execution){
                       .kind = s->kind, .queue = find_queue(t, s), .concurrency = s->concurrency});
}

void op_note_submit_limits(struct turn *t, const struct submission *list, size_t n)
{
    struct err ignored;

    for (size_t i = 0; i < n; i++)
        if (!submission_check(&list[i], &ignored))
            note_limits(t, &list[i]);
}

static int assign_ids(struct turn *t, struct submission *list, size_t n, struct err *err)
{
    int64_t *fresh = arena_alloc(&t->arena, (n + 1) * sizeof(*fresh));
    size_t i, count = 0;

    for (i = 0; i < n; i++)
        count += !list[i].promised_id;
    TRY(turn_new_ids(t, count, fresh, err));
    for (i = n; i-- > 0;) {
        list[i].id = list[i].promised_id ? list[i].promised_id : fresh[--count];
        if (list[i].rc)
            list[i].id = 0;
    }
    return 0;
}

int op_submit(struct turn *t, struct submission *list, size_t n, struct err *err)
{
    if (n > STORE_MAX_BATCH)
        return err_set(err, E_INVALID,
                       "%zu submissions at once are too many; at most %d are allowed", n,
                       STORE_MAX_BATCH);
    for (size_t i = 0; i < n; i++) {
        list[i].existed = false;
        TRY(submission_prepare_workflow(t, &list[i], err));
        if (!list[i].rc)
            list[i].rc = submission_check(&list[i], &list[i].err);
    }
    TRY(assign_ids(t, list, n, err));
    TRY(keys_find_repeated(t, list, n, err));
    TRY(find_parents(t, list, n, err));
    TRY(keys_insert(t, list, n, err));
    TRY(create_limits(t, list, n, err));
    for (size_t i = 0; i < n; i++)
        if (!list[i].rc && !list[i].existed)
            note_limits(t, &list[i]);
    TRY(limits_fetch(t, err));
    TRY(submissions_reserve_ids(t, list, n, err));
    for (size_t i = 0; i < n; i++)
        if (!list[i].rc && !list[i].existed)
            TRY(create_execution(t, list, n, i, err));
    return 0;
}
