/* listen.c - wake-ups for an embedder that runs its own loop, and waiting for the end of an
 * execution. */
#include "api/api.h"
#include "store/query/submissions.h"

#include <poll.h>
#include <stdlib.h>

_Static_assert((int)PAWL_WAKE_JOBS == (int)WAKE_JOBS && (int)PAWL_WAKE_CANCEL == (int)WAKE_CANCEL &&
                   (int)PAWL_WAKE_EVENTS == (int)WAKE_EVENTS &&
                   (int)PAWL_WAKE_ENDS == (int)WAKE_ENDS,
               "pawl.h and store/driver/db.h differ");

/* One of the two is set. */
struct pawl_listener {
    struct listener *listener;
    struct remote_listener *remote;
};

static int listen_remote(struct pawl *p, unsigned what, struct pawl_listener **out, struct err *err)
{
    struct remote_listener *l;

    TRY(remote_listen(p->remote, what, &l, err));
    *out = mem_zalloc(sizeof(**out));
    (*out)->remote = l;
    return 0;
}

int pawl_listen(struct pawl *p, unsigned what, struct pawl_listener **out, struct pawl_error *e)
{
    const struct db_url *url;
    struct listener *listener;
    API_ERR(e);

    if (p->remote)
        return listen_remote(p, what, out, err);
    url = store_url(p->store);
    if (url->driver->listen_on)
        TRY(url->driver->listen_on(store_db(p->store), what, &listener, err));
    else
        TRY(url->driver->listen(url, &p->env, what, &listener, err));
    *out = mem_zalloc(sizeof(**out));
    (*out)->listener = listener;
    return 0;
}

void pawl_listener_close(struct pawl_listener *l)
{
    if (!l)
        return;
    if (l->remote)
        remote_listener_close(l->remote);
    else
        l->listener->close(l->listener);
    free(l);
}

int pawl_listener_fd(const struct pawl_listener *l)
{
    return l->remote ? remote_listener_fd(l->remote) : l->listener->fd;
}

int pawl_listener_poll_ms(const struct pawl_listener *l)
{
    return l->remote ? remote_listener_poll_ms(l->remote) : l->listener->poll_ms;
}

bool pawl_listener_is_complete(const struct pawl_listener *l)
{
    return l->remote || l->listener->is_complete;
}

unsigned pawl_listener_drain(struct pawl_listener *l)
{
    return l->remote ? remote_listener_wait(l->remote, 0) : l->listener->drain(l->listener);
}

unsigned pawl_listener_wait(struct pawl_listener *l, int timeout_ms)
{
    struct pollfd fd = {.fd = pawl_listener_fd(l), .events = POLLIN};
    int most = pawl_listener_poll_ms(l);

    if (timeout_ms < 0 || timeout_ms > most)
        timeout_ms = most;
    if (l->remote)
        return remote_listener_wait(l->remote, timeout_ms);
    poll(&fd, 1, timeout_ms); /* a signal counts as a wake-up */
    return pawl_listener_drain(l);
}

/* ---- yield ---- */

#define CHECK_SCARCE_US (5 * 1000000LL)
/* A reader gives up its connection while less than a tenth of the server's connections is free, and
 * reconnects when a fifth is free. With a single threshold, readers that reconnect would make other
 * readers give up theirs, in turn. */
#define LEAVE_PARTS     10
#define RETURN_PARTS    5
#define FIRST_PAUSE_MS  2000
#define MAX_PAUSE_MS    30000

/* Closes the connection. Returns the pause, which grows each time, with a random part so that many
 * readers do not reconnect in step. */
static int leave_connection(struct pawl *p, struct db *db)
{
    int ms = p->yielding.pause_ms ? p->yielding.pause_ms : FIRST_PAUSE_MS;
    uint32_t r;

    if (!p->yielding.pause_ms)
        env_note(&p->env,
                 "%s has few free connections: this reader gives up its own, so that workers and "
                 "submitters can connect, and continues when more are free",
                 store_url(p->store)->safe);
    db->driver->disconnect(db);
    p->yielding.pause_ms = ms * 2 < MAX_PAUSE_MS ? ms * 2 : MAX_PAUSE_MS;
    env_random(&r, sizeof(r));
    return ms / 2 + (int)(r % (uint32_t)(ms / 2));
}

int pawl_yield(struct pawl *p)
{
    struct db *db = p->remote ? NULL : store_db(p->store);
    struct err err = ERR_INIT;
    int64_t now = clock_boot_us();
    bool scarce = false;
    int rc;

    if (!db || !db->driver->check_scarcity || db->in_tx ||
        (!p->yielding.pause_ms && p->yielding.checked_at &&
         now - p->yielding.checked_at < CHECK_SCARCE_US))
        return 0;
    p->yielding.checked_at = now;
    rc = db->driver->check_scarcity(db, p->yielding.pause_ms ? RETURN_PARTS : LEAVE_PARTS, &scarce,
                                    &err);
    if (scarce || rc == -E_BUSY)
        return leave_connection(p, db);
    if (p->yielding.pause_ms && !rc) /* an error other than -E_BUSY is reported by the next read */
        env_note(&p->env, "%s has enough free connections again: this reader continues",
                 store_url(p->store)->safe);
    p->yielding.pause_ms = 0;
    return 0;
}

/* ---- wait ---- */

/* If few connections are free, gives up the connection and sleeps for at most left_us. False if the
 * connection is kept. */
static bool sleep_without_connection(struct pawl *p, int64_t left_us)
{
    int64_t pause = pawl_yield(p) * 1000LL;

    if (pause)
        clock_sleep_us(pause < left_us ? pause : left_us);
    return pause != 0;
}

/* ms between two polls while waiting for an end. The engine that writes the end notifies this
 * process; polls are needed because an engine may die between its commit and the notification. */
#define CHECK_MS            5000
#define CHECK_UNNOTIFIED_MS 250 /* if notifications can't be received, as behind a pooler */

/* Reads the status; S_NONE if the SQL submission *id has not been taken yet. If its idempotency key
 * belongs to an existing execution, *id becomes that execution's id. */
static int check_status(struct pawl *p, int64_t *id, int *status, struct err *err)
{
    AUTO(submission_list_release) struct submission_list l = {0};
    struct err ignored = ERR_INIT;
    int attempts, rc = query_attempts(p->store, *id, &attempts, status, err);

    if (rc == -E_BUSY) { /* a worker is taking the submission at this moment */
        *status = S_NONE;
        return 0;
    }
    if (rc != -E_NOT_FOUND || query_submission(p->store, *id, &l, &ignored))
        return rc;
    if (l.n && l.at[0].execution && l.at[0].execution != *id) {
        *id = l.at[0].execution;
        rc = query_attempts(p->store, *id, &attempts, status, err);
    } else if (l.n && !l.at[0].error) {
        *status = S_NONE;
        rc = 0;
    }
    return rc;
}

int pawl_wait(struct pawl *p, int64_t id, int timeout_ms, const char **status, struct pawl_error *e)
{
    int64_t end = timeout_ms < 0 ? INT64_MAX : clock_boot_us() + timeout_ms * 1000LL, left;
    struct pawl_listener *l = NULL;
    int code = S_NONE, rc;
    bool left_it = false; /* the connection was given up after the last read */
    API_ERR(e);

    if (p->remote)
        return api_remote_status(p, id, timeout_ms, status, err);
    TRY(pawl_listen(p, PAWL_WAKE_ENDS, &l, e));
    for (;;) {
        int check = pawl_listener_poll_ms(l) < CHECK_MS ? CHECK_UNNOTIFIED_MS : CHECK_MS;
        int now = S_NONE;

        rc = check_status(p, &id, &now, err);
        if (!rc)
            code = now;
        if (rc == -E_UNAVAILABLE && left_it) { /* the server is still not accepting connections */
            *err = (struct err)ERR_INIT;
            rc = 0;
        }
        left = end - clock_boot_us();
        if (rc || status_is_terminal(code) || left <= 0)
            break;
        left_it = sleep_without_connection(p, left);
        if (left_it && clock_boot_us() >= end) /* another read would need a connection */
            break;
        if (!left_it)
            (void)pawl_listener_wait(l, left / 1000 < check ? (int)(left / 1000) + 1 : check);
    }
    if (!rc && code == S_NONE)
        rc = query_explain_missing(p->store, id, err);
    if (!rc)
        *status = status_text(code);
    pawl_listener_close(l);
    return rc;
}
