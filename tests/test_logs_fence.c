/* test_logs_fence.c - whose output counts: that of the holder of the lease, from the place on that
 * it says; what anybody else sends changes nothing. */
#include "log_fixture.h"

TEST(whoever_lost_the_lease_stores_nothing)
{
    struct store *s = fixture_store();
    struct held_job old = running(s), now, other;
    struct log_chunk list[2];

    CHECK_EQ(send_text(s, old, 0, "0123456789"), 0);
    other = old;
    other.worker = 9;
    CHECK_EQ(send_text(s, other, 10, "not mine"), -E_LEASE_LOST);
    CHECK_EQ(send_text(s, other, 0, "not mine"), -E_LEASE_LOST); /* nor may it take away */
    clock_advance(LEASE + SECOND);
    CHECK_EQ(reap(s), 1);
    CHECK_EQ(send_text(s, old, 10, "an orphan's"), -E_LEASE_LOST);
    CHECK(adopt_one(s, 2, &now));
    CHECK_EQ(send_text(s, old, 10, "late"), -E_LEASE_LOST);
    CHECK_EQ(send_text(s, old, 4, "late"), -E_LEASE_LOST);
    check_log(s, old.id, 0, "0123456789");
    list[0] = chunk_of(old, 10, "mixed", 5);
    submit(s, "y");
    other = claim_job(s, 1);
    list[1] = chunk_of(other, 0, "good", 4);
    send(s, 1, list, 2); /* a refused one does not spoil the others */
    CHECK_EQ(list[0].lease.rc, -E_LEASE_LOST);
    CHECK_EQ(list[1].lease.rc, 0);
    check_log(s, other.id, 0, "good");
    CHECK_EQ(settle_ok(s, now), 0);
    CHECK_EQ(send_text(s, now, 0, "after the end"), -E_LEASE_LOST);
    check_log(s, old.id, 0, "0123456789");
    verify_clean(s);
    store_close(&s);
}

struct last_words {
    struct log_chunk chunk;
    struct settlement settlement;
};

static int last_words_body(struct turn *t, void *arg, struct err *err)
{
    struct last_words *w = arg;
    int rc = op_store_logs(t, 1, &w->chunk, 1, err);

    return rc ? rc : op_settle(t, 1, &w->settlement, 1, err);
}

TEST(the_last_words_are_stored_in_the_turn_that_settles)
{
    struct store *s = fixture_store();
    struct held_job j = running(s);
    struct last_words w = {.chunk = chunk_of(j, 0, "bye", 3)};
    struct err err = ERR_INIT;

    w.settlement = (struct settlement){.lease = w.chunk.lease,
                                       .outcome = {.kind = OUTCOME_OK, .duration = -1}};
    CHECK_OK_ERR(store_turn(s, last_words_body, &w, &err), &err);
    CHECK_EQ(w.chunk.lease.rc, 0);
    CHECK_EQ(w.settlement.lease.rc, 0);
    check_log(s, j.id, 0, "bye");
    verify_clean(s);
    store_close(&s);
}

TEST(who_takes_an_attempt_over_begins_at_0_and_no_byte_comes_twice)
{
    struct store *s = fixture_store();
    struct held_job j = running(s);

    CHECK_EQ(send_text(s, j, 0, "01234"), 0);
    CHECK_EQ(send_text(s, j, 5, "56789ab"), 0);
    j = taken_over(s, 2);
    check_log(s, j.id, 0, "0123456789ab");  /* until the new holder says otherwise */
    CHECK_EQ(send_text(s, j, 0, "012"), 0); /* with other boundaries */
    check_log(s, j.id, 0, "012");
    CHECK_EQ(send_text(s, j, 3, "3456789abc"), 0);
    check_log(s, j.id, 0, "0123456789abc");
    j = taken_over(s, 3);
    CHECK_EQ(send_text(s, j, 0, "0123456789abcdef"), 0);
    check_log(s, j.id, 0, "0123456789abcdef");
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM attempt_logs"), 1);
    verify_clean(s);
    store_close(&s);
}

TEST(what_is_sent_again_replaces_everything_from_there_on)
{
    struct store *s = fixture_store();
    struct held_job j = running(s);

    CHECK_EQ(send_text(s, j, 0, "abc"), 0);
    CHECK_EQ(send_text(s, j, 3, "def"), 0);
    CHECK_EQ(send_text(s, j, 6, "ghi"), 0);
    CHECK_EQ(send_text(s, j, 3, "DE"), 0);
    check_log(s, j.id, 0, "abcDE");
    CHECK_EQ(send_text(s, j, 0, "xyz"), 0);
    check_log(s, j.id, 0, "xyz");
    verify_clean(s);
    store_close(&s);
}

/* The lease is lost between the worker's look at it and its commit. */
struct slipping {
    struct store *other;
    struct held_job j;
};

static void take_over_and_send(void *arg)
{
    struct slipping *p = arg;

    p->j = taken_over(p->other, 2);
    CHECK_EQ(send_text(p->other, p->j, 0, "0123456"), 0);
    CHECK_EQ(send_text(p->other, p->j, 7, "789"), 0);
}

TEST(a_chunk_that_commits_after_the_takeover_is_never_shown)
{
    struct watch w = {0};
    struct slipping p = {.other = fixture_store()};
    struct store *s;
    struct held_job old;

    if (strcmp(test_db(), "postgres"))
        SKIP("a turn excludes all others there");
    s = watched_store(&w);
    old = running(p.other);
    CHECK_EQ(send_text(s, old, 0, "01234"), 0);
    watch_for(&w, "commit", 1, take_over_and_send, &p);
    CHECK_EQ(send_text(s, old, 5, "late"), 0); /* it held the lease when it asked */
    CHECK(w.acted);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM attempt_logs WHERE epoch = 1"), 1);
    check_log(s, old.id, 0, "0123456789");
    CHECK_EQ(send_text(p.other, p.j, 0, "0123456789"), 0);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM attempt_logs WHERE epoch = 1"), 0);
    CHECK_EQ(settle_ok(p.other, p.j), 0);
    verify_clean(s);
    store_close(&p.other);
    store_close(&s);
}
