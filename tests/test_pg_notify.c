/* test_pg_notify.c - wake-ups by NOTIFY: said off the transactions' path, heard by listeners. */
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

/* Waits until some of the bits were heard. */
static unsigned hear(struct listener *l)
{
    unsigned bits = 0;

    while (!bits) {
        struct pollfd p = {.fd = l->fd, .events = POLLIN};

        poll(&p, 1, l->poll_ms < 10000 ? l->poll_ms : -1);
        bits = l->drain(l);
    }
    return bits;
}

TEST(what_one_says_another_hears)
{
    struct pg t = pg_ready();
    struct listener *jobs = listen_to(&t, WAKE_JOBS), *all = listen_to(&t, 7);

    CHECK(all->fd >= 0);
    CHECK_EQ(all->poll_ms, 30000);
    CHECK_EQ(all->drain(all), 0);
    t.db->driver->wake(t.db, WAKE_CANCEL);
    CHECK_EQ(hear(all), WAKE_CANCEL);
    CHECK_EQ(jobs->drain(jobs), 0); /* not its business */
    t.db->driver->wake(t.db, WAKE_JOBS | WAKE_EVENTS);
    CHECK_EQ(hear(all), WAKE_JOBS | WAKE_EVENTS);
    CHECK_EQ(hear(jobs), WAKE_JOBS);
    jobs->close(jobs);
    all->close(all);
    pg_done(&t);
}

TEST(what_was_said_last_is_heard_after_the_speaker_has_closed)
{
    struct pg t = pg_ready(), speaker = pg_second(&t);
    struct listener *l = listen_to(&t, WAKE_JOBS);

    speaker.db->driver->wake(speaker.db, WAKE_JOBS);
    pg_end(&speaker);
    CHECK_EQ(hear(l), WAKE_JOBS);
    l->close(l);
    pg_done(&t);
}

/* How many notifications come until one carries the bit `last`. */
static int count_until(PGconn *conn, unsigned last)
{
    int n = 0;

    for (;;) {
        struct pollfd p = {.fd = pq.socket(conn), .events = POLLIN};
        PGnotify *heard;

        CHECK_EQ(poll(&p, 1, -1), 1);
        CHECK(pq.consumeInput(conn));
        while ((heard = pq.notifies(conn))) {
            unsigned bits = (unsigned)strtoul(heard->extra, NULL, 10);

            n++;
            pq.freemem(heard);
            if (bits & last)
                return n;
        }
    }
}

TEST(a_storm_becomes_a_few_and_its_last_word_is_heard)
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
    t.db->driver->wake(t.db, WAKE_EVENTS); /* and nobody calls again */
    CHECK(count_until(conn, WAKE_EVENTS) < STORM / 10);
    pg_close(&conn);
    pg_done(&t);
}

STMT(listener_pid,
     "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'",
     0, 0, 0);
STMT(speaker_pid,
     "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
     " AND query LIKE '%pg_notify(%' AND pid <> pg_backend_pid()",
     0, 0, 0);

static void kill_the_one(struct pg *t, const struct stmt *which)
{
    pg_kill(t, pg_number_in_tx(t, which));
}

TEST(a_listener_that_lost_its_connection_hears_everything_once_it_is_back)
{
    struct pg t = pg_ready();
    struct listener *l = listen_to(&t, WAKE_JOBS | WAKE_CANCEL);

    for (int i = 0; i < 2; i++) {
        kill_the_one(&t, &listener_pid);
        CHECK_EQ(hear(l), WAKE_JOBS | WAKE_CANCEL); /* whatever was said meanwhile */
        CHECK(l->fd >= 0);
        CHECK_EQ(l->poll_ms, 30000);
        CHECK_EQ(l->drain(l), 0);
        t.db->driver->wake(t.db, WAKE_CANCEL);
        CHECK_EQ(hear(l), WAKE_CANCEL);
    }
    l->close(l);
    pg_done(&t);
}

TEST(a_speaker_that_lost_its_connection_says_it_again)
{
    struct pg t = pg_ready();
    struct listener *l = listen_to(&t, 7);

    t.db->driver->wake(t.db, WAKE_JOBS);
    CHECK_EQ(hear(l), WAKE_JOBS);
    kill_the_one(&t, &speaker_pid);
    t.db->driver->wake(t.db, WAKE_CANCEL);
    CHECK_EQ(hear(l), WAKE_CANCEL);
    l->close(l);
    pg_done(&t);
}

/* The server must go, for the speaker, not for the test: its database is renamed. */
TEST(nobody_to_talk_to_holds_up_nothing)
{
    struct pg t = pg_ready(), speaker = pg_second(&t);
    char *hide =
        mem_printf("ALTER DATABASE test_%d RENAME TO gone_%d", (int)getpid(), (int)getpid());
    char *show =
        mem_printf("ALTER DATABASE gone_%d RENAME TO test_%d", (int)getpid(), (int)getpid());

    pg_kill(&t, pg_number_in_tx(&speaker, &backend_pid));
    db_close(&t.db);
    pg_admin(pg_server(), hide);
    for (int i = 0; i < 1000; i++)
        speaker.db->driver->wake(speaker.db, WAKE_JOBS);
    pg_end(&speaker); /* where it waited for the database this would never end */
    pg_admin(pg_server(), show);
    free(hide);
    free(show);
    pg_done(&t);
}
