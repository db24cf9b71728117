/* notify.c - sends NOTIFY after a commit. At commit, a transaction with a NOTIFY takes a lock for
 * which all notifying commits of the server compete: a NOTIFY inside each turn lowered the rate
 * from 11,550 to 532 transactions per second. A NOTIFY after the commit on the same connection
 * would make the next turn wait for that lock. So a thread with its own connection sends each
 * NOTIFY: no caller waits for it, and wake-ups that are requested while one NOTIFY is in progress
 * are merged into the next one. An engine needs no such thread: its heartbeat thread calls
 * pg_notify() below on its own connection. A program that makes few transactions
 * (env.one_connection) has no such thread either: it defers wake-ups until its next transaction
 * begins or its connection is closed. */
#include "store/driver/postgres/pg_db.h"

#include "store/driver/postgres/pg_errors.h"
#include "store/driver/wake_queue.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define LOCK_LIMIT   (2 * SECOND)
/* µs that a server may be silent, beyond LOCK_LIMIT. */
#define SILENCE      (1 * SECOND)
/* µs: the longest time for one NOTIFY, and so for closing the waker. */
#define NOTIFY_LIMIT (LOCK_LIMIT + SILENCE)
#define RETRY_SECS   1

struct pg_waker {
    struct db_url *url;
    PGconn *conn; /* used only by the waker's thread */
    pthread_t thread;

    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct wake_queue pending;
    bool closing;
};

/* Sends NOTIFY statements for the bits. Ends of executions are sent on a channel of their own, so
 * that they wake only listeners that wait for them. The lock that all notifying commits take is
 * taken at the commit; lock_timeout limits the wait for it. */
static int run_notify(PGconn *conn, const struct db_url *url, unsigned bits, int64_t lock_us,
                      struct err *err)
{
    static const char sql[] =
        "SELECT pg_catalog.pg_notify($1, $2) WHERE $2 <> '0' UNION ALL "
        "SELECT pg_catalog.pg_notify($1 || '" PG_ENDS_CHANNEL "', $3) WHERE $3 <> '0' UNION ALL "
        "SELECT NULL WHERE pg_catalog.set_config('lock_timeout', $4, true) IS NULL";
    char payload[12], ends[12], lock_ms[24];
    const char *const values[] = {url->schema, payload, ends, lock_ms};
    PGresult *res = NULL;

    snprintf(payload, sizeof(payload), "%u", bits & ~(unsigned)WAKE_ENDS);
    snprintf(ends, sizeof(ends), "%u", bits & WAKE_ENDS);
    /* One is added because 0 would mean no limit. */
    snprintf(lock_ms, sizeof(lock_ms), "%lldms", (long long)lock_us / 1000 + 1);
    if (!pq.sendQueryParams(conn, sql, 4, NULL, values, NULL, NULL, 0))
        return pg_set_lost_error(conn, err);
    TRY(pg_finish_statement(conn, lock_us + SILENCE, "NOTIFY", url->safe, &res, err));
    pq.clear(res);
    return 0;
}

int pg_notify(struct db *db, unsigned what, int64_t lock_us, struct err *err)
{
    struct pg_db *p = pg_from_db(db);
    int rc;

    if (p->conn && !pg_is_alive(p->conn))
        pg_drop_connection(p);
    if (!p->conn)
        return err_set(err, E_CONN_LOST, "the connection to %s was lost", p->url->safe);
    rc = pq.exitPipelineMode(p->conn) ? run_notify(p->conn, p->url, what, lock_us, err)
                                      : pg_set_lost_error(p->conn, err);
    pg_resume_pipeline(p, rc);
    return rc;
}

void pg_send_deferred(struct pg_db *p)
{
    struct err ignored = ERR_INIT; /* a lost wake-up does no harm: listeners also poll */

    if (!p->deferred || clock_boot_us() < p->deferred_until)
        return;
    if (pg_notify(&p->db, p->deferred, LOCK_LIMIT, &ignored))
        p->deferred_until = clock_boot_us() + RETRY_SECS * SECOND;
    else
        p->deferred = 0;
}

/* ---- the thread ---- */

static bool send_notify(struct pg_waker *w, unsigned bits)
{
    struct pg_session session;
    struct err err = ERR_INIT;

    if (w->conn && !pg_is_alive(w->conn))
        pg_close(&w->conn);
    if (!w->conn && pg_connect(w->url, NOTIFY_LIMIT, &w->conn, &session, &err))
        return false;
    if (run_notify(w->conn, w->url, bits, LOCK_LIMIT, &err)) {
        pg_close(&w->conn);
        return false;
    }
    return true;
}

/* Sleeps until the waker changes, or for `us`. Called with the lock held. Returns whether the time
 * has passed. */
static bool sleep_for(struct pg_waker *w, int64_t us)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)(us / SECOND);
    until.tv_nsec += (long)(us % SECOND) * 1000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    return pthread_cond_timedwait(&w->changed, &w->lock, &until) != 0;
}

/* Sleeps before the next attempt to send; wakes up early if the waker is being closed. Called with
 * the lock held. */
static void back_off(struct pg_waker *w)
{
    while (!w->closing && !sleep_for(w, RETRY_SECS * SECOND))
        ;
}

/* Sleeps until there are bits that may be sent; takes and returns them. Returns 0 if the thread
 * must end. Called with the lock held. */
static unsigned wait_for_bits(struct pg_waker *w)
{
    for (;;) {
        int64_t now = clock_boot_us();
        unsigned ready = wake_queue_take(&w->pending, now, w->closing);

        if (ready || w->closing)
            return ready;
        if (w->pending.bits)
            (void)sleep_for(w, wake_queue_due(&w->pending) - now);
        else
            pthread_cond_wait(&w->changed, &w->lock);
    }
}

static void *run_waker(void *arg)
{
    struct pg_waker *w = arg;

    pthread_mutex_lock(&w->lock);
    for (;;) {
        unsigned bits = wait_for_bits(w);
        bool done;

        if (!bits)
            break;
        pthread_mutex_unlock(&w->lock);
        done = send_notify(w, bits);
        pthread_mutex_lock(&w->lock);
        if (done)
            continue;
        if (w->closing)
            break;
        w->pending.bits |= bits;
        back_off(w);
    }
    pthread_mutex_unlock(&w->lock);
    pg_close(&w->conn);
    return NULL;
}

static void release_waker(struct pg_waker *w)
{
    pthread_cond_destroy(&w->changed);
    pthread_mutex_destroy(&w->lock);
    url_free(&w->url);
    free(w);
}

/* Returns NULL if the thread can't be started; listeners then find changes by their slow poll. */
static struct pg_waker *start_waker(const struct db_url *url)
{
    struct pg_waker *w = mem_zalloc(sizeof(*w));
    struct err err = ERR_INIT;
    pthread_condattr_t attr;
    sigset_t all, before;
    int rc;

    pthread_mutex_init(&w->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&w->changed, &attr);
    pthread_condattr_destroy(&attr);

    /* The waker's thread blocks all signals: the embedder's threads must handle them. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = url_parse(url->text, url->tenant, &w->url, &err);
    if (!rc)
        rc = pthread_create(&w->thread, NULL, run_waker, w);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc) {
        release_waker(w);
        return NULL;
    }
    return w;
}

void pg_wake(struct db *db, unsigned what)
{
    struct pg_db *p = pg_from_db(db);
    struct pg_waker *w = p->waker;

    if (db->env->one_connection) {
        p->deferred |= what;
        return;
    }
    if (!w)
        w = p->waker = start_waker(p->url);
    if (!w)
        return;
    pthread_mutex_lock(&w->lock);
    w->pending.bits |= what;
    pthread_cond_signal(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

void pg_waker_close(struct pg_waker **waker)
{
    struct pg_waker *w = *waker;

    if (!w)
        return;
    *waker = NULL;
    pthread_mutex_lock(&w->lock);
    w->closing = true;
    pthread_cond_signal(&w->changed);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    release_waker(w);
}
