/* test_logs.c - the contract of attempt logs: what the holder of a lease sends is there to be read,
 * in pages and while the attempt runs; what anybody else sends changes nothing. */
#include "fixture.h"

#include "base/buf.h"
#include "store/query.h"

#include <stdlib.h>
#include <string.h>

#define DAY (24 * 3600 * SECOND)

struct logging {
    int64_t worker;
    struct log_chunk *list;
    size_t n;
};

static int log_body(struct turn *t, void *arg, struct err *err)
{
    struct logging *g = arg;

    return op_log(t, g->worker, g->list, g->n, err);
}

static struct log_chunk chunk_of(struct held_job j, int64_t offset, const char *bytes, size_t len)
{
    return (struct log_chunk){.lease = {.execution = j.id, .root = j.root, .epoch = j.epoch},
                              .attempt = j.attempt,
                              .bytes = bytes,
                              .len = len,
                              .offset = offset};
}

static void send(struct store *s, int64_t worker, struct log_chunk *list, size_t n)
{
    struct logging g = {worker, list, n};
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, log_body, &g, &err), &err);
}

static int send_bytes(struct store *s, struct held_job j, int64_t offset, const char *bytes,
                      size_t len)
{
    struct log_chunk c = chunk_of(j, offset, bytes, len);

    send(s, j.worker, &c, 1);
    return c.lease.rc;
}

static int send_text(struct store *s, struct held_job j, int64_t offset, const char *text)
{
    return send_bytes(s, j, offset, text, strlen(text));
}

static struct log_page page(struct store *s, int64_t id, int attempt, int64_t from, size_t max,
                            struct buf *out)
{
    struct log_page p = {0};
    struct err err = ERR_INIT;

    CHECK_OK_ERR(query_log(s, &(struct log_place){id, attempt, from}, max, out, &p, &err), &err);
    return p;
}

/* All of an attempt's output, in pages of `max` bytes; "…" stands where something is missing. */
static struct buf read_all(struct store *s, int64_t id, int attempt, size_t max)
{
    struct buf b = BUF_INIT;
    struct log_page p = {.more = true};

    while (p.more) {
        struct buf one = BUF_INIT;
        int64_t from = p.next;

        p = page(s, id, attempt, from, max, &one);
        CHECK(one.len <= max);
        CHECK_EQ(p.next, p.from + (int64_t)one.len);
        CHECK(p.next > from || !p.more);
        if (p.dropped || p.from > from)
            buf_addstr(&b, "…");
        buf_add(&b, one.ptr, one.len);
        buf_release(&one);
    }
    return b;
}

static void check_log(struct store *s, int64_t id, int attempt, const char *expected)
{
    static const size_t sizes[] = {1, 3, 7, 1000000};
    size_t i;

    for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        struct buf b = read_all(s, id, attempt, sizes[i]);

        CHECK_STR(buf_cstr(&b), expected);
        buf_release(&b);
    }
}

static struct held_job running(struct store *s)
{
    submit_with(s, (struct submission){.name = "x", .max_attempts = 3});
    return claim_job(s, 1);
}

static struct held_job taken_over(struct store *s, int64_t worker)
{
    struct held_job j = {0};

    clock_advance(LEASE + SECOND);
    CHECK_EQ(reap(s), 1);
    CHECK(adopt_one(s, worker, &j));
    return j;
}

/* ---- writing and reading ---- */

TEST(what_an_attempt_wrote_can_be_read_while_it_runs_and_after_it)
{
    struct store *s = fixture_store(), *reader = fixture_store();
    struct held_job j = running(s);

    check_log(reader, j.id, 0, "");
    CHECK_EQ(send_text(s, j, 0, "one\n"), 0);
    check_log(reader, j.id, 0, "one\n");
    CHECK_EQ(send_text(s, j, 4, "two\n"), 0);
    CHECK_EQ(send_text(s, j, 8, "three\n"), 0);
    check_log(reader, j.id, 1, "one\ntwo\nthree\n");
    CHECK_EQ(settle_ok(s, j), 0);
    check_log(reader, j.id, 0, "one\ntwo\nthree\n");
    verify_clean(s);
    store_close(&reader);
    store_close(&s);
}

TEST(any_bytes_come_back_as_they_were_sent)
{
    struct store *s = fixture_store();
    struct held_job j = running(s);
    size_t len = 300000, i;
    char *bytes = mem_alloc(len);
    struct buf b;

    for (i = 0; i < len / 2; i++) /* half of it can be packed, half can't */
        bytes[i] = (char)(i % 7);
    env_random(bytes + len / 2, len - len / 2);
    CHECK_EQ(send_bytes(s, j, 0, bytes, len), 0);
    CHECK(sql_number(s, "SELECT count(*) FROM attempt_logs") >= 5);
    CHECK_EQ(sql_number(s, "SELECT max(raw) FROM attempt_logs"), STORE_MAX_LOG_CHUNK);
    CHECK_EQ(sql_number(s, "SELECT sum(raw) FROM attempt_logs"), (int64_t)len);
    CHECK(sql_number(s, "SELECT sum(length(data)) FROM attempt_logs") < (int64_t)len * 6 / 10);
    CHECK_EQ(sql_number(s, "SELECT count(DISTINCT packed) FROM attempt_logs"), 2);
    b = read_all(s, j.id, 0, 10007);
    CHECK_EQ(b.len, len);
    CHECK(!memcmp(b.ptr, bytes, len));
    buf_release(&b);
    free(bytes);
    verify_clean(s);
    store_close(&s);
}

TEST(a_page_holds_what_was_asked_for_and_says_whether_there_is_more)
{
    struct store *s = fixture_store();
    struct held_job j = running(s);
    struct buf b = BUF_INIT;
    struct log_page p;

    CHECK_EQ(send_text(s, j, 0, "0123456789"), 0);
    CHECK_EQ(send_text(s, j, 10, "abcdefghij"), 0);
    p = page(s, j.id, 0, 8, 4, &b);
    CHECK_STR(buf_cstr(&b), "89ab");
    CHECK_EQ(p.attempt, 1);
    CHECK_EQ(p.from, 8);
    CHECK_EQ(p.next, 12);
    CHECK(p.more);
    p = page(s, j.id, 0, 12, 8, &b); /* it is added to what is there */
    CHECK_STR(buf_cstr(&b), "89abcdefghij");
    CHECK(!p.more);
    p = page(s, j.id, 0, 20, 8, &b);
    CHECK_EQ(p.next, 20);
    CHECK(!p.more);
    p = page(s, j.id, 0, 99, 8, &b);
    CHECK(!p.more);
    CHECK_EQ(b.len, 12);
    buf_release(&b);
    verify_clean(s);
    store_close(&s);
}

TEST(a_thousand_small_chunks_and_more_are_read_to_the_end)
{
    struct store *s = fixture_store();
    struct held_job j = running(s);
    struct log_chunk list[2500];
    char bytes[2501];
    struct buf b;
    size_t i;

    for (i = 0; i < 2500; i++) {
        bytes[i] = (char)('a' + i % 26);
        list[i] = chunk_of(j, (int64_t)i, &bytes[i], 1);
    }
    bytes[2500] = '\0';
    send(s, 1, list, 2500);
    b = read_all(s, j.id, 0, 1000000);
    CHECK_STR(b.ptr, bytes);
    buf_release(&b);
    b = read_all(s, j.id, 0, 999);
    CHECK_STR(b.ptr, bytes);
    buf_release(&b);
    verify_clean(s);
    store_close(&s);
}

TEST(what_was_left_out_is_told_where_it_is_missing)
{
    struct store *s = fixture_store();
    struct held_job j = running(s);
    struct log_chunk tail = chunk_of(j, 5, "tail", 4), rest = chunk_of(j, 9, "!", 1);
    struct buf b = BUF_INIT;
    struct log_page p;

    tail.dropped = rest.dropped = 1000;
    CHECK_EQ(send_text(s, j, 0, "head\n"), 0);
    send(s, 1, &tail, 1);
    send(s, 1, &rest, 1);
    CHECK_EQ(tail.lease.rc, 0);
    p = page(s, j.id, 0, 0, 100, &b);
    CHECK_STR(buf_cstr(&b), "head\n"); /* never over the gap */
    CHECK_EQ(p.dropped, 0);
    CHECK(p.more);
    buf_reset(&b);
    p = page(s, j.id, 0, p.next, 100, &b);
    CHECK_STR(buf_cstr(&b), "tail!");
    CHECK_EQ(p.dropped, 1000);
    CHECK(!p.more);
    CHECK_EQ(p.from, 1005); /* all that was said is counted */
    CHECK_EQ(p.next, 1010);
    p = page(s, j.id, 0, 1007, 100, &b); /* said once, at its place */
    CHECK_EQ(p.dropped, 0);
    p = page(s, j.id, 0, 1009, 100, &b);
    CHECK_EQ(p.dropped, 0);
    p = page(s, j.id, 0, 7, 100, &b); /* in the middle of the gap */
    CHECK_EQ(p.dropped, 998);
    buf_release(&b);
    check_log(s, j.id, 0, "head\n…tail!");
    verify_clean(s);
    store_close(&s);
}

TEST(who_follows_finds_its_place_while_the_end_moves_on)
{
    struct store *s = fixture_store();
    struct held_job j = running(s);
    struct log_chunk first = chunk_of(j, 5, "tail!", 5), next = chunk_of(j, 5, "l!new", 5),
                     far = chunk_of(j, 5, "later", 5);
    struct buf b = BUF_INIT;
    struct log_page p;

    first.dropped = 1000, next.dropped = 1003, far.dropped = 2000;
    CHECK_EQ(send_text(s, j, 0, "head\n"), 0);
    send(s, 1, &first, 1);
    send(s, 1, &next, 1);
    p = page(s, j.id, 0, 1010, 100, &b);
    CHECK_STR(buf_cstr(&b), "new"); /* no byte twice, none missing */
    CHECK_EQ(p.dropped, 0);
    CHECK_EQ(p.next, 1013);
    CHECK(!p.more);
    buf_reset(&b);
    p = page(s, j.id, 0, p.next, 100, &b);
    CHECK_EQ(b.len, 0);
    CHECK_EQ(p.next, 1013);
    send(s, 1, &far, 1);
    p = page(s, j.id, 0, p.next, 100, &b);
    CHECK_STR(buf_cstr(&b), "later");
    CHECK_EQ(p.dropped, 2005 - 1013); /* who was too slow is told what it missed */
    buf_release(&b);
    verify_clean(s);
    store_close(&s);
}

TEST(nothing_is_stored_for_no_bytes)
{
    struct store *s = fixture_store();
    struct held_job j = running(s);
    struct log_chunk list[] = {chunk_of(j, 0, NULL, 0), chunk_of(j, 0, "a", 1),
                               chunk_of(j, 1, "", 0)};

    send(s, 1, list, 3);
    CHECK_EQ(list[0].lease.rc | list[1].lease.rc | list[2].lease.rc, 0);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM attempt_logs"), 1);
    check_log(s, j.id, 0, "a");
    send(s, 1, NULL, 0);
    verify_clean(s);
    store_close(&s);
}

TEST(each_attempt_has_a_log_of_its_own_and_the_last_is_the_usual_one)
{
    struct store *s = fixture_store();
    struct held_job a = running(s), b;
    struct log_page p;
    struct buf out = BUF_INIT;
    struct err err = ERR_INIT;

    CHECK_EQ(send_text(s, a, 0, "first"), 0);
    CHECK_EQ(settle_as(s, a, OUTCOME_FAILED, 0), 0);
    b = claim_job(s, 1);
    check_log(s, a.id, 0, ""); /* the second has written nothing yet */
    CHECK_EQ(send_text(s, b, 0, "second"), 0);
    check_log(s, a.id, 0, "second");
    check_log(s, a.id, 1, "first");
    check_log(s, a.id, 2, "second");
    check_log(s, a.id, 3, "");
    p = page(s, submit(s, "not started"), 0, 0, 10, &out);
    CHECK_EQ(p.attempt, 0);
    CHECK(!p.more);
    CHECK_EQ(query_log(s, &(struct log_place){.execution = 999999}, 10, &out, &p, &err),
             -E_NOT_FOUND);
    CHECK(strstr(err.msg, "999999"));
    CHECK_EQ(out.len, 0);
    buf_release(&out);
    verify_clean(s);
    store_close(&s);
}

/* ---- the fence ---- */

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
    int rc = op_log(t, 1, &w->chunk, 1, err);

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

/* ---- retention ---- */

static int retain_body(struct turn *t, void *arg, struct err *err)
{
    struct retention *r = arg;

    return r->logs_only ? op_retain_logs(t, r, &r[1], err) : op_retain(t, r, &r[1], err);
}

static int slices;

static struct retention retain(struct store *s, struct retention from)
{
    struct retention r[2] = {from};
    struct err err = ERR_INIT;

    for (slices = 0; !slices || r[0].more; slices++) {
        CHECK_OK_ERR(store_long_turn(s, retain_body, r, &err), &err);
        r[0] = r[1];
    }
    return r[0];
}

/* One in a slice: so slices count what is looked at. */
TEST(what_has_no_logs_any_more_is_not_looked_at_for_them)
{
    struct store *s = fixture_store();
    struct retention logs = {.older_than = 7 * DAY, .max_trees = 1, .logs_only = true};
    int i;

    for (i = 0; i < 10; i++) {
        struct held_job j = running(s);

        CHECK_EQ(send_text(s, j, 0, "old"), 0);
        CHECK_EQ(settle_ok(s, j), 0);
    }
    clock_advance(8 * DAY);
    CHECK_EQ(retain(s, logs).executions, 10);
    CHECK_EQ(slices, 11);
    CHECK_EQ(retain(s, logs).executions, 0);
    CHECK_EQ(slices, 1);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM attempt_logs"), 0);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions"), 10);
    verify_clean(s);
    store_close(&s);
}

/* A child may end long before what started it, and long after. */
TEST(logs_stay_until_both_the_execution_and_its_tree_ended_so_long_ago)
{
    struct store *s = fixture_store();
    struct retention logs = {.older_than = 7 * DAY, .max_trees = 10, .logs_only = true};
    struct held_job top = running(s), early, late;

    submit_child(s, top.id, "early");
    early = claim_job(s, 1);
    submit_child(s, top.id, "late");
    late = claim_job(s, 1);
    CHECK_EQ(send_text(s, top, 0, "top"), 0);
    CHECK_EQ(send_text(s, early, 0, "early"), 0);
    CHECK_EQ(send_text(s, late, 0, "late"), 0);
    CHECK_EQ(settle_ok(s, early), 0);
    clock_advance(8 * DAY);
    CHECK_EQ(retain(s, logs).executions, 0);
    CHECK_EQ(settle_ok(s, top), 0);
    clock_advance(8 * DAY);
    CHECK_EQ(retain(s, logs).executions, 2);
    check_log(s, late.id, 0, "late");
    CHECK_EQ(settle_ok(s, late), 0);
    clock_advance(8 * DAY);
    CHECK_EQ(retain(s, logs).executions, 1);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM attempt_logs"), 0);
    verify_clean(s);
    store_close(&s);
}

TEST(logs_go_with_their_tree_or_before_it)
{
    struct store *s = fixture_store();
    struct held_job j = running(s), open;
    struct retention logs = {.older_than = 7 * DAY, .max_trees = 1, .logs_only = true},
                     all = {.older_than = 90 * DAY, .max_trees = 10};

    submit_child(s, j.id, "child");
    open = claim_job(s, 1);
    CHECK_EQ(send_text(s, j, 0, "old"), 0);
    CHECK_EQ(send_text(s, open, 0, "a child's"), 0);
    CHECK_EQ(settle_ok(s, j), 0);
    CHECK_EQ(settle_ok(s, open), 0);
    open = running(s);
    CHECK_EQ(send_text(s, open, 0, "running"), 0);
    clock_advance(8 * DAY);
    CHECK_EQ(retain(s, logs).executions, 2);
    check_log(s, j.id, 0, "");
    check_log(s, open.id, 0, "running");
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions"), 3);
    verify_clean(s);
    CHECK_EQ(settle_ok(s, open), 0);
    clock_advance(100 * DAY);
    CHECK_EQ(retain(s, all).trees, 2);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM attempt_logs"), 0);
    verify_clean(s);
    store_close(&s);
}
