/* test_pg_notify.c - wake-ups by NOTIFY: sent outside of transactions, received by listeners. */
#include "pg_fixture.h"

#include <poll.h>

TEST_ONLY_DB(postgres);

TEST_THREADED;

static struct listener *listen_to(struct pg *t, unsigned what)
{
    struct listener *l = NULL;

    CHECK_OK_ERR(db_postgres.listen(t->url, t->env, what, &l, &t->err), &t->err);
    return l;
}

/* Waits for a wake-up and returns its bits. */
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

TEST(wake_up_reaches_only_the_listeners_that_asked_for_its_bits)
{
    struct pg t = pg_ready();
    struct listener *jobs = listen_to(&t, WAKE_JOBS), *all = listen_to(&t, 7);

    CHECK(all->fd >= 0);
    CHECK_EQ(all->poll_ms, 30000);
    CHECK_EQ(all->drain(all), 0);
    t.db->driver->wake(t.db, WAKE_CANCEL);
    CHECK_EQ(wait_for_wake(all), WAKE_CANCEL);
    CHECK_EQ(jobs->drain(jobs), 0); /* this listener does not listen for cancels */
    t.db->driver->wake(t.db, WAKE_JOBS | WAKE_EVENTS);
    CHECK_EQ(wait_for_wake(all), WAKE_JOBS | WAKE_EVENTS);
    CHECK_EQ(wait_for_wake(jobs), WAKE_JOBS);
    jobs->close(jobs);
    all->close(all);
    pg_done(&t);
}

TEST(wake_up_is_delivered_after_its_sender_has_closed)
{
    struct pg t = pg_ready(), sender = pg_second(&t);
    struct listener *l = listen_to(&t, WAKE_JOBS);

    sender.db->driver->wake(sender.db, WAKE_JOBS);
    pg_end(&sender);
    CHECK_EQ(wait_for_wake(l), WAKE_JOBS);
    l->close(l);
    pg_done(&t);
}

/* Counts notifications up to the first that has the bit `last`. */
static int count_until(PGconn *conn, unsigned last)
{
    int n = 0;

    for (;;) {
        struct pollfd p = {.fd = pq.socket(conn), .events = POLLIN};
        PGnotify *notification;

        CHECK_EQ(poll(&p, 1, -1), 1);
        CHECK(pq.consumeInput(conn));
        while ((notification = pq.notifies(conn))) {
            unsigned bits = (unsigned)strtoul(notification->extra, NULL, 10);

            n++;
            pq.freemem(notification);
            if (bits & last)
                return n;
        }
    }
}

TEST(many_wake_ups_are_merged_and_the_last_one_is_delivered)
{
    enum { STORM = 100000 };
    struct pg t = pg_ready();
    struct pg_session session;
    PGconn *conn = NULL;
    PGresult *res = NULL;

    CHECK_OK_ERR(pg_connect(t.url, 0, &conn, &session, &t.err), &t.err);
    CHECK(pq.sendQuery(conn, "LISTEN pawl"));
    CHECK_OK_ERR(pg_finish_statement(conn, SECOND, "LISTEN", "", &res, &t.err), &t.err);
    pq.clear(res);
    for (int i = 0; i < STORM; i++)
        t.db->driver->wake(t.db, WAKE_JOBS);
    t.db->driver->wake(t.db, WAKE_EVENTS); /* no later call sends it */
    CHECK(count_until(conn, WAKE_EVENTS) < STORM / 10);
    pg_close(&conn);
    pg_done(&t);
}

STMT(listener_pid,
     "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'",
     0, 0, 0);
STMT(sender_pid,
     "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
     " AND query LIKE '%pg_notify(%' AND pid <> pg_backend_pid()",
     0, 0, 0);

static void kill_session_found_by(struct pg *t, const struct stmt *which)
{
    pg_kill(t, pg_number_in_tx(t, which));
}

TEST(listener_that_reconnects_reports_every_wake_up_bit_that_it_asked_for)
{
    struct pg t = pg_ready();
    struct listener *l = listen_to(&t, WAKE_JOBS | WAKE_CANCEL);

    for (int i = 0; i < 2; i++) {
        kill_session_found_by(&t, &listener_pid);
        CHECK_EQ(wait_for_wake(l),
                 WAKE_JOBS | WAKE_CANCEL); /* the listener may have missed any of them */
        CHECK(l->fd >= 0);
        CHECK_EQ(l->poll_ms, 30000);
        CHECK_EQ(l->drain(l), 0);
        t.db->driver->wake(t.db, WAKE_CANCEL);
        CHECK_EQ(wait_for_wake(l), WAKE_CANCEL);
    }
    l->close(l);
    pg_done(&t);
}

TEST(wake_up_after_a_lost_connection_is_delivered)
{
    struct pg t = pg_ready();
    struct listener *l = listen_to(&t, 7);

    t.db->driver->wake(t.db, WAKE_JOBS);
    CHECK_EQ(wait_for_wake(l), WAKE_JOBS);
    kill_session_found_by(&t, &sender_pid);
    t.db->driver->wake(t.db, WAKE_CANCEL);
    CHECK_EQ(wait_for_wake(l), WAKE_CANCEL);
    l->close(l);
    pg_done(&t);
}

/* The database is renamed: the sender can't reach it, while the test still reaches the server. */
TEST(sending_a_wake_up_and_closing_do_not_wait_for_an_unreachable_database)
{
    struct pg t = pg_ready(), sender = pg_second(&t);
    char *hide =
        mem_printf("ALTER DATABASE test_%d RENAME TO gone_%d", (int)getpid(), (int)getpid());
    char *show =
        mem_printf("ALTER DATABASE gone_%d RENAME TO test_%d", (int)getpid(), (int)getpid());

    pg_kill(&t, pg_number_in_tx(&sender, &backend_pid));
    db_close(&t.db);
    pg_admin(pg_server(), hide);
    for (int i = 0; i < 1000; i++)
        sender.db->driver->wake(sender.db, WAKE_JOBS);
    pg_end(&sender); /* would never return if it waited for the database */
    pg_admin(pg_server(), show);
    free(hide);
    free(show);
    pg_done(&t);
}
