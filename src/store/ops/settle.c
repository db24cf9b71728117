/* settle.c - writes a worker's reports about attempts that it has leased: the start of an attempt,
 * and its outcome. Both are fenced by worker and epoch, so that a worker without the lease changes
 * nothing. The followers of an ended job become ready in the same turn (workflow/advance.c). */
#include "core/graph.h"
#include "store/door/door.h"
#include "store/door/event_data.h"
#include "store/ops/admission.h"

#include "base/json.h"
#include "base/text.h"

#include <string.h>

_Static_assert(!offsetof(struct start, lease) && !offsetof(struct settlement, lease),
               "see lease_at");

/* Whether the worker still holds the lease that `ref` describes. */
static bool lease_is_held(const struct row *r, int64_t worker, const struct lease_ref *ref)
{
    return r->now.status == S_RUNNING && r->now.worker == worker && r->now.epoch == ref->epoch;
}

/* The i-th lease of a list; each entry has `size` bytes and starts with its lease. */
static struct lease_ref *lease_at(void *list, size_t size, size_t i)
{
    return (struct lease_ref *)((char *)list + i * size);
}

/* Loads the executions of the leases in the list, and sets the rc of each lease. */
static int load_leased(struct turn *t, int64_t worker, void *list, size_t size, size_t n,
                       struct err *err)
{
    struct row_ref *wants = arena_zalloc(&t->arena, (n + 1) * sizeof(*wants));

    for (size_t i = 0; i < n; i++)
        wants[i] = (struct row_ref){.id = lease_at(list, size, i)->execution,
                                    .root = lease_at(list, size, i)->root};
    TRY(turn_find_roots(t, wants, n, err));
    TRY(turn_load(t, wants, n, err));
    for (size_t i = 0; i < n; i++) {
        struct lease_ref *l = lease_at(list, size, i);
        const struct row *r = turn_row(t, l->execution);

        l->rc = wants[i].rc == -E_NOT_FOUND ? -E_LEASE_LOST : wants[i].rc;
        if (!l->rc && !lease_is_held(r, worker, l))
            l->rc = -E_LEASE_LOST;
        l->cancel_requested = !l->rc && r->now.cancel_requested;
    }
    return 0;
}

/* Finds the adopted executions whose start was already reported by an earlier worker. */
static int find_reported_starts(struct turn *t, const struct start *list, size_t n,
                                struct idmap *reported, struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;
    int rc = 0;

    args_begin(&t->args, Q_REPORTED_STARTS);
    for (size_t i = 0; i < n; i++)
        if (list[i].adopted && !list[i].lease.rc) {
            const struct execution *e = &turn_row(t, list[i].lease.execution)->now;

            args_row(&t->args, e->root, e->id, e->attempts);
        }
    if (!args_rows(&t->args) || (rc = db_query(t->db, &t->args, &r, err)))
        return rc;
    for (size_t i = 0; i < r.n; i++)
        idmap_put(reported, rows_int(&r, i, 0), t);
    return rc;
}

int op_record_starts(struct turn *t, int64_t worker, struct start *list, size_t n, struct err *err)
{
    AUTO_IDMAP reported = IDMAP_INIT;

    TRY(load_leased(t, worker, list, sizeof(*list), n, err));
    TRY(find_reported_starts(t, list, n, &reported, err));
    for (size_t i = 0; i < n; i++) {
        struct move_note note = {.worker = worker,
                                 .data = data_build(t, "n", "ago_us", list[i].ago)};

        if (!list[i].lease.rc && !idmap_get(&reported, list[i].lease.execution))
            TRY(door_move(t, turn_row(t, list[i].lease.execution), EV_STARTED, S_RUNNING, &note,
                          err));
    }
    return 0;
}

/* ---- outcomes ---- */

/* The error of an outcome in a form that can be stored: valid UTF-8, not too long, never empty. */
static const char *storable_error(struct turn *t, const struct outcome *o)
{
    const char *s = o->error && *o->error ? o->error : NULL;
    size_t len, i;
    char *copy;

    if (!s)
        return arena_printf(&t->arena, "the attempt ended as %s without an error message",
                            outcome_text((int)o->kind));
    len = strnlen(s, STORE_MAX_ERROR);
    for (i = 0; i < 3 && s[len] && ((unsigned char)s[len] & 0xC0) == 0x80; i++)
        len--; /* do not cut a character in half */
    copy = arena_memdup0(&t->arena, s, len);
    if (!text_is_utf8(copy, len))
        for (i = 0; i < len; i++)
            if ((unsigned char)copy[i] >= 0x80)
                copy[i] = '?';
    return copy;
}

/* Returns the outcome. If it can't be stored, returns a failure that says so, because such an
 * outcome must not leave the job in the status running. */
static struct outcome make_storable(struct turn *t, const struct outcome *o)
{
    struct outcome s = *o;
    struct err why;

    if (o->kind == OUTCOME_OK && o->result &&
        json_check(o->result, strlen(o->result), STORE_MAX_RESULT, "the result", &why)) {
        s.kind = OUTCOME_FAILED;
        s.result = NULL;
        s.error = arena_strdup(&t->arena, why.msg);
    }
    if (s.retry_delay > STORE_MAX_DELAY)
        s.retry_delay = STORE_MAX_DELAY;
    if (s.kind != OUTCOME_OK) {
        s.result = NULL;
        s.error = storable_error(t, &s);
    } else {
        s.error = NULL;
    }
    return s;
}

/* ---- attempts that never started ---- */

/* Attempts in a row; some jobs kill their worker before they start. */
#define UNSTARTED_MAX   3
#define UNSTARTED_DELAY 1000000 /* µs before the next attempt; doubled each time */

static void judge_unstarted(struct turn *t, struct outcome *o, int times_before)
{
    o->unstarted = times_before + 1;
    o->retry_delay = UNSTARTED_DELAY;
    for (int i = 0; i < times_before && i < UNSTARTED_MAX; i++)
        o->retry_delay *= 2;
    o->kind = OUTCOME_REFUSED;
    if (o->unstarted <= UNSTARTED_MAX)
        return;
    o->kind = OUTCOME_LOST;
    o->error = arena_printf(&t->arena,
                            "the attempt did not start, like the %d attempts before, so it counts "
                            "as lost: %s",
                            UNSTARTED_MAX, storable_error(t, o));
}

/* Corrects an outcome whose start event is stored: the event proves that the command started, even
 * if the worker found that it did not. */
static void judge_started(struct outcome *o)
{
    o->kind = OUTCOME_LOST;
    o->unstarted = 0;
    o->retry_delay = UNSTARTED_DELAY;
    o->error =
        "the start of the attempt was reported, but no trace of it was found, so its exit status "
        "is unknown";
}

static bool is_unstarted(const struct settlement *s)
{
    return s->outcome.unstarted && !s->lease.rc;
}

/* Applies judge_started to the outcomes whose start event is stored. A task may have changed the
 * files that prove that it never started, but it can't remove its start event. */
static int judge_all_started(struct turn *t, struct settlement *list, size_t n, struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;
    AUTO_IDMAP started = IDMAP_INIT;

    args_begin(&t->args, Q_REPORTED_STARTS);
    for (size_t i = 0; i < n; i++)
        if (is_unstarted(&list[i])) {
            const struct execution *e = &turn_row(t, list[i].lease.execution)->now;

            args_row(&t->args, e->root, e->id, e->attempts);
        }
    if (!args_rows(&t->args))
        return 0;
    TRY(db_query(t->db, &t->args, &r, err));
    rows_index(&r, &started);
    for (size_t i = 0; i < n; i++)
        if (is_unstarted(&list[i]) && idmap_get(&started, list[i].lease.execution))
            judge_started(&list[i].outcome);
    return 0;
}

/* Returns jobs whose attempt never started to their queue, but not forever: after UNSTARTED_MAX
 * such attempts in a row the attempt is lost, and counts. */
static int judge_all_unstarted(struct turn *t, struct settlement *list, size_t n, struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;
    AUTO_IDMAP times = IDMAP_INIT;

    TRY(judge_all_started(t, list, n, err));
    args_begin(&t->args, Q_UNSTARTED_BEFORE);
    for (size_t i = 0; i < n; i++)
        if (is_unstarted(&list[i]))
            args_row(&t->args, turn_row(t, list[i].lease.execution)->now.root,
                     list[i].lease.execution);
    if (!args_rows(&t->args))
        return 0;
    TRY(db_query(t->db, &t->args, &r, err));
    rows_index(&r, &times);
    for (size_t i = 0; i < n; i++)
        if (is_unstarted(&list[i])) {
            const struct val *found = idmap_get(&times, list[i].lease.execution);

            judge_unstarted(t, &list[i].outcome, found ? (int)found[1].i : 0);
        }
    return 0;
}

/* ---- the next status ---- */

static bool may_retry(const struct execution *e, const struct outcome *o)
{
    return o->kind != OUTCOME_CANCELLED && o->retry_delay >= 0 && e->attempts < e->max_attempts;
}

/* Reads whether the row or one of its ancestors is being cancelled, so that the row gets no new
 * attempt. */
static int is_cancelled(struct turn *t, const struct row *r, bool *out, struct err *err)
{
    *out = r->now.cancel_requested || (r->now.flags & FLAG_LET_FINISH);
    return *out ? 0 : row_is_cancelled_above(t, r, out, err);
}

/* Moves the row back to ready, held for a delay if the outcome has one. */
static int make_ready_again(struct turn *t, struct row *r, enum event_action action, int64_t worker,
                            const struct outcome *o, struct err *err)
{
    int64_t due = o->retry_delay > 0 ? t->now + o->retry_delay : 0;
    struct move_note note = {.worker = worker, .data = data_outcome(t, o, due), .outcome = o};

    if (action == EV_RETRY_SCHEDULED)
        door_set_outcome(r, NULL, o->error);
    TRY(door_move(t, r, action, S_READY, &note, err));
    /* a row that is not held still has its permits, unless a new limit was set */
    return admit_or_hold(t, r, &(struct hold_reasons){.due = due}, err);
}

static int end_attempt(struct turn *t, struct row *r, int64_t worker, const struct outcome *o,
                       struct err *err)
{
    struct move_note note = {.worker = worker, .data = data_outcome(t, o, 0), .outcome = o};
    enum event_action action = EV_FAILED;
    enum status to = S_FAILED;

    if (o->kind == OUTCOME_OK) {
        action = EV_COMPLETED;
        to = S_SUCCEEDED;
    } else if (o->kind == OUTCOME_TIMED_OUT) {
        action = EV_TIMED_OUT;
        to = S_TIMED_OUT;
    } else if (o->kind == OUTCOME_CANCELLED) {
        action = EV_CANCELLED;
        to = S_CANCELLED;
    } else if (o->kind == OUTCOME_LOST && kind_is_job(r->now.kind)) {
        action = r->now.cancel_requested ? EV_CANCELLED : EV_ABANDONED;
        to = r->now.cancel_requested ? S_CANCELLED : S_FAILED;
    }
    door_set_outcome(r, o->result, o->error);
    return door_move(t, r, action, to, &note, err);
}

static int settle_one(struct turn *t, struct row *r, int64_t worker, struct settlement *s,
                      struct err *err)
{
    struct outcome o = make_storable(t, &s->outcome);
    bool again = o.kind == OUTCOME_DEFERRED || o.kind == OUTCOME_REFUSED;
    bool retry = o.kind != OUTCOME_OK && may_retry(&r->now, &o), cancelled = false;
    int rc = 0;

    if (again || retry)
        TRY(is_cancelled(t, r, &cancelled, err));
    if (again && cancelled) {
        /* Without the cancel request, the job would get another attempt. */
        o.kind = OUTCOME_CANCELLED;
        again = false;
    }
    if (again)
        rc = make_ready_again(t, r, o.kind == OUTCOME_DEFERRED ? EV_DEFERRED : EV_RELEASED, worker,
                              &o, err);
    else if (retry && !cancelled)
        rc = make_ready_again(t, r, EV_RETRY_SCHEDULED, worker, &o, err);
    else
        rc = end_attempt(t, r, worker, &o, err);
    s->status = r->now.status;
    return rc;
}

int op_settle(struct turn *t, int64_t worker, struct settlement *list, size_t n, struct err *err)
{
    TRY(load_leased(t, worker, list, sizeof(*list), n, err));
    for (size_t i = 0; i < n; i++)
        if (!list[i].lease.rc)
            limits_note(t, &turn_row(t, list[i].lease.execution)->now);
    TRY(limits_fetch(t, err));
    TRY(judge_all_unstarted(t, list, n, err));
    for (size_t i = 0; i < n; i++) {
        /* check the lease again: the list may contain the same lease twice */
        struct row *r = turn_row(t, list[i].lease.execution);

        if (!list[i].lease.rc && !lease_is_held(r, worker, &list[i].lease))
            list[i].lease.rc = -E_LEASE_LOST;
        if (!list[i].lease.rc)
            TRY(settle_one(t, r, worker, &list[i], err));
        else if (r && list[i].lease.rc == -E_LEASE_LOST)
            attempts_count_refused(t, &r->now, worker);
    }
    return 0;
}
