/* listen.c - receives the wake-ups that other connections send with NOTIFY. A listener uses a
 * connection that also runs transactions, so that a reader or a worker needs no second connection.
 * Several listeners may share one connection; they form its hub. Draining waits only briefly: a
 * lost connection is reopened step by step, or by the next transaction; meanwhile poll_ms asks the
 * owner to poll more often.
 *
 *   POLLING   behind a pooler, or on a hot standby: LISTEN does not work, the owner only polls
 *
 *   DOWN --start_connecting--> CONNECTING --continue_connecting--> SUBSCRIBING
 *   SUBSCRIBING --finish_subscribing--> LISTENING, or POLLING if the server refuses LISTEN
 *   CONNECTING, SUBSCRIBING --fail_connecting--> DOWN
 *   LISTENING --pg_hub_lost--> DOWN
 *   CONNECTING, SUBSCRIBING --pg_hub_stop_connecting, by a transaction--> DOWN
 *   DOWN, POLLING --pg_hub_connected, by a transaction--> LISTENING, POLLING */
#include "base/text.h"
#include "store/driver/postgres/pg_db.h"
#include "store/driver/postgres/pg_errors.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define SLOW_POLL_MS    30000 /* ms between polls while listening, in case a NOTIFY is lost */
#define FAST_POLL_MS    500   /* ms between polls while not listening */
#define RETRY_US        SECOND
#define RECONNECT_LIMIT (5 * SECOND) /* µs for one attempt to reconnect */
/* How many ms one step of connecting waits. If a step did not wait, the rest would be left to the
 * next call, and the owner may be busy for a minute until then. A server that waits that long for
 * the start of a session can neither give its connection slot to others nor be stopped. */
#define STEP_MS         100

enum state { POLLING, DOWN, CONNECTING, SUBSCRIBING, LISTENING };

struct pg_listener {
    struct listener base;
    struct pg_db *p;
    bool owns_db;
    unsigned what, received;
    /* The descriptor base.fd while there is a connection; watches its socket and `event`. */
    int epoll;
    /* An eventfd, set when notifications came with the results of a transaction: libpq has already
     * read them from the socket. */
    int event;
    struct pg_listener *next;
};

/* The listeners of a connection, and the state of its reconnection. */
struct pg_hub {
    struct pg_listener *listeners;
    enum state state;
    PGconn *conn;       /* in CONNECTING and SUBSCRIBING: becomes the connection of the pg_db */
    enum pg_step waits; /* in CONNECTING: the event that the socket must be ready for */
    int64_t retry_at;   /* in DOWN: do not reconnect before this time */
    int64_t give_up_at; /* in CONNECTING and SUBSCRIBING: this attempt fails at this time */
};

#define EACH_LISTENER(h, l) for (struct pg_listener *l = (h)->listeners; l; l = l->next)

/* Enters a state; no other function changes it. The epoll forgets a closed socket by itself. */
static void enter_state(struct pg_db *p, enum state state)
{
    struct pg_hub *h = p->hub;
    PGconn *conn = h->conn ? h->conn : state == LISTENING ? p->conn : NULL;
    struct epoll_event ev = {.events = EPOLLIN};

    h->state = state;
    EACH_LISTENER(h, l)
    {
        l->base.fd = conn ? l->epoll : -1;
        l->base.poll_ms = state == LISTENING ? SLOW_POLL_MS : FAST_POLL_MS;
        if (conn)
            (void)epoll_ctl(l->epoll, EPOLL_CTL_ADD, pq.socket(conn), &ev);
    }
}

/* Wakes up the owners of listeners that wait for one of these bits. */
static void distribute(struct pg_hub *h, unsigned bits)
{
    EACH_LISTENER(h, l)
    if (bits & l->what & ~l->received) {
        l->received |= bits & l->what;
        (void)eventfd_write(l->event, 1); /* fails only if the descriptor is readable already */
    }
}

/* ---- LISTEN ---- */

/* Adds a LISTEN to the text, with the quoted name of the channel, because LISTEN takes no
 * parameters. */
static bool add_channel(PGconn *conn, const char *schema, const char *suffix, struct buf *sql)
{
    AUTO_BUF name = BUF_INIT;
    char *quoted;

    buf_addf(&name, "%s%s", schema, suffix);
    quoted = pq.escapeIdentifier(conn, buf_cstr(&name), name.len);
    buf_addf(sql, "LISTEN %s;", quoted ? quoted : "");
    pq.freemem(quoted);
    return quoted != NULL;
}

/* Adds LISTEN statements for all channels that the listeners need. */
static bool add_channels(const struct pg_db *p, PGconn *conn, struct buf *sql)
{
    unsigned what = 0;

    EACH_LISTENER(p->hub, l)
    what |= l->what;
    return (!(what & ~(unsigned)WAKE_ENDS) || add_channel(conn, p->url->schema, "", sql)) &&
           (!(what & WAKE_ENDS) || add_channel(conn, p->url->schema, PG_ENDS_CHANNEL, sql));
}

/* ---- one step per state; returns true if the next step may follow at once ---- */

static void fail_connecting(struct pg_db *p)
{
    pg_close(&p->hub->conn);
    p->hub->retry_at = clock_boot_us() + RETRY_US;
    enter_state(p, DOWN);
}

static bool start_connecting(struct pg_db *p)
{
    struct pg_hub *h = p->hub;
    int64_t now = clock_boot_us();

    if (now < h->retry_at)
        return false;
    h->conn = pg_connect_start(p->url);
    if (!h->conn) {
        fail_connecting(p);
        return false;
    }
    h->waits = PG_WRITES;
    h->give_up_at = now + RECONNECT_LIMIT;
    enter_state(p, CONNECTING);
    return true;
}

static bool is_ready(PGconn *conn, enum pg_step waits)
{
    struct pollfd p = {.fd = pq.socket(conn), .events = waits == PG_WRITES ? POLLOUT : POLLIN};

    return poll(&p, 1, STEP_MS) > 0;
}

static bool send_first_statements(const struct pg_db *p)
{
    AUTO_BUF sql = BUF_INIT;

    if (!add_channels(p, p->hub->conn, &sql))
        return false;
    buf_addstr(&sql, pg_keepalives_sql);
    return pq.sendQuery(p->hub->conn, buf_cstr(&sql));
}

static bool continue_connecting(struct pg_db *p)
{
    struct pg_hub *h = p->hub;

    if (pq.status(h->conn) != CONNECTION_BAD && !is_ready(h->conn, h->waits)) {
        if (clock_boot_us() > h->give_up_at)
            fail_connecting(p);
        return false;
    }
    h->waits = pg_connect_step(h->conn);
    if (h->waits == PG_FAILED || (h->waits == PG_UP && !send_first_statements(p))) {
        fail_connecting(p);
        return false;
    }
    enter_state(p, h->waits == PG_UP ? SUBSCRIBING
                                     /* If libpq has opened another socket, watch that one. */
                                     : CONNECTING);
    return true;
}

static bool finish_subscribing(struct pg_db *p)
{
    struct pg_hub *h = p->hub;
    bool alive = pg_is_alive(h->conn) && pq.flush(h->conn) >= 0, done = false, refused = false;
    PGresult *res;

    if (alive && pq.isBusy(h->conn) && clock_boot_us() <= h->give_up_at)
        return false;
    if (alive && !pq.isBusy(h->conn))
        while ((res = pq.getResult(h->conn))) {
            done =
                pq.resultStatus(res) == PGRES_COMMAND_OK || pq.resultStatus(res) == PGRES_TUPLES_OK;
            refused |= !done;
            pq.clear(res);
        }
    if (pq.status(h->conn) != CONNECTION_OK || !(done || refused) ||
        !pq.enterPipelineMode(h->conn)) {
        fail_connecting(p);
        return false;
    }
    p->conn = h->conn;
    h->conn = NULL;
    enter_state(p, refused ? POLLING : LISTENING);
    distribute(h, ~0U); /* wake-ups may have been missed while the connection was down */
    return true;
}

static bool read_notifications(struct pg_db *p)
{
    bool alive = pg_is_alive(p->conn);

    pg_hub_collect(p);
    if (!alive)
        pg_drop_connection(p);
    return !alive;
}

static bool step_state(struct pg_db *p)
{
    switch (p->hub->state) {
    case POLLING:
        return false;
    case DOWN:
        return start_connecting(p);
    case CONNECTING:
        return continue_connecting(p);
    case SUBSCRIBING:
        return finish_subscribing(p);
    case LISTENING:
        return read_notifications(p);
    }
    return false;
}

/* ---- called by the rest of the driver ---- */

void pg_hub_stop_connecting(struct pg_db *p)
{
    if (p->hub && p->hub->conn)
        fail_connecting(p);
}

int pg_hub_connected(struct pg_db *p, struct err *err)
{
    AUTO_BUF sql = BUF_INIT;
    PGresult *res = NULL;
    int rc;

    if (!p->hub || !p->hub->listeners)
        return 0;
    if (p->session.pooled) {
        enter_state(p, POLLING);
        return 0;
    }
    if (!add_channels(p, p->conn, &sql) || !pq.sendQuery(p->conn, buf_cstr(&sql)))
        return pg_set_lost_error(p->conn, err);
    rc = pg_finish_statement(p->conn, RECONNECT_LIMIT, "LISTEN", p->url->safe, &res, err);
    pq.clear(res);
    if (rc == -E_CONN_LOST)
        return rc;
    enter_state(p, rc ? POLLING : LISTENING);
    distribute(p->hub, ~0U);
    return 0;
}

void pg_hub_lost(struct pg_db *p)
{
    if (!p->hub || p->hub->state != LISTENING)
        return;
    p->hub->retry_at = 0;
    enter_state(p, DOWN);
}

void pg_hub_collect(struct pg_db *p)
{
    unsigned received = 0;
    PGnotify *n;
    int64_t bits;

    if (!p->hub || !p->conn)
        return;
    while ((n = pq.notifies(p->conn))) {
        if (!*n->extra)
            received |= WAKE_SUBMISSIONS;
        else if (text_parse_i64(n->extra, &bits) == 0)
            received |= (unsigned)bits;
        pq.freemem(n);
    }
    distribute(p->hub, received);
}

/* ---- the listener ---- */

static unsigned drain(struct listener *base)
{
    struct pg_listener *l = (struct pg_listener *)base;
    unsigned received;
    eventfd_t count;

    /* In a transaction, its results must be read first, so drain must not read the socket. */
    if (!l->p->db.in_tx)
        while (step_state(l->p))
            ;
    (void)eventfd_read(l->event, &count);
    received = l->received;
    l->received = 0;
    return received;
}

static void close_listener(struct listener *base)
{
    struct pg_listener *l = (struct pg_listener *)base, **at;
    struct pg_db *p = l->p;
    struct err ignored = ERR_INIT;

    for (at = &p->hub->listeners; *at != l; at = &(*at)->next)
        ;
    *at = l->next;
    /* Without this, libpq would collect notifications that nobody reads. */
    if (!p->hub->listeners) {
        pg_close(&p->hub->conn);
        if (p->hub->state == LISTENING && !l->owns_db)
            (void)!pg_run_simple(p, "UNLISTEN", "UNLISTEN *", RECONNECT_LIMIT, &ignored);
        free(p->hub);
        p->hub = NULL;
    }
    close(l->epoll);
    close(l->event);
    if (l->owns_db)
        p->db.driver->close(&p->db);
    free(l);
}

static struct pg_listener *add_listener(struct pg_db *p, unsigned what)
{
    struct pg_listener *l = mem_zalloc(sizeof(*l));
    struct epoll_event ev = {.events = EPOLLIN};

    *l = (struct pg_listener){
        .base = {.db = &p->db, .fd = -1, .drain = drain, .close = close_listener},
        .p = p,
        .what = what,
        .epoll = epoll_create1(EPOLL_CLOEXEC),
        .event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    (void)epoll_ctl(l->epoll, EPOLL_CTL_ADD, l->event, &ev);
    if (!p->hub)
        p->hub = mem_zalloc(sizeof(*p->hub));
    if (!p->hub->listeners)
        p->hub->state = DOWN;
    l->next = p->hub->listeners;
    p->hub->listeners = l;
    return l;
}

/* Runs LISTEN for a new listener if the connection is open. Otherwise the state stays DOWN until a
 * transaction or a drain connects. */
static void subscribe(struct pg_db *p)
{
    struct err ignored = ERR_INIT;
    AUTO_BUF sql = BUF_INIT;

    if (!p->conn)
        enter_state(p, p->hub->state); /* sets fd and poll_ms of the new listener, too */
    else if (p->session.pooled || !add_channels(p, p->conn, &sql) ||
             pg_run_simple(p, "LISTEN", buf_cstr(&sql), RECONNECT_LIMIT, &ignored))
        enter_state(p, p->conn ? POLLING : DOWN);
    else
        enter_state(p, LISTENING);
}

int pg_listen_on(struct db *db, unsigned what, struct listener **out, struct err *err)
{
    struct pg_db *p = pg_from_db(db);
    struct pg_listener *l;
    int rc;

    if (db->in_tx)
        return err_set(err, E_INVALID, "a listener can't be opened inside a transaction");
    rc = pg_reconnect(p, err);
    if (rc && rc != -E_BUSY && rc != -E_CONN_LOST)
        return rc;
    l = add_listener(p, what);
    if (l->epoll < 0 || l->event < 0) {
        close_listener(&l->base);
        return err_set(err, E_UNAVAILABLE, "can't create descriptors for a listener");
    }
    subscribe(p);
    *out = &l->base;
    return 0;
}

int pg_listen(const struct db_url *url, struct env *env, unsigned what, struct listener **out,
              struct err *err)
{
    struct db *db = NULL;
    int rc;

    TRY(db_postgres.open(url, env, &db, err));
    if ((rc = pg_listen_on(db, what, out, err)))
        db->driver->close(db);
    else
        ((struct pg_listener *)*out)->owns_db = true;
    return rc;
}
