/* listen.c - receives the wake-ups that others send with NOTIFY. Draining waits only briefly: a
 * lost connection is reopened step by step, and meanwhile poll_ms asks the owner to poll more
 * often.
 *
 *   POLLING   behind a pooler: LISTEN does not work, the owner only polls
 *
 *   DOWN --start_connecting--> CONNECTING --continue_connecting--> SUBSCRIBING
 *   SUBSCRIBING --finish_subscribing--> LISTENING
 *   CONNECTING, SUBSCRIBING, LISTENING --lose_connection--> DOWN */
#include "base/text.h"
#include "store/driver/postgres/pg_db.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#define SLOW_POLL_MS    30000 /* while listening, in case a NOTIFY is lost */
#define FAST_POLL_MS    500   /* while not listening */
#define RETRY_US        SECOND
#define RECONNECT_LIMIT (5 * SECOND) /* of one attempt to reconnect */
/* ms that one step waits. A step that did not wait would leave the rest to the next call, and the
 * owner may be busy for a minute until then: a server that waits so long for the start of a session
 * can neither give its slot to others nor be stopped */
#define STEP_MS         100

enum state { POLLING, DOWN, CONNECTING, SUBSCRIBING, LISTENING };

struct pg_listener {
    struct listener base;
    struct db_url *url;
    unsigned what;
    enum state state;
    PGconn *conn;
    enum pg_step waits; /* CONNECTING: what the socket must be ready for */
    int64_t retry_at;   /* DOWN: reconnect not before this time */
    int64_t give_up_at; /* CONNECTING, SUBSCRIBING: the end of this attempt */
};

/* The only function that changes the state. */
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

/* LISTEN takes no parameters, so the channel is quoted into its text. */
static bool add_channel(const struct pg_listener *l, const char *suffix, struct buf *sql)
{
    AUTO_BUF name = BUF_INIT;
    char *quoted;

    buf_addf(&name, "%s%s", l->url->schema, suffix);
    quoted = pq.escapeIdentifier(l->conn, buf_cstr(&name), name.len);
    buf_addf(sql, "LISTEN %s;", quoted ? quoted : "");
    pq.freemem(quoted);
    return quoted != NULL;
}

static bool send_listen(struct pg_listener *l)
{
    AUTO_BUF sql = BUF_INIT;

    return (!(l->what & ~(unsigned)WAKE_ENDS) || add_channel(l, "", &sql)) &&
           (!(l->what & WAKE_ENDS) || add_channel(l, PG_ENDS_CHANNEL, &sql)) &&
           pq.sendQuery(l->conn, buf_cstr(&sql));
}

/* ---- one step per state; returns true if the next step may follow at once ---- */

static bool start_connecting(struct pg_listener *l)
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

    return poll(&p, 1, STEP_MS) > 0;
}

static bool continue_connecting(struct pg_listener *l)
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
                                     : CONNECTING); /* libpq may have opened another socket */
    return true;
}

static bool finish_subscribing(struct pg_listener *l, unsigned *received)
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
    *received = l->what; /* any wake-up may have been missed while disconnected */
    return true;
}

static bool read_notifications(struct pg_listener *l, unsigned *received)
{
    bool alive = pg_is_alive(l->conn);
    PGnotify *n;
    int64_t bits;

    while ((n = pq.notifies(l->conn))) {
        if (!*n->extra)
            *received |= WAKE_SUBMISSIONS;
        else if (text_parse_i64(n->extra, &bits) == 0)
            *received |= (unsigned)bits;
        pq.freemem(n);
    }
    if (!alive)
        lose_connection(l);
    return !alive;
}

static bool step_state(struct pg_listener *l, unsigned *received)
{
    switch (l->state) {
    case POLLING:
        return false;
    case DOWN:
        return start_connecting(l);
    case CONNECTING:
        return continue_connecting(l);
    case SUBSCRIBING:
        return finish_subscribing(l, received);
    case LISTENING:
        return read_notifications(l, received);
    }
    return false;
}

/* ---- the listener ---- */

static unsigned drain(struct listener *base)
{
    struct pg_listener *l = (struct pg_listener *)base;
    unsigned received = 0;

    while (step_state(l, &received))
        ;
    return received & l->what;
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
    int rc = 0;

    TRY(pg_connect(l->url, 0, &l->conn, &session, err));
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
        if (rc == -E_CONN_LOST) /* there was no connection to lose yet */
            err->code = E_UNAVAILABLE;
        return -(int)err->code;
    }
    *out = &l->base;
    return 0;
}
