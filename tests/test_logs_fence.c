/* test_logs_fence.c - only output of the worker that holds the lease counts, from the offset that
 * it gives; chunks from any other worker change nothing. */
#include "log_fixture.h"

TEST(worker_that_lost_its_lease_stores_no_output)
{
    struct store *s = fixture_store();
    struct held_job old = running(s), now, other;
    struct log_chunk list[2];

    CHECK_EQ(send_text(s, old, 0, "0123456789"), 0);
    other = old;
    other.worker = 9;
    CHECK_EQ(send_text(s, other, 10, "not mine"), -E_LEASE_LOST);
    CHECK_EQ(send_text(s, other, 0, "not mine"),
             -E_LEASE_LOST); /* another worker may not replace output either */
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
    send(s, 1, list, 2); /* a refused chunk does not affect the others */
    CHECK_EQ(list[0].lease.rc, -E_LEASE_LOST);
    CHECK_EQ(list[1].lease.rc, 0);
    check_log(s, other.id, 0, "good");
    CHECK_EQ(settle_ok(s, now), 0);
    CHECK_EQ(send_text(s, now, 0, "after the end"), -E_LEASE_LOST);
    check_log(s, old.id, 0, "0123456789");
    verify_clean(s);
    store_close(&s);
}

struct final_output {
    struct log_chunk chunk;
    struct settlement settlement;
};

static int final_output_body(struct turn *t, void *arg, struct err *err)
{
    struct final_output *w = arg;
    int rc = op_store_logs(t, 1, &w->chunk, 1, err);

    return rc ? rc : op_settle(t, 1, &w->settlement, 1, err);
}

TEST(final_output_is_stored_in_the_turn_that_settles_the_attempt)
{
    struct store *s = fixture_store();
    struct held_job j = running(s);
    struct final_output w = {.chunk = chunk_of(j, 0, "bye", 3)};
    struct err err = ERR_INIT;

    w.settlement = (struct settlement){.lease = w.chunk.lease,
                                       .outcome = {.kind = OUTCOME_OK, .duration = -1}};
    CHECK_OK_ERR(store_turn(s, final_output_body, &w, &err), &err);
    CHECK_EQ(w.chunk.lease.rc, 0);
    CHECK_EQ(w.settlement.lease.rc, 0);
    check_log(s, j.id, 0, "bye");
    verify_clean(s);
    store_close(&s);
}

TEST(output_of_an_adopted_attempt_is_sent_again_from_its_start_without_duplicates)
{
    struct store *s = fixture_store();
    struct held_job j = running(s);

    CHECK_EQ(send_text(s, j, 0, "01234"), 0);
    CHECK_EQ(send_text(s, j, 5, "56789ab"), 0);
    j = reap_and_adopt(s, 2);
    check_log(s, j.id, 0, "0123456789ab");  /* shown until the new worker sends its own output */
    CHECK_EQ(send_text(s, j, 0, "012"), 0); /* with other chunk boundaries */
    check_log(s, j.id, 0, "012");
    CHECK_EQ(send_text(s, j, 3, "3456789abc"), 0);
    check_log(s, j.id, 0, "0123456789abc");
    j = reap_and_adopt(s, 3);
    CHECK_EQ(send_text(s, j, 0, "0123456789abcdef"), 0);
    check_log(s, j.id, 0, "0123456789abcdef");
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM attempt_logs"), 1);
    verify_clean(s);
    store_close(&s);
}

TEST(output_sent_again_replaces_everything_from_its_offset_on)
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

/* The lease is lost between the worker's check of it and its commit. */
struct concurrent_adoption {
    struct store *other;
    struct held_job j;
};

static void adopt_and_send(void *arg)
{
    struct concurrent_adoption *p = arg;

    p->j = reap_and_adopt(p->other, 2);
    CHECK_EQ(send_text(p->other, p->j, 0, "0123456"), 0);
    CHECK_EQ(send_text(p->other, p->j, 7, "789"), 0);
}

TEST(log_chunk_of_the_old_worker_that_commits_after_the_adoption_is_never_shown)
{
    struct watch w = {0};
    struct concurrent_adoption p = {.other = fixture_store()};
    struct store *s;
    struct held_job old;

    if (strcmp(test_db(), "postgres"))
        SKIP("for PostgreSQL only: on SQLite a turn excludes all others");
    s = watched_store(&w);
    old = running(p.other);
    CHECK_EQ(send_text(s, old, 0, "01234"), 0);
    watch_for(&w, "commit", 1, adopt_and_send, &p);
    /* accepted: the old worker still held the lease when the turn checked it */
    CHECK_EQ(send_text(s, old, 5, "late"), 0);
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
