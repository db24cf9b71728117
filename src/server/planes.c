/* planes.c - the threads that carry out requests. Each plane has its own queue and threads, and
 * each thread its own database handles, one for each tenant that it served recently.
 *
 * Threads for reading run with a lower priority, the requests of one token never use all of these
 * threads, and each token has a budget of reading time (read_budget.c), so that a client that
 * requests large pages in a loop slows only itself. */
#include "base/env.h"
#include "base/thread.h"
#include "server/read_budget.h"
#include "server/server.h"
#include "server/watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define QUEUE_MAX     4096             /* at most this many requests wait in one plane */
#define QUEUE_US      (10 * 1000000LL) /* µs; a request that has waited longer is refused */
#define BATCH_MAX     512              /* requests in one transaction, at most */
#define HANDLES       8 /* open database handles of a thread, one per tenant, at most */
#define IDLE_US       (60 * 1000000LL)
#define READ_NICENESS 10
#define THREADS_MAX   4
#define ASKER_SIZE    300

static const struct {
    int threads;
    size_t batch;
} shape[PLANES] = {[PLANE_READ] = {4, 1},
                   [PLANE_SUBMIT] = {1, BATCH_MAX},
                   [PLANE_CONTROL] = {2, 1},
                   [PLANE_HOOK] = {1, 1}};

struct handle {
    struct pawl *p;
    char tenant[TENANT_SIZE];
    int64_t used_at;
};

struct plane_thread {
    struct plane_state *plane;
    pthread_t thread;
    bool busy;              /* protected by the plane's mutex, as the next two are */
    bool slow;              /* so is the endpoint of the request that this thread carries out */
    char asker[ASKER_SIZE]; /* of that request */
    struct handle handles[HANDLES];
};

struct plane_state {
    struct server *server;
    enum plane which;
    pthread_mutex_t mutex;
    pthread_cond_t added;
    struct request *first, **end;
    size_t n;
    bool stopping;
    struct read_budgets budgets; /* used by PLANE_READ only */
    struct plane_thread threads[THREADS_MAX];
};

struct planes {
    struct plane_state at[PLANES];
};

/* ---- handles ---- */

static void close_handle(struct handle *h)
{
    pawl_close(h->p);
    *h = (struct handle){0};
}

static void close_idle_handles(struct plane_thread *t)
{
    int64_t now = clock_boot_us();

    for (size_t i = 0; i < HANDLES; i++)
        if (t->handles[i].p && now - t->handles[i].used_at > IDLE_US)
            close_handle(&t->handles[i]);
}

static struct handle *oldest_handle(struct plane_thread *t)
{
    struct handle *oldest = &t->handles[0];

    for (size_t i = 1; i < HANDLES; i++)
        if (t->handles[i].used_at < oldest->used_at)
            oldest = &t->handles[i];
    return oldest;
}

static int find_handle(struct plane_thread *t, const char *tenant, struct handle **out,
                       struct pawl_error *err)
{
    struct handle *h = NULL;
    int rc;

    for (size_t i = 0; i < HANDLES && !h; i++)
        if (t->handles[i].p && !strcmp(t->handles[i].tenant, tenant))
            h = &t->handles[i];
    if (!h) {
        h = oldest_handle(t);
        close_handle(h);
        if ((rc = server_open(t->plane->server, tenant, t->plane->which != PLANE_READ, &h->p, err)))
            return rc;
        snprintf(h->tenant, sizeof(h->tenant), "%s", tenant);
    }
    h->used_at = clock_boot_us();
    *out = h;
    return 0;
}

/* ---- work ---- */

/* Returns whether the request was carried out; not if the database can't be used. */
static bool run_one(struct request *r, struct pawl *p)
{
    bool done;

    r->p = p;
    if (guard_check(r))
        r->endpoint->run(r);
    if (r->waits_for && !r->answered) {
        watch_execution(r);
        return true;
    }
    answer_count(r);
    done = r->status != 503;
    request_done(r);
    return done;
}

static void refuse(struct request *r)
{
    bool stopping = __atomic_load_n(&r->server->stopping, __ATOMIC_ACQUIRE);

    answer_problem(r, 503, "unavailable", "%s",
                   stopping ? "the server is stopping"
                            : "the server has too many requests to work on: try again later");
    request_done(r);
}

/* Refuses the requests that waited too long, so that clients get an answer in time even while each
 * request takes long because the database can't be reached. Returns the remaining requests. */
static struct request *refuse_late(struct request *first)
{
    struct request *r, *next, *rest = NULL, **end = &rest;
    int64_t now = clock_boot_us();

    for (r = first; r; r = next) {
        next = r->next;
        if (now - r->queued_at > QUEUE_US) {
            refuse(r);
            continue;
        }
        r->next = NULL;
        *end = r;
        end = &r->next;
    }
    return rest;
}

/* Answers a request for whose tenant there is no handle. */
static void answer_no_handle(struct request *r, int rc, struct pawl_error *err)
{
    const char *own = r->server->options.tenant;
    bool is_own = !*r->tenant || (own && !strcmp(own, r->tenant));

    /* The server's own tenant was there when it started: the file was moved, or the schema dropped.
     */
    if (rc == -PAWL_E_NOT_FOUND && is_own)
        err->code = PAWL_E_UNAVAILABLE;
    /* Without a valid token or signature, a client can't find out which other tenants exist. */
    if ((rc != -PAWL_E_NOT_FOUND && rc != -PAWL_E_INVALID) || is_own)
        answer_error(r, err);
    else if (r->token)
        guard_refuse_token(r);
    else
        answer_problem(r, 401, "unauthorized", "the signature is not valid");
    request_done(r);
}

/* Returns whether any of the requests was carried out. */
static bool run_batch(struct plane_thread *t, struct request *first)
{
    struct request *list[BATCH_MAX], *next;
    struct pawl_error err = {0};
    struct handle *h = NULL;
    bool done = false;
    size_t n = 0;
    int rc = find_handle(t, first->tenant, &h, &err);

    for (; first; first = next) {
        next = first->next;
        if (!rc) {
            list[n++] = first;
            continue;
        }
        answer_no_handle(first, rc, &err);
    }
    if (n && list[0]->endpoint->batched)
        submit_batch(h->p, list, n);
    else
        for (size_t i = 0; i < n; i++)
            done |= run_one(list[i], h->p);
    return done;
}

/* Who shares threads and a budget with the request: those with the same token or, if none is
 * needed, the same name. "" for requests of anybody. */
static const char *asker_of(const struct request *r)
{
    return r->token ? r->token : r->by ? r->by : "";
}

static bool goes_with(const struct request *r, const struct request *first)
{
    return r->endpoint == first->endpoint && !strcmp(r->tenant, first->tenant);
}

/* Whether all threads but one already carry out requests of the same asker or, if the request is
 * slow, slow ones. */
static bool share_is_used(const struct plane_state *q, const struct request *r)
{
    int threads = shape[q->which].threads, same = 0, slow = 0;

    for (int i = 0; i < threads; i++) {
        const struct plane_thread *t = &q->threads[i];

        same += t->busy && !strncmp(t->asker, asker_of(r), ASKER_SIZE - 1);
        slow += t->busy && t->slow;
    }
    return (threads > 2 && same >= threads - 1) || (r->endpoint->slow && slow >= threads - 1);
}

/* How long the request has to wait for its asker's budget, or for a thread that it may use, in µs.
 * At the end of this time its plane looks again; a thread that becomes free looks at once. A
 * request that has waited too long need not wait to be refused. While the server stops, nothing
 * waits. */
static int64_t time_to_wait(struct plane_state *q, const struct request *r, int64_t now)
{
    int64_t patience = r->queued_at + QUEUE_US - now, wait = 0;

    if (q->stopping || patience < 0)
        return 0;
    if (q->which == PLANE_READ)
        wait = read_budget_wait(&q->budgets, asker_of(r), now);
    if (share_is_used(q, r))
        wait = IDLE_US / 2;
    return wait <= patience ? wait : patience + 1;
}

/* Takes the next request and, up to the plane's batch size, further ones of the same endpoint and
 * tenant. If it returns NULL, a request may be taken after *wait µs, or as soon as one is added or
 * done. */
static struct request *take(struct plane_state *q, int64_t *wait)
{
    struct request **at = &q->first, *taken = NULL, **end = &taken;
    int64_t now = clock_boot_us();
    size_t n = 0;

    *wait = IDLE_US / 2;

    while (*at && n < shape[q->which].batch) {
        struct request *r = *at;
        int64_t until = time_to_wait(q, r, now);

        if (until && until < *wait)
            *wait = until;
        if (until || (taken && !goes_with(r, taken))) {
            at = &r->next;
            continue;
        }
        *at = r->next;
        r->next = NULL;
        *end = r;
        end = &r->next;
        n++;
    }
    q->n -= n;
    for (q->end = &q->first; *q->end;)
        q->end = &(*q->end)->next;
    return taken;
}

static void *work(void *arg)
{
    struct plane_thread *t = arg;
    struct plane_state *q = t->plane;

    if (q->which == PLANE_READ)
        (void)setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), READ_NICENESS);
    pthread_mutex_lock(&q->mutex);
    for (;;) {
        int64_t wait, start;
        bool done;
        struct request *r = take(q, &wait);

        if (!r && q->stopping)
            break;
        if (!r) {
            struct timespec until = thread_time_in(wait);

            if (pthread_cond_timedwait(&q->added, &q->mutex, &until) && wait == IDLE_US / 2) {
                pthread_mutex_unlock(&q->mutex);
                close_idle_handles(t);
                pthread_mutex_lock(&q->mutex);
            }
            continue;
        }
        if (q->first) /* another idle thread may sleep longer than these requests must wait */
            pthread_cond_signal(&q->added);
        t->busy = true;
        t->slow = r->endpoint->slow;
        snprintf(t->asker, sizeof(t->asker), "%s", asker_of(r));
        pthread_mutex_unlock(&q->mutex);
        start = clock_boot_us();
        done = (r = refuse_late(r)) && run_batch(t, r);
        pthread_mutex_lock(&q->mutex);
        t->busy = false;
        if (q->which == PLANE_READ && done)
            read_budget_charge(&q->budgets, t->asker, start, clock_boot_us());
    }
    pthread_mutex_unlock(&q->mutex);
    for (size_t i = 0; i < HANDLES; i++)
        close_handle(&t->handles[i]);
    return NULL;
}

void planes_add(struct request *r)
{
    struct plane_state *q = &r->server->planes->at[r->endpoint->plane];
    bool full;

    r->next = NULL;
    r->queued_at = clock_boot_us();
    pthread_mutex_lock(&q->mutex);
    full = q->n >= QUEUE_MAX || q->stopping;
    if (!full) {
        *q->end = r;
        q->end = &r->next;
        q->n++;
        pthread_cond_signal(&q->added);
    }
    pthread_mutex_unlock(&q->mutex);
    if (full)
        refuse(r);
}

/* ---- start and stop ---- */

static int start_plane(struct server *s, enum plane which, struct err *err)
{
    struct plane_state *q = &s->planes->at[which];

    q->server = s;
    q->which = which;
    q->end = &q->first;
    pthread_mutex_init(&q->mutex, NULL);
    thread_cond_init(&q->added);
    for (int i = 0; i < shape[which].threads; i++) {
        int rc;

        q->threads[i].plane = q;
        if ((rc = thread_start(&q->threads[i].thread, work, &q->threads[i])))
            return err_set(err, E_REFUSED, "a thread can't be started: %s", strerror(rc));
    }
    return 0;
}

int planes_start(struct server *s, struct err *err)
{
    s->planes = mem_zalloc(sizeof(*s->planes));
    for (enum plane p = PLANE_READ; p < PLANES; p++)
        TRY(start_plane(s, p, err));
    return 0;
}

static void stop_plane(struct plane_state *q)
{
    pthread_mutex_lock(&q->mutex);
    q->stopping = true;
    pthread_cond_broadcast(&q->added);
    pthread_mutex_unlock(&q->mutex);
    for (int i = 0; i < shape[q->which].threads; i++)
        pthread_join(q->threads[i].thread, NULL);
}

void planes_stop(struct server *s)
{
    for (enum plane p = PLANE_READ; p < PLANES; p++)
        stop_plane(&s->planes->at[p]);
}

void planes_free(struct server *s)
{
    for (enum plane p = PLANE_READ; p < PLANES; p++) {
        pthread_cond_destroy(&s->planes->at[p].added);
        pthread_mutex_destroy(&s->planes->at[p].mutex);
    }
    free(s->planes);
    s->planes = NULL;
}
