/* submit.c - creates executions from submissions. Idempotency keys are in idempotency.c. */
#include "core/graph.h"
#include "store/door/door.h"
#include "store/ops/admission.h"
#include "store/ops/idempotency.h"
#include "store/workflow/workflow.h"

#include "base/json.h"
#include "base/text.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int check_text(const char *what, const char *s, size_t max, struct err *err)
{
    size_t len = s ? strlen(s) : 0;

    if (!s)
        return 0;
    if (!len)
        return err_set(err, E_INVALID, "the %s is empty", what);
    if (len > max)
        return err_set(err, E_INVALID, "the %s has %zu bytes; at most %zu are allowed", what, len,
                       max);
    if (!text_is_utf8(s, len))
        return err_set(err, E_INVALID, "the %s is not valid UTF-8", what);
    return 0;
}

static int check_range(const struct submission *s, const char *what, int64_t value, int64_t min,
                       int64_t max, struct err *err)
{
    if (value >= min && value <= max)
        return 0;
    return err_set(err, E_INVALID, "the %s of '%s' is %lld, out of its range: %lld to %lld", what,
                   s->name, (long long)value, (long long)min, (long long)max);
}

int submission_check(const struct submission *s, struct err *err)
{
    if (*kind_text(s->kind) == '?')
        return err_set(err, E_INVALID, "%d is not a kind of execution", s->kind);
    if (!s->name)
        return err_set(err, E_INVALID, "an execution needs a name");
    TRY(check_text("name", s->name, STORE_MAX_NAME, err));
    TRY(check_text("queue", s->queue, STORE_MAX_QUEUE, err));
    TRY(check_text("lane", s->lane, STORE_MAX_LANE, err));
    TRY(check_text("concurrency key", s->concurrency, STORE_MAX_KEY, err));
    TRY(check_text("task's name", s->task_name, STORE_MAX_NAME, err));
    TRY(check_text("idempotency key", s->key, STORE_MAX_KEY, err));
    TRY(check_range(s, "number of attempts", s->max_attempts, 0, 1000000, err));
    TRY(check_range(s, "concurrency limit", s->concurrency_max, 0, INT_MAX, err));
    TRY(check_range(s, "delay in µs", s->delay, 0, STORE_MAX_DELAY, err));
    TRY(check_range(s, "priority", s->priority, -1000000, 1000000, err));
    if (s->input)
        TRY(json_check(s->input, strlen(s->input), STORE_MAX_INPUT, "the input", err));
    return s->spec ? json_check(s->spec, strlen(s->spec), STORE_MAX_SPEC, "the spec", err) : 0;
}

/* Locks the trees of the parents and checks that they may still have children. */
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
        .lane = !job      ? NULL
                : s->lane ? s->lane
                          : "process",
        .concurrency = job ? s->concurrency : NULL,
        .flags = s->paused ? FLAG_PAUSED : 0,
        .task_name = s->task_name,
        .input = s->input,
        .spec = s->spec,
    };
}

static int by_concurrency(const void *a, const void *b)
{
    const struct submission *const *x = a, *const *y = b;
    int c = strcmp((*x)->concurrency, (*y)->concurrency);

    return c ? c : (*x > *y) - (*x < *y);
}

/* Creates the limits of new concurrency keys: the first job that uses a key creates its limit. In
 * key order, to keep the lock order. */
static int create_limits(struct turn *t, struct submission *list, size_t n, struct err *err)
{
    struct submission **keyed = arena_alloc(&t->arena, (n + 1) * sizeof(struct submission *));
    size_t i, count = 0;

    for (i = 0; i < n; i++)
        if (list[i].concurrency && kind_is_job(list[i].kind) && !list[i].rc && !list[i].existed)
            keyed[count++] = &list[i];
    qsort(keyed, count, sizeof(*keyed), by_concurrency);
    args_begin(&t->args, Q_LIMIT_CREATE);
    for (i = 0; i < count; i++)
        if (!i || strcmp(keyed[i]->concurrency, keyed[i - 1]->concurrency)) {
            struct limit *l = limit_get(t, 'k', keyed[i]->concurrency);

            l->known &= l->max >= 0; /* it may exist only after this statement: read it again */
            args_row(&t->args, l->key, keyed[i]->concurrency_max ? keyed[i]->concurrency_max : 1);
        }
    return db_send(t->db, &t->args, NULL, ANY_ROWS, err);
}

/* A submission that is refused rather than held brings its own maximum. A higher one becomes that
 * of the limit; a lower one applies to this submission only. */
static int raise_limit(struct turn *t, const struct submission *s, struct err *err)
{
    struct limit *l = limit_get(t, 'k', s->concurrency);

    if (l->max >= s->concurrency_max)
        return 0;
    l->max = s->concurrency_max;
    l->freed = true; /* waiting executions may be admitted */
    return db_queue(t->db, NULL, 1, err, Q_LIMIT_UPSERT, l->key, l->max, l->stored_used);
}

/* Whether a limit has no free permit for the submission; sets s->rc if so. */
static bool limit_is_full(struct turn *t, struct submission *s, const struct execution *e)
{
    struct limit *limits[2];
    size_t n = limits_find(t, e, limits), i;

    for (i = 0; i < n; i++) {
        bool own = limits[i]->kind == 'k' && s->concurrency_max;
        int max = own && s->concurrency_max < limits[i]->max ? s->concurrency_max : limits[i]->max;

        if (limits[i]->used >= max) {
            s->rc = err_set(&s->err, E_REFUSED, "the limit %s is full: %d of %d in use",
                            limits[i]->key, limits[i]->used, max);
            return true;
        }
    }
    return false;
}

/* Refuses a submission, and with it all later ones of the list that have the same key; deletes the
 * key. */
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

/* The nearest workflow above waits for an execution that a task submits: counts it there. */
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
    struct hold_reasons h = {.due = s->delay > s->waited ? t->now + s->delay - s->waited : 0};
    struct execution e;
    struct row *r;

    fill_image(t, s, &e);
    if (s->refuse && s->concurrency && s->concurrency_max)
        TRY(raise_limit(t, s, err));
    if (s->refuse && !s->paused && s->delay <= 0 && limit_is_full(t, s, &e))
        return refuse_submission(t, list, n, nth, err);
    TRY(door_create(t, &e, s->origin, &r, err));
    if (s->paused && !kind_is_job(e.kind))
        TRY(door_move(t, r, EV_PAUSED, S_PENDING, NULL, err));
    if (s->parent)
        TRY(count_spawned(t, &e, err));
    if (s->definition || s->hash)
        return submission_start_workflow(t, s, &h, err);
    if (!kind_is_job(e.kind))
        return door_move(t, r, EV_STARTED, S_RUNNING, NULL, err);
    TRY(door_move(t, r, EV_MARKED_READY, S_READY, NULL, err));
    return admit_or_hold(t, r, &h, err);
}

static void note_limits(struct turn *t, const struct submission *s)
{
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
