/* host_verify.c - verify --host: checks that the state folder of a host matches the database.
 *
 * The two can't be read at the same moment. Attempts are read from the host first and looked up in
 * the database afterwards: a claim is committed before its attempt exists on the host, so every
 * attempt that is found has a claim in the database. Workers are read in the reverse order: leases
 * are read from the database first, and the files afterwards, because a worker's file exists before
 * its first lease. In both cases an attempt or a worker that ends between the two reads looks like
 * a violation. Therefore the inspection is repeated after a moment, and only findings that were
 * made both times count. */
#include "api/host.h"

#include "api/api.h"

#include "base/env.h"
#include "store/generation.h"
#include "store/query/query.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOST_INVARIANTS(X)                                                               \
    X(H01, "every attempt folder belongs to an attempt in the database")                 \
    X(H02, "a shim runs only for a running attempt that is leased in this state folder") \
    X(H03, "no process of an attempt outlives it")                                       \
    X(H04, "an ended attempt is settled if a live worker can do that")                   \
    X(H05, "files of ended attempts and workers are removed while workers are alive")    \
    X(H06, "every lease in this state folder has the file of its worker")                \
    X(H07, "a live worker has a row in the database")                                    \
    X(H08, "no attempt of an earlier generation runs together with workers of this one")

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
#define INSPECT_AGAIN_US 500000LL           /* µs between the two inspections */
#define WORKER_ROW_TAKES 60000000LL         /* µs from a worker's file to its row, at most */
#define CLEANUP_TAKES    (2 * 3600000000LL) /* µs; workers clean up every hour */

/* A suspected violation. `number` is an attempt or a worker. Two findings are equal if their code,
 * execution and number are. */
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

/* One inspection of the host and the database. */
struct inspect {
    struct store *store;
    const struct host_options *o;
    const char *dir;
    char id[STATE_FOLDER_ID_SIZE];
    VEC(struct leased) leases; /* leases in this state folder */
    struct host host;
    struct worker_list rows; /* the rows of workers */
    struct findings *found;
};

static const struct finding *find(const struct findings *f, const struct finding *like)
{
    for (size_t i = 0; i < f->n; i++)
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

/* Whether a worker of this state folder that serves the lane (any lane if NULL) has been alive for
 * longer than `since` µs. Without such a worker nothing is settled or cleaned up, and that is not a
 * violation. */
static bool has_worker(const struct inspect *l, const char *lane, int64_t since)
{
    for (size_t i = 0; i < l->host.workers.n; i++) {
        const struct host_worker *w = &l->host.workers.at[i];
        const struct worker_row *row = worker_find(&l->rows, w->id);

        if (w->alive && !w->foreground && w->age > since && row &&
            (!lane || worker_serves(&row->worker, lane, NULL)))
            return true;
    }
    return false;
}

static const struct host_worker *file_of(const struct inspect *l, int64_t worker)
{
    for (size_t i = 0; i < l->host.workers.n; i++)
        if (l->host.workers.at[i].id == worker)
            return &l->host.workers.at[i];
    return NULL;
}

static bool is_alive(const struct inspect *l, int64_t worker)
{
    const struct host_worker *w = file_of(l, worker);

    return w && w->alive;
}

/* Whether the file of this worker is still needed to find its leases or its foreground run. */
static int is_needed(const struct inspect *l, const struct host_worker *w, bool *needed,
                     struct err *err)
{
    AUTO(execution_list_release) struct execution_list leases = {0}, run = {0};
    int rc;

    TRY(query_leases(l->store, w->id, 0, 1, &leases, err));
    *needed = leases.n;
    if (*needed || !w->foreground)
        return 0;
    rc = query_execution(l->store, w->foreground, &run, err);
    *needed = !rc && !status_is_terminal(run.at[0].status);
    return rc == -E_NOT_FOUND ? 0 : rc;
}

static int check_workers(struct inspect *l, struct err *err)
{
    for (size_t i = 0; i < l->host.workers.n; i++) {
        const struct host_worker *w = &l->host.workers.at[i];
        bool needed;

        if (w->alive && w->age > WORKER_ROW_TAKES && !worker_find(&l->rows, w->id))
            add(l, H07, 0, w->id, "worker %016llx is alive, but has no row",
                (unsigned long long)w->id);
        if (w->alive || !has_worker(l, NULL, CLEANUP_TAKES) || w->age < CLEANUP_TAKES)
            continue;
        TRY(is_needed(l, w, &needed, err));
        if (!needed)
            add(l, H05, 0, w->id,
                "worker %016llx is gone and left nothing, but its file still exists",
                (unsigned long long)w->id);
    }
    return 0;
}

/* ---- leases ---- */

static int read_leases(struct inspect *l, struct err *err)
{
    int64_t after = 0;
    size_t n = LEASES_PAGE;

    while (n == LEASES_PAGE) {
        AUTO(execution_list_release) struct execution_list list = {0};

        TRY(query_leases(l->store, 0, after, LEASES_PAGE, &list, err));
        n = list.n;
        for (size_t i = 0; i < list.n; i++) {
            const struct execution *x = &list.at[i];

            if (x->worker && x->folder && !strcmp(x->folder, l->id))
                *vec_add(&l->leases) = (struct leased){x->id, x->worker};
            after = x->id;
        }
    }
    return 0;
}

static void check_leases(struct inspect *l)
{
    for (size_t i = 0; i < l->leases.n; i++)
        if (!file_of(l, l->leases.at[i].worker))
            add(l, H06, l->leases.at[i].execution, l->leases.at[i].worker,
                "it is leased to worker %016llx, which has no file in this state folder",
                (unsigned long long)l->leases.at[i].worker);
}

/* ---- attempts ---- */

/* Checks an attempt on the host against its execution `x`, NULL if the execution does not exist. */
static void check_attempt(struct inspect *l, const struct host_attempt *a,
                          const struct execution *x)
{
    bool made = x && a->attempt <= x->attempts;
    bool runs = made && x->status == S_RUNNING && x->attempts == a->attempt;
    bool ours = runs && x->folder && !strcmp(x->folder, l->id);
    const char *is = !x              ? "not in the database"
                     : runs && !ours ? "leased in another state folder"
                     : made && !runs ? status_text(x->status)
                                     : "at an earlier attempt";

    if (a->folder && !made)
        add(l, H01, a->execution, a->attempt, "attempt %d has a folder, but the execution is %s",
            a->attempt, is);
    if (a->shim && !ours)
        add(l, H02, a->execution, a->attempt, "a shim runs attempt %d, but the execution is %s",
            a->attempt, is);
    else if (!ours && a->process)
        add(l, H03, a->execution, a->attempt,
            "process %d, which attempt %d started, is still alive, but the execution is %s",
            (int)a->process, a->attempt, is);
    else if (!ours && a->tree)
        add(l, H03, a->execution, a->attempt,
            "a process that attempt %d started is still alive, but the execution is %s", a->attempt,
            is);
    if (!a->shim && ours && a->ended_ago > l->o->grace &&
        (is_alive(l, x->worker) || has_worker(l, x->lane, l->o->grace)))
        add(l, H04, a->execution, a->attempt,
            "attempt %d ended %lld s ago, but the execution is still running", a->attempt,
            (long long)(a->ended_ago / 1000000));
    if (a->folder && !a->shim && !a->tree && made && status_is_terminal(x->status) &&
        l->rows.now - x->finished_at > CLEANUP_TAKES && has_worker(l, x->lane, CLEANUP_TAKES))
        add(l, H05, a->execution, a->attempt,
            "attempt %d still has its folder, but the execution is %s", a->attempt, is);
}

static int check_attempts(struct inspect *l, struct err *err)
{
    for (size_t i = 0; i < l->host.attempts.n; i++) {
        const struct host_attempt *a = &l->host.attempts.at[i];
        AUTO(execution_list_release) struct execution_list list = {0};
        int rc;

        if (a->old) {
            if ((a->shim || a->tree) && has_worker(l, NULL, l->o->grace))
                add(l, H08, a->execution, a->attempt,
                    "attempt %d of an earlier generation of the database is still running",
                    a->attempt);
            continue;
        }
        rc = query_execution(l->store, a->execution, &list, err);
        if (rc && rc != -E_NOT_FOUND)
            return rc;
        check_attempt(l, a, rc ? NULL : &list.at[0]);
    }
    return 0;
}

/* ---- verify ---- */

static void inspect_release(struct inspect *l)
{
    vec_release(&l->leases);
    host_release(&l->host);
    worker_list_release(&l->rows);
}

static int inspect(const struct inspect *like, struct findings *found, struct host_result *seen,
                   struct err *err)
{
    AUTO(inspect_release) struct inspect l = *like;

    l.found = found;
    TRY(read_leases(&l, err));
    TRY(host_inspect(l.dir, &l.host, err));
    TRY(query_workers(l.store, &l.rows, err));
    TRY(check_attempts(&l, err));
    TRY(check_workers(&l, err));
    check_leases(&l);
    seen->attempts = (int64_t)l.host.attempts.n;
    seen->workers = (int64_t)l.host.workers.n;
    return 0;
}

/* Reports the findings that both inspections made, by invariant. */
static void report(const struct findings *before, const struct findings *now,
                   const struct host_options *o, struct host_result *out)
{
    size_t code, i, reported;

    for (code = 0; code < host_invariant_count; code++)
        for (i = reported = 0; i < now->n && reported < MAX_PER_CHECK; i++) {
            const struct finding *f = &now->at[i];
            struct violation b = {host_invariants[code].code, f->execution, f->detail};

            if (f->code != code || !find(before, f))
                continue;
            reported++;
            out->violations++;
            if (o->report)
                o->report(o->arg, &b);
        }
}

int host_verify(struct store *s, const struct host_options *o, struct host_result *out,
                struct err *err)
{
    struct inspect l = {.store = s, .o = o};
    AUTO_FREE struct findings first = {0};
    AUTO_FREE struct findings second = {0};
    char database[STORE_ID_SIZE];
    AUTO_FREE char *dir = NULL;
    struct host_result result = {.checks = host_invariant_count};
    int64_t generation;

    TRY(store_identity(s, database, &generation, err));
    TRY(state_folder_name(o->state, false, l.id, err));
    l.dir = dir = state_folder_path(o->state, database, generation);
    TRY(inspect(&l, &first, &result, err));
    if (first.n) {
        clock_sleep_us(INSPECT_AGAIN_US);
        TRY(inspect(&l, &second, &result, err));
    }
    report(&first, &second, o, &result);
    *out = result;
    return 0;
}
