/* listen.c - hears what others say with NOTIFY. Draining never waits: a lost connection is made
 * anew step by step, and meanwhile the owner is told to look by itself more often.
 *
 *   POLLING   behind a pooler there is nothing to listen to
 *
 *   DOWN --retry--> CONNECTING --connect--> SUBSCRIBING --subscribe--> LISTENING
 *     ^------------------+----------------------+----------fell-----------'  */
#include "base/text.h"
#include "store/driver/postgres/pg_db.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#define SLOW_POLL_MS    30000 /* the net under NOTIFY */
#define FAST_POLL_MS    500   /* where there is no NOTIFY */
#define RETRY_US        SECOND
#define RECONNECT_LIMIT (5 * SECOND) /* of one try to get back */

enum state { POLLING, DOWN, CONNECTING, SUBSCRIBING, LISTENING };

struct pg_listener {
    struct listener base;
    struct db_url *url;
    unsigned what;
    enum state state;
    PGconn *conn;
    enum pg_step waits; /* CONNECTING: what for */
    int64_t retry_at;   /* DOWN: not before */
    int64_t give_up_at; /* CONNECTING, SUBSCRIBING */
};

/* The one door of its state. */
static void enter_state(struct pg_listener *l, enum state state)
{
    l->state = state;
    l->base.fd = l->conn ? pq.socket(l->conn) : -1;
    l->base.poll_ms = state == LISTENING ? SLOW_POLL_MS : FAST_POLL_MS;
}

static void lose_connection(struct pg_listener *l)
{
    pg_close(&l->conn);
    l->retry_at = l->state == LISTENING ? 0 : clock_boot_us() + RETRY_US;
    enter_state(l, DOWN);
}

/* LISTEN takes no parameters, so the channel has to be quoted into it. */
static bool send_listen(struct pg_listener *l)
{
    char *channel = pq.escapeIdentifier(l->conn, l->url->schema, strlen(l->url->schema));
    struct buf sql = BUF_INIT;
    bool sent;

    buf_addf(&sql, "LISTEN %s", channel ? channel : "");
    sent = channel && pq.sendQuery(l->conn, buf_cstr(&sql));
    pq.freemem(channel);
    buf_release(&sql);
    return sent;
}

/* ---- one step of each state; true if the next one may be taken at once ---- */

static bool retry(struct pg_listener *l)
{
    int64_t now = clock_boot_us();

    if (now < l->retry_at)
        return false;
    l->conn = pg_connect_start(l->url);
    if (!l->conn) {
        lose_connection(l);
        return false;
    }
    l->waits = PG_WRITES;
    l->give_up_at = now + RECONNECT_LIMIT;
    enter_state(l, CONNECTING);
    return true;
}

static bool is_ready(PGconn *conn, enum pg_step waits)
{
    struct pollfd p = {.fd = pq.socket(conn), .events = waits == PG_WRITES ? POLLOUT : POLLIN};

    return poll(&p, 1, 0) > 0;
}

static bool connect_step(struct pg_listener *l)
{
    if (pq.status(l->conn) != CONNECTION_BAD && !is_ready(l->conn, l->waits)) {
        if (clock_boot_us() > l->give_up_at)
            lose_connection(l);
        return false;
    }
    l->waits = pg_connect_step(l->conn);
    if (l->waits == PG_FAILED || (l->waits == PG_UP && !send_listen(l))) {
        lose_connection(l);
        return false;
    }
    enter_state(l, l->waits == PG_UP ? SUBSCRIBING
                                     : CONNECTING); /* the socket may be another one now */
    return true;
}

static bool subscribe(struct pg_listener *l, unsigned *heard)
{
    bool alive = pg_is_alive(l->conn) && pq.flush(l->conn) >= 0, done = false;
    PGresult *res;

    if (alive && pq.isBusy(l->conn) && clock_boot_us() <= l->give_up_at)
        return false;
    if (alive && !pq.isBusy(l->conn))
        while ((res = pq.getResult(l->conn))) {
            done = pq.resultStatus(res) == PGRES_COMMAND_OK;
            pq.clear(res);
        }
    if (!done) {
        lose_connection(l);
        return false;
    }
    enter_state(l, LISTENING);
    *heard = l->what; /* whatever was said while we were away */
    return true;
}

static bool listen_on(struct pg_listener *l, unsigned *heard)
{
    bool alive = pg_is_alive(l->conn);
    PGnotify *n;
    int64_t bits;

    while ((n = pq.notifies(l->conn))) {
        if (!*n->extra)
            *heard |= WAKE_SUBMISSIONS;
        else if (text_parse_i64(n->extra, &bits) == 0)
            *heard |= (unsigned)bits;
        pq.freemem(n);
    }
    if (!alive)
        lose_connection(l);
    return !alive;
}

static bool step_state(struct pg_listener *l, unsigned *heard)
{
    switch (l->state) {
    case POLLING:
        return false;
    case DOWN:
        return retry(l);
    case CONNECTING:
        return connect_step(l);
    case SUBSCRIBING:
        return subscribe(l, heard);
    case LISTENING:
        return listen_on(l, heard);
    }
    return false;
}

/* ---- the listener ---- */

static unsigned drain(struct listener *base)
{
    struct pg_listener *l = (struct pg_listener *)base;
    unsigned heard = 0;

    while (step_state(l, &heard))
        ;
    return heard & l->what;
}

static void close_listener(struct listener *base)
{
    struct pg_listener *l = (struct pg_listener *)base;

    pg_close(&l->conn);
    url_free(&l->url);
    free(l);
}

static int open_connection(struct pg_listener *l, struct err *err)
{
    struct pg_session session;
    PGresult *res = NULL;
    int rc;

    if ((rc = pg_connect(l->url, 0, &l->conn, &session, err)))
        return rc;
    if (session.pooled) {
        pg_close(&l->conn);
        enter_state(l, POLLING);
        return 0;
    }
    if (!send_listen(l))
        return err_set(err, E_UNAVAILABLE, "LISTEN could not be sent to %s", l->url->safe);
    rc = pg_finish_statement(l->conn, RECONNECT_LIMIT, "LISTEN", l->url->safe, &res, err);
    pq.clear(res);
    if (!rc)
        enter_state(l, LISTENING);
    return rc;
}

int pg_listen(const struct db_url *url, struct env *env, unsigned what, struct listener **out,
              struct err *err)
{
    struct pg_listener *l = mem_zalloc(sizeof(*l));
    int rc;

    (void)env;
    l->base.drain = drain;
    l->base.close = close_listener;
    l->what = what;
    if (!(rc = url_parse(url->text, url->tenant, &l->url, err)))
        rc = open_connection(l, err);
    if (rc) {
        close_listener(&l->base);
        if (rc == -E_CONN_LOST) /* there was none yet that could be lost */
            err->code = E_UNAVAILABLE;
        return -(int)err->code;
    }
    *out = &l->base;
    return 0;
}
