/* watch.c - the thread of a watch: reads new events when they are committed, answers the requests
 * whose execution has ended, and wakes streams. */
#include "base/env.h"
#include "base/fd.h"
#include "base/thread.h"
#include "server/watch_internal.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define FLUSH_US  250000LL   /* µs; a stream gets at most four messages a second for each topic */
#define TICK_US   15000000LL /* µs between two comment lines of a stream, and checks of tokens */
#define RETRY_US  2000000LL  /* µs until the next try after the database could not be used */
#define LINGER_US 10000000LL /* µs after the last client, which may be about to connect again */

/* PostgreSQL announces submissions and ends, but not each event, because that would cost a NOTIFY
 * for each transaction. So for this many µs after an announcement, the watch reads events
 * periodically. */
#define ACTIVE_US 10000000LL
#define LOOK_US   300000LL   /* µs between two reads during that time */
#define IDLE_US   10000000LL /* µs between two reads later */

struct watches {
    pthread_mutex_t mutex;
    struct watch *first;
    bool stopping;
};

/* The state that only the thread of a watch accesses. */
struct watcher {
    struct watch *w;
    struct pawl *p;
    struct pawl_listener *listener;
    struct pawl_follower *follower;
    struct request *waiting;
    bool stopping;
    bool fresh;           /* events have come since the last flush */
    bool positioned;      /* the follower continues from a position that the streams know */
    bool looks;           /* the database does not announce each event, so the watch must read
                             periodically */
    int64_t active_until; /* until then, events are read more often */
    int64_t flushed_at, ticked_at, retry_at;
    int64_t used_at; /* when somebody was last seen to wait for events */
};

void watch_wake(struct watch *w)
{
    uint64_t one = 1;

    (void)!write(w->wake, &one, sizeof(one));
}

/* ---- requests that wait ---- */

static void finish(struct request *r)
{
    r->waits_for = 0;
    request_done(r);
}

static bool is_ended(const char *status)
{
    static const char *const ended[] = {"succeeded", "failed",  "timed_out",
                                        "cancelled", "skipped", NULL};

    for (const char *const *e = ended; *e; e++)
        if (!strcmp(status, *e))
            return true;
    return false;
}

/* Answers with the execution as it is now. */
static void answer_execution(struct watcher *t, struct request *r)
{
    struct pawl_error err = {0};
    char *json;

    if (!t->p)
        answer_problem(r, 503, "unavailable", "the database can't be used now");
    else if (pawl_show(t->p, r->waits_for, &json, &err))
        answer_error(r, &err);
    else {
        answer_json(r, 200, json);
        free(json);
    }
    finish(r);
}

static bool has_ended(struct watcher *t, int64_t execution)
{
    const char *status;
    int rc = t->p ? pawl_status(t->p, execution, &status, NULL) : 0;

    return t->p && (rc == -PAWL_E_NOT_FOUND || (!rc && is_ended(status)));
}

static bool is_late(const struct watcher *t, const struct request *r)
{
    return clock_boot_us() >= r->deadline || t->stopping;
}

/* Answers the requests that wait for this execution (ANY: for any execution) if it has ended, and
 * the requests whose deadline has passed. */
#define ANY  0
#define NONE (-1)
static void answer_waiting(struct watcher *t, int64_t execution)
{
    for (struct request **at = &t->waiting; *at;) {
        struct request *r = *at;
        bool asked = execution == ANY || r->waits_for == execution;

        if (!is_late(t, r) && !(asked && has_ended(t, r->waits_for))) {
            at = &r->next;
            continue;
        }
        *at = r->next;
        answer_execution(t, r);
    }
}

/* Takes over the requests that other threads have added. Their execution may have ended before this
 * watch saw an event. */
static void take_added(struct watcher *t)
{
    struct request *r, *next;

    pthread_mutex_lock(&t->w->mutex);
    r = t->w->added;
    t->w->added = NULL;
    pthread_mutex_unlock(&t->w->mutex);
    for (; r; r = next) {
        next = r->next;
        if (is_late(t, r) || has_ended(t, r->waits_for)) {
            answer_execution(t, r);
        } else {
            r->next = t->waiting;
            t->waiting = r;
        }
    }
}

void watch_execution(struct request *r)
{
    struct watch *w = watch_of(r->server, r->tenant);
    bool added = false;

    if (w) {
        pthread_mutex_lock(&w->mutex);
        if ((added = !w->stopping)) {
            r->next = w->added;
            w->added = r;
        }
        pthread_mutex_unlock(&w->mutex);
        watch_wake(w);
    }
    if (!added) {
        answer_problem(r, 503, "unavailable", "the server is stopping");
        finish(r);
    }
}

/* Whether the client has closed its connection. Nothing else notices that: libmicrohttpd does not
 * watch a connection that is suspended. */
static bool is_gone(const struct request *r)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(r->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct pollfd fd = {.fd = info ? info->connect_fd : -1, .events = POLLRDHUP};

    return poll(&fd, 1, 0) > 0;
}

static void answer_gone(struct watcher *t)
{
    for (struct request **at = &t->waiting; *at;) {
        struct request *r = *at;

        if (!is_gone(r)) {
            at = &r->next;
            continue;
        }
        *at = r->next;
        answer_execution(t, r);
    }
}

/* ---- events ---- */

static void add_event(struct watch *w, const char *json, const json_t *o)
{
    struct watched_event *e;

    pthread_mutex_lock(&w->mutex);
    e = &w->ring[w->written++ % RING];
    free(e->json);
    e->json = mem_strdup(json);
    e->sequence = json_integer_value(json_object_get(o, "sequence_num"));
    e->execution = json_integer_value(json_object_get(o, "execution"));
    e->root = json_integer_value(json_object_get(o, "root"));
    pthread_mutex_unlock(&w->mutex);
}

static int on_event(void *arg, const char *json)
{
    struct watcher *t = arg;
    json_auto_t *o = json_loads(json, 0, NULL);
    const char *to = json_string_value(json_object_get(o, "to"));

    add_event(t->w, json, o);
    t->fresh = true;
    if (to && is_ended(to))
        answer_waiting(t, json_integer_value(json_object_get(o, "execution")));
    return 0;
}

/* ---- the database ---- */

static void close_database(struct watcher *t)
{
    pawl_follower_close(t->follower);
    pawl_listener_close(t->listener);
    pawl_close(t->p);
    t->follower = NULL;
    t->listener = NULL;
    t->p = NULL;
}

static void open_database(struct watcher *t)
{
    struct pawl_event_query all = {0};
    struct pawl_error err = {0};

    t->positioned = false;
    if (server_open(t->w->server, t->w->tenant, false, &t->p, &err) ||
        pawl_listen(t->p, PAWL_WAKE_EVENTS | PAWL_WAKE_ENDS, &t->listener, &err) ||
        pawl_follow(t->p, &all, &t->follower, &err)) {
        close_database(t);
        t->retry_at = clock_boot_us() + RETRY_US;
        return;
    }
    t->looks = !pawl_listener_is_complete(t->listener);
    t->active_until = clock_boot_us() + ACTIVE_US;
}

/* Events may have been missed since the last connection: streams are told to load everything again.
 * That is done when the follower is complete, because a transaction that was writing before may
 * still commit events with earlier numbers, which the follower will not return. */
static void begin_following(struct watcher *t)
{
    pthread_mutex_lock(&t->w->mutex);
    t->w->generation++;
    t->w->resting = false;
    t->w->start = t->w->written;
    pthread_mutex_unlock(&t->w->mutex);
    t->positioned = t->fresh = true;
    answer_waiting(t, ANY);
}

static void read_events(struct watcher *t)
{
    bool active = pawl_listener_drain(t->listener) != 0;
    struct pawl_error err = {0};
    size_t n = 1;
    int rc = 0;

    while (!rc && n) {
        rc = pawl_follower_next(t->follower, on_event, t, &n, &err);
        active |= !rc && n;
    }
    if (!rc && !t->positioned && pawl_follower_is_complete(t->follower))
        begin_following(t);
    if (active)
        t->active_until = clock_boot_us() + ACTIVE_US;
    if (rc) {
        close_database(t);
        t->retry_at = clock_boot_us() + RETRY_US;
    }
}

/* ---- the loop ---- */

static int64_t earliest(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Whether a request or a stream waits for events. */
static bool has_clients(struct watcher *t)
{
    bool streams;

    pthread_mutex_lock(&t->w->mutex);
    streams = t->w->streams != NULL;
    pthread_mutex_unlock(&t->w->mutex);
    return streams || t->waiting;
}

/* Opens the database if somebody waits for events. */
static void open_if_used(struct watcher *t)
{
    if (t->p || !has_clients(t) || clock_boot_us() < t->retry_at)
        return;
    open_database(t);
    if (t->p)
        read_events(t); /* sets the position, which streams wait for */
}

/* Gives connections and memory back when nobody has waited for a while. */
static void close_unused(struct watcher *t)
{
    int64_t now = clock_boot_us();

    if (has_clients(t))
        t->used_at = now;
    if (!t->p || now - t->used_at < LINGER_US)
        return;
    close_database(t);
    pthread_mutex_lock(&t->w->mutex);
    t->w->resting = true;
    t->w->start = t->w->written;
    for (size_t i = 0; !t->w->streams && i < RING; i++) {
        free(t->w->ring[i].json);
        t->w->ring[i].json = NULL;
    }
    pthread_mutex_unlock(&t->w->mutex);
}

/* When to read events although none was announced. */
static int64_t next_look(struct watcher *t, int64_t now)
{
    int64_t poll = now + pawl_listener_poll_ms(t->listener) * 1000LL;

    if (!t->positioned)
        return earliest(poll, now + LOOK_US);
    if (!t->looks || !has_clients(t))
        return poll;
    return earliest(poll, now + (now < t->active_until ? LOOK_US : IDLE_US));
}

static int wait_ms(struct watcher *t, int64_t now)
{
    int64_t until = t->ticked_at + TICK_US;

    if (t->p)
        until = earliest(until, next_look(t, now));
    else if (has_clients(t))
        until = earliest(until, t->retry_at);
    if (t->fresh)
        until = earliest(until, t->flushed_at + FLUSH_US);
    for (const struct request *r = t->waiting; r; r = r->next)
        until = earliest(until, r->deadline);
    return until <= now ? 0 : (int)((until - now) / 1000 + 1);
}

static void flush(struct watcher *t)
{
    int64_t now = clock_boot_us();
    bool tick = now - t->ticked_at >= TICK_US;
    bool news = t->fresh && now - t->flushed_at >= FLUSH_US;

    if (!tick && !news)
        return;
    pthread_mutex_lock(&t->w->mutex);
    streams_wake(t->w, news, tick);
    pthread_mutex_unlock(&t->w->mutex);
    if (news) {
        t->flushed_at = now;
        t->fresh = false;
    }
    if (tick) {
        t->ticked_at = now;
        answer_gone(t);
        if (t->p)
            watch_end_revoked(t->w, t->p, &t->waiting);
    }
}

static void drain_eventfd(int fd)
{
    uint64_t n;

    (void)!read(fd, &n, sizeof(n));
}

static void *follow(void *arg)
{
    struct watcher t = {.w = arg, .ticked_at = clock_boot_us()};

    while (!t.stopping) {
        struct pollfd fds[] = {{.fd = t.w->wake, .events = POLLIN}, {.fd = -1, .events = POLLIN}};

        take_added(&t);
        open_if_used(&t);
        fds[1].fd = t.listener ? pawl_listener_fd(t.listener) : -1;
        poll(fds, 2, wait_ms(&t, clock_boot_us()));
        if (fds[0].revents)
            drain_eventfd(t.w->wake);
        if (t.p)
            read_events(&t);
        answer_waiting(&t, NONE);
        flush(&t);
        close_unused(&t);
        pthread_mutex_lock(&t.w->mutex);
        t.stopping = t.w->stopping;
        pthread_mutex_unlock(&t.w->mutex);
    }
    take_added(&t);
    answer_waiting(&t, ANY);
    close_database(&t);
    return NULL;
}

/* ---- all watches ---- */

static struct watch *start_watch(struct server *s, const char *tenant)
{
    struct watch *w = mem_zalloc(sizeof(*w));

    w->server = s;
    snprintf(w->tenant, sizeof(w->tenant), "%s", tenant);
    w->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutex_init(&w->mutex, NULL);
    if (w->wake >= 0 && !thread_start(&w->thread, follow, w))
        return w;
    fd_close(&w->wake);
    pthread_mutex_destroy(&w->mutex);
    free(w);
    return NULL;
}

struct watch *watch_of(struct server *s, const char *tenant)
{
    struct watches *all = s->watches;
    struct watch *w;

    pthread_mutex_lock(&all->mutex);
    for (w = all->first; w && strcmp(w->tenant, tenant); w = w->next)
        ;
    if (!w && !all->stopping && (w = start_watch(s, tenant))) {
        w->next = all->first;
        all->first = w;
    }
    if (all->stopping)
        w = NULL;
    pthread_mutex_unlock(&all->mutex);
    return w;
}

int watches_start(struct server *s, struct err *err)
{
    (void)err;
    s->watches = mem_zalloc(sizeof(*s->watches));
    pthread_mutex_init(&s->watches->mutex, NULL);
    return 0;
}

static void stop_watch(struct watch *w)
{
    pthread_mutex_lock(&w->mutex);
    w->stopping = true;
    streams_end(w);
    pthread_mutex_unlock(&w->mutex);
    watch_wake(w);
    pthread_join(w->thread, NULL);
}

void watches_stop(struct server *s)
{
    struct watches *all = s->watches;

    pthread_mutex_lock(&all->mutex);
    all->stopping = true;
    pthread_mutex_unlock(&all->mutex);
    for (struct watch *w = all->first; w; w = w->next)
        stop_watch(w);
}

void watches_free(struct server *s)
{
    struct watch *w, *next;

    for (w = s->watches->first; w; w = next) {
        next = w->next;
        for (size_t i = 0; i < RING; i++)
            free(w->ring[i].json);
        fd_close(&w->wake);
        pthread_mutex_destroy(&w->mutex);
        free(w);
    }
    pthread_mutex_destroy(&s->watches->mutex);
    free(s->watches);
    s->watches = NULL;
}
