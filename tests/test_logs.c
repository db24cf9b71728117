/* test_logs.c - the contract of attempt logs: output that was sent can be read, in pages and while
 * the attempt runs. */
#include "log_fixture.h"

#include <stdlib.h>

TEST(output_of_an_attempt_is_readable_while_the_attempt_runs_and_afterwards)
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

TEST(output_with_any_bytes_is_read_back_unchanged)
{
    struct store *s = fixture_store();
    struct held_job j = running(s);
    size_t len = 300000, i;
    char *bytes = mem_alloc(len);
    struct buf b;

    for (i = 0; i < len / 2; i++) /* half of it can be compressed, half can't */
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

TEST(log_page_has_the_requested_bytes_and_says_whether_more_follow)
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
    p = page(s, j.id, 0, 12, 8, &b); /* appended to the buffer */
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

TEST(log_of_more_than_a_thousand_small_chunks_is_read_to_the_end)
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

TEST(dropped_output_is_reported_at_its_position_in_the_log)
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
    CHECK_STR(buf_cstr(&b), "head\n"); /* a page never spans the gap */
    CHECK_EQ(p.dropped, 0);
    CHECK(p.more);
    buf_reset(&b);
    p = page(s, j.id, 0, p.next, 100, &b);
    CHECK_STR(buf_cstr(&b), "tail!");
    CHECK_EQ(p.dropped, 1000);
    CHECK(!p.more);
    CHECK_EQ(p.from, 1005); /* positions count all output, dropped or not */
    CHECK_EQ(p.next, 1010);
    p = page(s, j.id, 0, 1007, 100, &b); /* the gap is reported only at its position */
    CHECK_EQ(p.dropped, 0);
    p = page(s, j.id, 0, 1009, 100, &b);
    CHECK_EQ(p.dropped, 0);
    p = page(s, j.id, 0, 7, 100, &b); /* from the middle of the gap */
    CHECK_EQ(p.dropped, 998);
    buf_release(&b);
    check_log(s, j.id, 0, "head\n…tail!");
    verify_clean(s);
    store_close(&s);
}

TEST(log_reader_keeps_its_position_while_the_stored_tail_moves)
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
    CHECK_EQ(p.dropped, 2005 - 1013); /* a reader that is too slow learns how much it missed */
    buf_release(&b);
    verify_clean(s);
    store_close(&s);
}

TEST(empty_log_chunk_is_not_stored)
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

TEST(each_attempt_has_its_own_log_and_the_log_of_the_last_attempt_is_the_default)
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
    CHECK_EQ(query_log(s, &(struct log_position){.execution = 999999}, 10, &out, &p, &err),
             -E_NOT_FOUND);
    CHECK(strstr(err.msg, "999999"));
    CHECK_EQ(out.len, 0);
    buf_release(&out);
    verify_clean(s);
    store_close(&s);
}
