/* host_verify.c - verify --host: what a host has must fit what the database says.
 *
 * The two can't be read in one moment, so the order counts. A claim is committed before anything is
 * on the host, and what is on the host goes before its end is committed: the host is read first,
 * the database afterwards. Leases are the other way round: a worker's file is there before its
 * first lease and goes after its last one. What looks wrong in spite of that is looked at again
 * after a moment; only what is wrong both times counts. */
#include "api/host.h"

#include "base/env.h"
#include "store/query/query.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOST_INVARIANTS(X)                                                                \
    X(H01, "the folder of an attempt belongs to one that was made")                       \
    X(H02, "where a shim is at work that attempt runs, leased in this state folder")      \
    X(H03, "what an attempt started does not outlive it")                                 \
    X(H04, "how an attempt ended is settled by the worker that is there for it")          \
    X(H05, "what is left of ended attempts and workers goes while workers are there")     \
    X(H06, "a lease of this state folder has its worker's file, by which others find it") \
    X(H07, "a worker that lives has its row")                                             \
    X(H08, "nothing of an earlier generation is at work beside the workers of this one")

enum {
#define X(code, text) code,
    HOST_INVARIANTS(X)
#undef X
};
#define X(code, text) {#code, text},
const struct invariant host_invariants[] = {HOST_INVARIANTS(X)};
#undef X
const size_t host_invariant_count = sizeof(host_invariants) / sizeof(*host_invariants);

#define MAX_PER_CHECK    20
#define LEASES_PAGE      500
#define INSPECT_AGAIN_US 500000LL           /* µs */
#define WORKER_ROW_TAKES 60000000LL         /* µs: from a worker's file to its row, at most */
#define CLEANUP_TAKES    (2 * 3600000000LL) /* µs: workers sweep every hour */

/* What looks wrong. `number` is an attempt or a worker, so that it is known when seen again. */
struct finding {
    size_t code;
    int64_t execution, number;
    char detail[256];
};
struct findings {
    struct finding *at;
    size_t n, cap;
};

struct leased {
    int64_t execution, worker;
};

/* One look at both. */
struct inspect {
    struct store *store;
    const struct host_options *o;
    const char *dir;
    char id[STATE_FOLDER_ID_SIZE];
    VEC(struct leased) leases; /* of this state folder */
    struct host host;
    struct worker_list rows; /* of workers */
    struct findings *found;
};

static const struct finding *find(const struct findings *f, const struct finding *like)
{
    size_t i;

    for (i = 0; i < f->n; i++)
        if (f->at[i].code == like->code && f->at[i].execution == like->execution &&
            f->at[i].number == like->number)
            return &f->at[i];
    return NULL;
}

static void PRINTF_LIKE(5, 6)
    add(struct inspect *l, size_t code, int64_t execution, int64_t number, const char *fmt, ...)
{
    struct finding f = {.code = code, .execution = execution, .number = number};
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(f.detail, sizeof(f.detail), fmt, ap);
    va_end(ap);
    if (!find(l->found, &f))
        *vec_add(l->found) = f;
}

/* ---- workers ---- */

static const struct worker_row *row_of(const struct inspect *l, int64_t worker)
{
    size_t i;

    for (i = 0; i < l->rows.n; i++)
        if (l->rows.at[i].worker.id == worker)
            return &l->rows.at[i];
    return NULL;
}

/* Whether a worker of this state folder has been there for so long to care for jobs of a lane
 * (NULL: for what belongs to none). A stopped Pawl leaves things as they are, and may. */
static bool is_cared_for(const struct inspect *l, const char *lane, int64_t since)
{
    size_t i;

    for (i = 0; i < l->host.workers.n; i++) {
        const struct host_worker *w = &l->host.workers.at[i];
        const struct worker_row *row = row_of(l, w->id);

        if (w->alive && !w->foreground && w->age > since && row &&
            (!lane || worker_serves(&row->worker, lane, NULL)))
            return true;
    }
    return false;
}

static const struct host_worker *file_of(const struct inspect *l, int64_t worker)
{
    size_t i;

    for (i = 0; i < l->host.workers.n; i++)
        if (l->host.workers.at[i].id == worker)
            return &l->host.workers.at[i];
    return NULL;
}

static bool lives_here(const struct inspect *l, int64_t worker)
{
    const struct host_worker *w = file_of(l, worker);

    return w && w->alive;
}

/* Whether something is left that others find by the file of this worker. */
static int is_needed(const struct inspect *l, const struct host_worker *w, bool *needed,
                     struct err *err)
{
    struct execution_list list = {0};
    int rc = query_leases(l->store, w->id, 0, 1, &list, err);

    *needed = !rc && list.n;
    execution_list_release(&list);
    if (rc || *needed || !w->foreground)
        return rc;
    rc = query_execution(l->store, w->foreground, &list, err);
    *needed = !rc && !status_is_terminal(list.at[0].status);
    execution_list_release(&list);
    return rc == -E_NOT_FOUND ? 0 : rc;
}

static int check_workers(struct inspect *l, struct err *err)
{
    size_t i;
    int rc = 0;

    for (i = 0; !rc && i < l->host.workers.n; i++) {
        const struct host_worker *w = &l->host.workers.at[i];
        bool needed = true;

        if (w->alive && w->age > WORKER_ROW_TAKES && !row_of(l, w->id))
            add(l, H07, 0, w->id, "worker %016llx lives, but has no row",
                (unsigned long long)w->id);
        if (w->alive || !is_cared_for(l, NULL, CLEANUP_TAKES) || w->age < CLEANUP_TAKES)
            continue;
        if (!(rc = is_needed(l, w, &needed, err)) && !needed)
            add(l, H05, 0, w->id, "worker %016llx is gone and left nothing, but its file is there",
                (unsigned long long)w->id);
    }
    return rc;
}

/* ---- leases ---- */

static int read_leases(struct inspect *l, struct err *err)
{
    struct execution_list list = {0};
    int64_t after = 0;
    size_t i;
    int rc;

    do {
        execution_list_release(&list);
        if ((rc = query_leases(l->store, 0, after, LEASES_PAGE, &list, err)))
            return rc;
        for (i = 0; i < list.n; i++) {
            const struct execution *x = &list.at[i];

            if (x->worker && x->folder && !strcmp(x->folder, l->id))
                *vec_add(&l->leases) = (struct leased){x->id, x->worker};
            after = x->id;
        }
    } while (list.n == LEASES_PAGE);
    execution_list_release(&list);
    return 0;
}

static void check_leases(struct inspect *l)
{
    size_t i;

    for (i = 0; i < l->leases.n; i++)
        if (!file_of(l, l->leases.at[i].worker))
            add(l, H06, l->leases.at[i].execution, l->leases.at[i].worker,
                "it is leased to worker %016llx, which has no file in this state folder",
                (unsigned long long)l->leases.at[i].worker);
}

/* ---- attempts ---- */

/* What is wrong with an attempt that has `x`, NULL if there is no such execution. */
static void check_attempt(struct inspect *l, const struct host_attempt *a,
                          const struct execution *x)
{
    bool made = x && a->attempt <= x->attempts;
    bool runs = made && x->status == S_RUNNING && x->attempts == a->attempt;
    bool ours = runs && x->folder && !strcmp(x->folder, l->id);
    const char *is = !x              ? "not there"
                     : runs && !ours ? "leased in another state folder"
                     : made && !runs ? status_text(x->status)
                                     : "at an earlier attempt";

    if (a->folder && !made)
        add(l, H01, a->execution, a->attempt, "attempt %d has a folder, but the execution is %s",
            a->attempt, is);
    if (a->shim && !ours)
        add(l, H02, a->execution, a->attempt,
            "a shim is at work on attempt %d, but the execution is %s", a->attempt, is);
    else if (!ours && a->process)
        add(l, H03, a->execution, a->attempt,
            "process %d, which attempt %d started, still lives, but the execution is %s",
            (int)a->process, a->attempt, is);
    else if (!ours && a->tree)
        add(l, H03, a->execution, a->attempt,
            "something that attempt %d started still lives, but the execution is %s", a->attempt,
            is);
    if (!a->shim && ours && a->ended_ago > l->o->grace &&
        (lives_here(l, x->worker) || is_cared_for(l, x->lane, l->o->grace)))
        add(l, H04, a->execution, a->attempt,
            "attempt %d ended %lld s ago, but the execution is still running", a->attempt,
            (long long)(a->ended_ago / 1000000));
    if (a->folder && !a->shim && !a->tree && made && status_is_terminal(x->status) &&
        l->rows.now - x->finished_at > CLEANUP_TAKES && is_cared_for(l, x->lane, CLEANUP_TAKES))
        add(l, H05, a->execution, a->attempt,
            "attempt %d still has its folder, but the execution is %s", a->attempt, is);
}

static int check_attempts(struct inspect *l, struct err *err)
{
    size_t i;
    int rc = 0;

    for (i = 0; !rc && i < l->host.attempts.n; i++) {
        const struct host_attempt *a = &l->host.attempts.at[i];
        struct execution_list list = {0};

        if (a->old) {
            if ((a->shim || a->tree) && is_cared_for(l, NULL, l->o->grace))
                add(l, H08, a->execution, a->attempt,
                    "attempt %d of an earlier generation of the database is at work", a->attempt);
            continue;
        }
        rc = query_execution(l->store, a->execution, &list, err);
        if (!rc || rc == -E_NOT_FOUND) {
            check_attempt(l, a, rc ? NULL : &list.at[0]);
            rc = 0;
        }
        execution_list_release(&list);
    }
    return rc;
}

/* ---- both ---- */

static int inspect(const struct inspect *like, struct findings *found, struct host_result *seen,
                   struct err *err)
{
    struct inspect l = *like;
    int rc;

    l.found = found;
    if ((rc = read_leases(&l, err)) || (rc = host_inspect(l.dir, &l.host, err)) ||
        (rc = query_workers(l.store, &l.rows, err)) || (rc = check_attempts(&l, err)) ||
        (rc = check_workers(&l, err)))
        goto done;
    check_leases(&l);
    seen->attempts = (int64_t)l.host.attempts.n;
    seen->workers = (int64_t)l.host.workers.n;
done:
    vec_release(&l.leases);
    host_release(&l.host);
    worker_list_release(&l.rows);
    return rc;
}

/* What both looks found, invariant by invariant. */
static void report(const struct findings *before, const struct findings *now,
                   const struct host_options *o, struct host_result *out)
{
    size_t code, i, told;

    for (code = 0; code < host_invariant_count; code++)
        for (i = told = 0; i < now->n && told < MAX_PER_CHECK; i++) {
            const struct finding *f = &now->at[i];
            struct breach b = {host_invariants[code].code, f->execution, f->detail};

            if (f->code != code || !find(before, f))
                continue;
            told++;
            out->breaches++;
            if (o->report)
                o->report(o->arg, &b);
        }
}

int host_verify(struct store *s, const struct host_options *o, struct host_result *out,
                struct err *err)
{
    struct inspect l = {.store = s, .o = o};
    struct findings first = {0}, second = {0};
    char database[STORE_ID_SIZE], *dir = NULL;
    struct host_result result = {.checks = host_invariant_count};
    int64_t generation;
    int rc;

    if ((rc = store_identity(s, database, &generation, err)) ||
        (rc = state_folder_name(o->state, false, l.id, err)))
        return rc;
    l.dir = dir = state_folder_path(o->state, database, generation);
    if ((rc = inspect(&l, &first, &result, err)))
        goto done;
    if (first.n) {
        clock_sleep_us(INSPECT_AGAIN_US);
        if ((rc = inspect(&l, &second, &result, err)))
            goto done;
    }
    report(&first, &second, o, &result);
    *out = result;
done:
    vec_release(&first);
    vec_release(&second);
    free(dir);
    return rc;
}
