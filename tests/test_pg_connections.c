/* test_pg_connections.c - connections of a PostgreSQL server: keepalives of its sessions, refused
 * ones, and listeners that share a connection with transactions. */
#include "pg_fixture.h"

#include <poll.h>

TEST_ONLY_DB(postgres);
TEST_THREADED;

STMT(show_idle, "SELECT current_setting('tcp_keepalives_idle')::int", 0, 0, 0);
STMT(show_interval, "SELECT current_setting('tcp_keepalives_interval')::int", 0, 0, 0);
STMT(show_count, "SELECT current_setting('tcp_keepalives_count')::int", 0, 0, 0);
STMT(show_user_timeout, "SELECT current_setting('tcp_user_timeout')::int", 0, 0, 0);
STMT(sessions, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()", 0, 0, 0);

TEST(session_over_tcp_has_keepalives_on_the_server)
{
    struct pg t = pg_ready();

    CHECK_EQ(pg_number_in_tx(&t, &show_idle), 30);
    CHECK_EQ(pg_number_in_tx(&t, &show_interval), 10);
    CHECK_EQ(pg_number_in_tx(&t, &show_count), 3);
    CHECK_EQ(pg_number_in_tx(&t, &show_user_timeout), 60000);
    pg_done(&t);
}

TEST(keepalive_settings_that_are_already_lower_are_kept)
{
    struct pg t = pg_ready(), low;
    char *url = mem_printf("%s?options=-ctcp_keepalives_idle%%3D5%%20-ctcp_user_timeout%%3D7000",
                           t.url->text);

    low = pg_open(url, NULL);
    CHECK_EQ(pg_number_in_tx(&low, &show_idle), 5);
    CHECK_EQ(pg_number_in_tx(&low, &show_interval), 10);
    CHECK_EQ(pg_number_in_tx(&low, &show_user_timeout), 7000);
    pg_end(&low);
    free(url);
    pg_done(&t);
}

static bool is_readable(const struct listener *l)
{
    struct pollfd p = {.fd = l->fd, .events = POLLIN};

    return poll(&p, 1, 0) == 1;
}

static unsigned wait_for_wake(struct listener *l)
{
    unsigned bits = 0;

    while (!bits) {
        struct pollfd p = {.fd = l->fd, .events = POLLIN};

        poll(&p, 1, l->poll_ms < 10000 ? l->poll_ms : -1);
        bits = l->drain(l);
    }
    return bits;
}

static struct listener *listen_on(struct pg *t, unsigned what)
{
    struct listener *l = NULL;

    CHECK_OK_ERR(t->db->driver->listen_on(t->db, what, &l, &t->err), &t->err);
    return l;
}

TEST(listener_on_a_connection_opens_no_second_connection)
{
    struct pg t = pg_ready(), other = pg_second(&t);
    struct listener *jobs = listen_on(&t, WAKE_JOBS), *ends = listen_on(&t, WAKE_ENDS);

    CHECK_EQ(pg_number_in_tx(&t, &sessions), 2);
    CHECK_EQ(jobs->drain(jobs), 0);
    CHECK_OK_ERR(other.db->driver->notify(other.db, WAKE_JOBS, SECOND, &other.err), &other.err);
    CHECK_EQ(wait_for_wake(jobs), WAKE_JOBS);
    CHECK_EQ(ends->drain(ends), 0);
    CHECK_OK_ERR(other.db->driver->notify(other.db, WAKE_ENDS, SECOND, &other.err), &other.err);
    CHECK_EQ(wait_for_wake(ends), WAKE_ENDS);
    CHECK_EQ(pg_number_in_tx(&t, &sessions), 2);
    jobs->close(jobs);
    ends->close(ends);
    CHECK_EQ(pg_number_in_tx(&t, &count_items), 0);
    pg_end(&other);
    pg_done(&t);
}

/* The transaction's results bring the notification: its bytes are gone from the socket. */
TEST(notification_that_arrives_during_a_transaction_makes_the_listener_readable)
{
    struct pg t = pg_ready(), other = pg_second(&t);
    struct listener *l = listen_on(&t, WAKE_JOBS);
    int64_t from = clock_boot_us();

    CHECK_OK_ERR(other.db->driver->notify(other.db, WAKE_JOBS, SECOND, &other.err), &other.err);
    do /* it may arrive later than the answer to its sender */
        (void)pg_number_in_tx(&t, &backend_pid);
    while (!is_readable(l) && clock_boot_us() - from < 60 * SECOND);
    CHECK(is_readable(l));
    CHECK_EQ(l->drain(l), WAKE_JOBS);
    CHECK(!is_readable(l));
    l->close(l);
    pg_end(&other);
    pg_done(&t);
}

/* The server sends a session's own notifications before it says that the statement is done. */
TEST(notification_that_arrives_during_a_notify_makes_the_listener_readable_at_once)
{
    struct pg t = pg_ready();
    struct listener *l = listen_on(&t, WAKE_JOBS);

    CHECK(!is_readable(l));
    CHECK_OK_ERR(t.db->driver->notify(t.db, WAKE_JOBS, SECOND, &t.err), &t.err);
    CHECK(is_readable(l));
    CHECK_EQ(l->drain(l), WAKE_JOBS);
    CHECK(!is_readable(l));
    l->close(l);
    pg_done(&t);
}

/* Statements outside transactions: the count of free connections, and LISTEN for another listener.
 */
TEST(notification_that_arrives_during_another_statement_makes_the_listener_readable)
{
    struct pg t = pg_ready(), other = pg_second(&t);
    struct listener *l = listen_on(&t, WAKE_JOBS);
    bool scarce;

    for (int i = 0; i < 2; i++) {
        int64_t from = clock_boot_us();

        CHECK_OK_ERR(other.db->driver->notify(other.db, WAKE_JOBS, SECOND, &other.err), &other.err);
        do
            if (i) {
                struct listener *second = listen_on(&t, WAKE_ENDS);

                second->close(second);
            } else {
                CHECK_OK_ERR(t.db->driver->check_scarcity(t.db, 10, &scarce, &t.err), &t.err);
            }
        while (!is_readable(l) && clock_boot_us() - from < 60 * SECOND);
        CHECK(is_readable(l));
        CHECK_EQ(l->drain(l), WAKE_JOBS);
    }
    l->close(l);
    pg_end(&other);
    pg_done(&t);
}

TEST(listener_on_a_lost_connection_reports_every_wake_up_bit_after_the_next_transaction)
{
    struct pg t = pg_ready(), killer = pg_second(&t);
    struct listener *l = listen_on(&t, WAKE_JOBS | WAKE_CANCEL);

    for (int i = 0; i < 2; i++) {
        pg_kill(&killer, pg_number_in_tx(&t, &backend_pid));
        if (i)
            (void)pg_number_in_tx(&t,
                                  &backend_pid); /* a transaction reconnects; else draining does */
        CHECK_EQ(wait_for_wake(l), WAKE_JOBS | WAKE_CANCEL);
        CHECK_OK_ERR(killer.db->driver->notify(killer.db, WAKE_CANCEL, SECOND, &killer.err),
                     &killer.err);
        CHECK_EQ(wait_for_wake(l), WAKE_CANCEL);
        CHECK_EQ(pg_number_in_tx(&t, &sessions), 2);
        CHECK_EQ(pg_number_in_tx(&t, &show_idle), 30);
    }
    l->close(l);
    pg_end(&killer);
    pg_done(&t);
}

static __typeof__(pq.sendQuery) send_query;

/* In place of PQsendQuery: makes the server refuse LISTEN, as a hot standby does. */
static int refuse_listen(PGconn *conn, const char *sql)
{
    return send_query(conn, strncmp(sql, "LISTEN", 6) ? sql : "SELECT 1/0");
}

TEST(listener_on_a_server_that_refuses_listen_polls_and_keeps_the_connection)
{
    struct pg t = pg_ready(), killer = pg_second(&t);
    struct listener *l;
    int64_t pid;

    send_query = pq.sendQuery;
    pq.sendQuery = refuse_listen;
    l = listen_on(&t, WAKE_JOBS);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(l->fd, -1);
        CHECK(l->poll_ms < 1000);
        pid = pg_number_in_tx(&t, &backend_pid);
        CHECK_EQ(pg_number_in_tx(&t, &backend_pid), pid);
        (void)l->drain(l);
        CHECK_EQ(pg_number_in_tx(&t, &backend_pid), pid);
        pg_kill(&killer, pid);
    }
    pq.sendQuery = send_query;
    (void)pg_number_in_tx(&t, &backend_pid); /* the server is a primary now */
    CHECK(l->fd >= 0);
    CHECK_EQ(wait_for_wake(l), WAKE_JOBS);
    pg_kill(&killer, pg_number_in_tx(&t, &backend_pid));
    pq.sendQuery = refuse_listen;
    do /* draining reconnects */
        (void)l->drain(l);
    while (l->fd >= 0 || pg_number_in_tx(&killer, &sessions) < 2);
    pid = pg_number_in_tx(&t, &backend_pid);
    CHECK_EQ(pg_number_in_tx(&t, &backend_pid), pid);
    CHECK_EQ(pg_number_in_tx(&killer, &sessions), 2);
    pq.sendQuery = send_query;
    l->close(l);
    pg_end(&killer);
    pg_done(&t);
}

/* In place of PQsendQueryParams. */
static int refuse_to_send(PGconn *conn, const char *sql, int n, const Oid *types,
                          const char *const *values, const int *lengths, const int *formats,
                          int format)
{
    (void)conn, (void)sql, (void)n, (void)types, (void)values, (void)lengths, (void)formats;
    (void)format;
    return 0;
}

TEST(deferred_wake_up_is_sent_on_the_same_connection_by_the_next_transaction_or_by_closing)
{
    struct pg t = pg_ready(), sender;
    struct listener *l = listen_on(&t, WAKE_JOBS | WAKE_CANCEL);

    sender = pg_second(&t);
    sender.env->one_connection = true;
    sender.db->driver->wake(sender.db, WAKE_JOBS);
    CHECK_EQ(pg_number_in_tx(&sender, &sessions), 2);
    CHECK_EQ(wait_for_wake(l), WAKE_JOBS);
    sender.db->driver->wake(sender.db, WAKE_CANCEL);
    pg_end(&sender);
    CHECK_EQ(wait_for_wake(l), WAKE_CANCEL);
    l->close(l);
    pg_done(&t);
}

TEST(deferred_wake_up_that_could_not_be_sent_is_sent_later)
{
    struct pg t = pg_ready(), sender = pg_second(&t);
    struct listener *l = listen_on(&t, WAKE_JOBS);
    __typeof__(pq.sendQueryParams) send = pq.sendQueryParams;

    sender.env->one_connection = true;
    sender.db->driver->wake(sender.db, WAKE_JOBS);
    pq.sendQueryParams = refuse_to_send;
    CHECK_EQ(db_begin(sender.db, TX_READ, &sender.err), -E_CONN_LOST);
    pq.sendQueryParams = send;
    pg_end(&sender);
    CHECK_EQ(wait_for_wake(l), WAKE_JOBS);
    l->close(l);
    pg_done(&t);
}

/* Heartbeats and turns reconnect; a wake-up must not delay them by that. */
TEST(notify_on_a_lost_connection_fails_at_once_and_does_not_reconnect)
{
    struct pg t = pg_ready(), killer = pg_second(&t);

    pg_kill(&killer, pg_number_in_tx(&t, &backend_pid));
    CHECK_EQ(t.db->driver->notify(t.db, WAKE_JOBS, SECOND, &t.err), -E_CONN_LOST);
    CHECK_EQ(t.db->driver->notify(t.db, WAKE_JOBS, SECOND, &t.err), -E_CONN_LOST);
    CHECK_EQ(pg_number_in_tx(&killer, &sessions), 1);
    (void)pg_number_in_tx(&t, &backend_pid);
    CHECK_OK_ERR(t.db->driver->notify(t.db, WAKE_JOBS, SECOND, &t.err), &t.err);
    pg_end(&killer);
    pg_done(&t);
}

/* Creates a role that may have one connection, and returns its URL. Its limit is the same error as
 * the server's. */
static char *url_of_one_connection(const struct pg *t)
{
    char *sql = mem_printf("CREATE ROLE slots_%d LOGIN CONNECTION LIMIT 1", (int)getpid());

    pg_admin(pg_server(), sql);
    free(sql);
    return mem_printf("postgres://slots_%d%s", (int)getpid(), strchr(t->url->text, '@'));
}

static void drop_role(char *url)
{
    char *sql = mem_printf("DROP ROLE slots_%d", (int)getpid());

    pg_admin(pg_server(), sql);
    free(sql);
    free(url);
}

static int is_always_busy(PGconn *conn)
{
    (void)conn;
    return 1;
}

TEST(transaction_uses_the_connection_of_an_unfinished_reconnect)
{
    struct pg t = pg_ready(), one;
    char *url = url_of_one_connection(&t);
    __typeof__(pq.isBusy) is_busy = pq.isBusy;
    int64_t from = clock_boot_us();
    struct listener *l;
    int rc;

    one = pg_open(url, NULL);
    l = listen_on(&one, WAKE_JOBS);
    pg_kill(&t, pg_number_in_tx(&one, &backend_pid));
    for (int i = 0; i < 20 || l->fd < 0; i++) {
        pq.isBusy = is_always_busy; /* the answer to LISTEN does not arrive */
        (void)l->drain(l);
        pq.isBusy = is_busy;
    }
    CHECK_EQ(pg_number_in_tx(&t, &sessions), 2);
    do /* the server may need a moment to notice that the other connection was closed */
        rc = db_begin(one.db, TX_READ, &one.err);
    while (rc == -E_CONN_LOST && clock_boot_us() - from < 30 * SECOND);
    CHECK_OK_ERR(rc, &one.err);
    db_rollback(one.db);
    l->close(l);
    pg_end(&one);
    drop_role(url);
    pg_done(&t);
}

TEST(open_without_a_free_connection_reports_busy_and_begin_reports_a_lost_connection)
{
    struct pg t = pg_ready(), one, two;
    char *url = url_of_one_connection(&t);
    int64_t from;
    int rc;

    one = pg_open(url, NULL);
    two = pg_at(url, NULL);
    CHECK_EQ(db_open(two.url, two.env, &two.db, &two.err), -E_BUSY);
    CHECK(strstr(two.err.msg, "53300") != NULL);
    one.db->driver->disconnect(one.db);
    from = clock_boot_us();
    do /* the server may need a moment to notice that the other connection was closed */
        rc = db_open(two.url, two.env, &two.db, &two.err);
    while (rc == -E_BUSY && clock_boot_us() - from < 30 * SECOND);
    CHECK_OK_ERR(rc, &two.err);
    CHECK_EQ(db_begin(one.db, TX_READ, &one.err), -E_CONN_LOST); /* its caller retries */
    pg_end(&two);
    pg_end(&one);
    drop_role(url);
    pg_done(&t);
}
