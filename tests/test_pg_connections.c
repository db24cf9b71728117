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

TEST(keepalives_that_are_lower_already_stay)
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

TEST(listener_on_a_connection_needs_no_other_one)
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
TEST(notification_that_a_transaction_received_makes_the_listener_readable)
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
TEST(notification_that_a_notify_received_makes_the_listener_readable_at_once)
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
TEST(notification_that_another_statement_received_makes_the_listener_readable)
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
                CHECK_OK_ERR(t.db->driver->check_scarcity(t.db, &scarce, &t.err), &t.err);
            }
        while (!is_readable(l) && clock_boot_us() - from < 60 * SECOND);
        CHECK(is_readable(l));
        CHECK_EQ(l->drain(l), WAKE_JOBS);
    }
    l->close(l);
    pg_end(&other);
    pg_done(&t);
}

TEST(listener_on_a_lost_connection_reports_all_bits_after_the_next_transaction)
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

/* A role's limit is the same error as the server's. */
TEST(open_without_a_free_connection_is_busy_and_begin_reports_a_lost_connection)
{
    struct pg t = pg_ready(), one, two;
    char *role = mem_printf("slots_%d", (int)getpid());
    char *sql = mem_printf("CREATE ROLE %s LOGIN CONNECTION LIMIT 1", role), *url, *at;

    pg_admin(pg_server(), sql);
    free(sql);
    at = strchr(t.url->text, '@');
    url = mem_printf("postgres://%s%s", role, at);
    one = pg_open(url, NULL);
    two = pg_at(url, NULL);
    CHECK_EQ(db_open(two.url, two.env, &two.db, &two.err), -E_BUSY);
    CHECK(strstr(two.err.msg, "53300") != NULL);
    one.db->driver->disconnect(one.db);
    CHECK_OK_ERR(db_open(two.url, two.env, &two.db, &two.err), &two.err);
    CHECK_EQ(db_begin(one.db, TX_READ, &one.err), -E_CONN_LOST); /* its caller retries */
    pg_end(&two);
    pg_end(&one);
    sql = mem_printf("DROP ROLE %s", role);
    pg_admin(pg_server(), sql);
    free(sql);
    free(role);
    free(url);
    pg_done(&t);
}
