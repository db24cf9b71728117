/* test_base.c - the base layer: errors, buffers, maps, memory, quarantine, random ids and clocks.
 * Text, times and JSON are tested by test_text.c, test_time.c and test_json.c. */
#include "harness.h"

#include "base/buf.h"
#include "base/env.h"
#include "base/err.h"
#include "base/idmap.h"
#include "base/mem.h"
#include "base/quarantine.h"
#include "base/text.h"

#include <malloc.h>
#include <stdalign.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TEST_NO_DB;

#define COUNT(list) (sizeof(list) / sizeof(*(list)))

/* ---- errors ---- */

TEST(err_set_returns_the_code_and_keeps_the_message)
{
    struct err err = ERR_INIT;

    CHECK_EQ(err_set(&err, E_NOT_FOUND, "there is no execution %d", 7), -E_NOT_FOUND);
    CHECK_EQ(err.code, E_NOT_FOUND);
    CHECK_STR(err.msg, "there is no execution 7");
    CHECK_EQ(err_prefix(&err, "while %s", "looking"), -E_NOT_FOUND);
    CHECK_STR(err.msg, "while looking: there is no execution 7");
}

TEST(error_keeps_the_name_of_the_missing_object_until_the_next_err_set)
{
    struct err err = ERR_INIT;

    err_set(&err, E_INVALID, "no value");
    CHECK_EQ(err_missing(&err, MISSING_PARAM, "day"), -E_INVALID);
    err_prefix(&err, "job 2 of 3");
    CHECK_EQ(err.missing, MISSING_PARAM);
    CHECK_STR(err.name, "day");
    err_set(&err, E_INVALID, "wrong");
    CHECK_EQ(err.missing, MISSING_NOTHING);
    CHECK_STR(err.name, "");
}

TEST(error_message_beyond_the_maximum_length_is_truncated)
{
    struct err err = ERR_INIT;
    char *flood = mem_alloc(5000);

    memset(flood, 'z', 4999);
    flood[4999] = '\0';
    CHECK_EQ(err_set(&err, E_INVALID, "%s", flood), -E_INVALID);
    CHECK_EQ(strlen(err.msg), sizeof(err.msg) - 1);
    CHECK_EQ(err_prefix(&err, "at the front"), -E_INVALID);
    CHECK_EQ(strlen(err.msg), sizeof(err.msg) - 1);
    CHECK(!strncmp(err.msg, "at the front: zzz", 17));
    CHECK_EQ(err_prefix(&err, "%s", flood), -E_INVALID);
    CHECK_EQ(strlen(err.msg), sizeof(err.msg) - 1);
    free(flood);
}

TEST(every_error_code_has_an_exit_code)
{
    static const enum error_code all[] = {
#define X(name, exit_code) E_##name,
        ERROR_CODES(X)
#undef X
    };
    size_t i;

    CHECK_EQ(err_exit_code(E_NONE), 0);
    for (i = 0; i < COUNT(all); i++)
        CHECK(err_exit_code(all[i]) >= 1 && err_exit_code(all[i]) <= 7);
    /* documented exit codes of the command line */
    CHECK_EQ(err_exit_code(E_INVALID), 2);
    CHECK_EQ(err_exit_code(E_NOT_FOUND), 5);
    CHECK_EQ(err_exit_code(E_UNAVAILABLE), 6);
    CHECK_EQ(err_exit_code(E_REFUSED), 7);
}

/* ---- buffers ---- */

TEST(growing_buffer_stays_a_terminated_string)
{
    struct buf b = BUF_INIT;
    int i;

    CHECK_STR(buf_cstr(&b), "");
    buf_add(&b, NULL, 0);
    CHECK_STR(buf_cstr(&b), "");
    buf_addstr(&b, "ab");
    buf_addch(&b, 'c');
    buf_addf(&b, "%d-%s", 42, "x");
    CHECK_STR(b.ptr, "abc42-x");
    CHECK_EQ(b.len, 7);
    for (i = 0; i < 10000; i++)
        buf_addch(&b, 'z');
    CHECK_EQ(b.len, 10007);
    CHECK_EQ(strlen(b.ptr), 10007);
    buf_reset(&b);
    CHECK_STR(buf_cstr(&b), "");
    CHECK_EQ(b.len, 0);
    buf_add(&b, "a\0b", 3); /* bytes, not only text */
    CHECK_EQ(b.len, 3);
    CHECK_EQ(b.ptr[3], '\0');
    buf_release(&b);
    CHECK_STR(buf_cstr(&b), "");
    CHECK(!b.ptr);
}

TEST(formatted_text_longer_than_the_buffers_capacity_is_not_truncated)
{
    struct buf b = BUF_INIT;

    buf_addf(&b, "%5000d|", 1);
    CHECK_EQ(b.len, 5001);
    CHECK_EQ(b.ptr[4999], '1');
    buf_release(&b);
}

TEST(numbers_added_to_a_buffer_match_printf)
{
    static const int64_t numbers[] = {
        0, 1, -1, 9, 10, -10, 99, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN + 1, INT64_MIN};
    char expected[32];
    size_t i;

    for (i = 0; i < COUNT(numbers); i++) {
        struct buf b = BUF_INIT;
        int64_t back;

        buf_addi64(&b, numbers[i]);
        snprintf(expected, sizeof(expected), "%lld", (long long)numbers[i]);
        CHECK_STR(b.ptr, expected);
        CHECK_OK(text_parse_i64(b.ptr, &back));
        CHECK_EQ(back, numbers[i]);
        buf_release(&b);
    }
}

/* ---- maps ---- */

TEST(id_map_finds_only_stored_ids)
{
    enum { N = 20000 };
    struct idmap m = IDMAP_INIT;
    char *values = mem_alloc(N);
    int64_t i;

    CHECK(!idmap_get(&m, 1));
    for (i = 0; i < N; i++)
        idmap_put(&m, 1 + i * 4096, &values[i]); /* ids that share their low bits */
    CHECK_EQ(m.n, N);
    for (i = 0; i < N; i++)
        CHECK(idmap_get(&m, 1 + i * 4096) == &values[i]);
    CHECK(!idmap_get(&m, 2));
    CHECK(!idmap_get(&m, -1));
    CHECK(!idmap_get(&m, INT64_MAX));
    idmap_put(&m, 1, &values[7]);
    CHECK_EQ(m.n, N); /* replaced, not added */
    CHECK(idmap_get(&m, 1) == &values[7]);
    idmap_reset(&m);
    CHECK_EQ(m.n, 0);
    CHECK(!idmap_get(&m, 1));
    idmap_put(&m, INT64_MAX, values);
    idmap_put(&m, INT64_MIN, values + 1);
    CHECK(idmap_get(&m, INT64_MAX) == values);
    CHECK(idmap_get(&m, INT64_MIN) == values + 1);
    CHECK(!idmap_get(&m, 1 + 4096));
    idmap_release(&m);
    CHECK(!idmap_get(&m, 1));
    idmap_release(&m);
    free(values);
}

TEST(id_map_keeps_the_remaining_ids_after_a_removal)
{
    struct idmap m = IDMAP_INIT;
    static int values[300];
    int i;

    idmap_remove(&m, 1); /* removing from an empty map is allowed */
    for (i = 0; i < 300; i++)
        idmap_put(&m, 1 + i * 4096, &values[i]);
    for (i = 0; i < 300; i += 3)
        idmap_remove(&m, 1 + i * 4096);
    idmap_remove(&m, 2);
    CHECK_EQ(m.n, 200);
    for (i = 0; i < 300; i++)
        CHECK(idmap_get(&m, 1 + i * 4096) == (i % 3 ? &values[i] : NULL));
    idmap_put(&m, 1, &values[0]);
    CHECK(idmap_get(&m, 1) == &values[0]);
    idmap_release(&m);
}

/* ---- memory ---- */

TEST(arena_allocations_of_any_size_are_aligned_and_disjoint)
{
    static const size_t sizes[] = {0, 1, 7, 8, 15, 16, 17, 1000, 65535, 65536, 65537, 1000000};
    struct arena a = ARENA_INIT;
    char *got[COUNT(sizes) * 20];
    size_t i, n = 0;

    for (i = 0; i < COUNT(got); i++) {
        size_t size = sizes[i % COUNT(sizes)];

        got[n] = arena_alloc(&a, size);
        CHECK_EQ((uintptr_t)got[n] % alignof(max_align_t), 0);
        memset(got[n], (int)(i & 0xFF), size);
        n++;
    }
    for (i = 0; i < n; i++) { /* allocations do not overlap */
        size_t size = sizes[i % COUNT(sizes)], k;

        for (k = 0; k<size; k += size> 64 ? size / 64 : 1)
            CHECK_EQ((unsigned char)got[i][k], i & 0xFF);
    }
    arena_release(&a);
}

TEST(arena_is_usable_after_reset_and_release)
{
    struct arena a = ARENA_INIT;
    char *zeros, *text;
    int i;

    arena_reset(&a); /* an empty arena may be reset */
    memset(arena_alloc(&a, 100), 'x', 100);
    arena_reset(&a);
    zeros = arena_zalloc(&a, 100);
    for (i = 0; i < 100; i++)
        CHECK_EQ(zeros[i], 0);
    text = arena_strdup(&a, "hello");
    CHECK_STR(text, "hello");
    CHECK(!arena_strdup(&a, NULL));
    CHECK_STR(arena_memdup0(&a, "helloworld", 5), "hello");
    CHECK_STR(arena_memdup0(&a, NULL, 0), "");
    for (i = 0; i < 100; i++)
        arena_alloc(&a, 50000);
    arena_reset(&a);
    CHECK_STR(arena_strdup(&a, "again"), "again");
    arena_release(&a);
    CHECK_STR(arena_strdup(&a, "and again"), "and again");
    arena_release(&a);
    arena_release(&a);
}

/* A worker has an arena for each job that it runs. */
TEST(arena_with_one_short_string_is_small_and_keeps_one_block_after_a_reset)
{
    struct arena a = ARENA_INIT;
    size_t before = mallinfo2().uordblks, used;
    int i;

    arena_strdup(&a, "a name");
    used = mallinfo2().uordblks - before;
    CHECK(used < 1024);
    for (i = 0; i < 10000; i++)
        arena_alloc(&a, 100);
    arena_alloc(&a, 1000000);
    arena_reset(&a);
    used = mallinfo2().uordblks - before;
    CHECK(used < 70000);
    arena_release(&a);
}

TEST(mem_strdup_and_mem_printf_return_copies_and_mem_zalloc_is_never_null)
{
    char *s = mem_strdup("x"), *p = mem_printf("%s-%d", "y", 7);

    CHECK_STR(s, "x");
    CHECK_STR(p, "y-7");
    CHECK(!mem_strdup(NULL));
    free(s);
    free(p);
    s = mem_zalloc(0); /* never NULL */
    CHECK(s);
    s = mem_realloc(s, 10);
    memcpy(s, "123456789", 10);
    free(s);
}

TEST(growing_vector_keeps_the_order_of_its_elements)
{
    VEC(int) v = {0};
    int i;

    for (i = 0; i < 1000; i++)
        *vec_add(&v) = i;
    CHECK_EQ(v.n, 1000);
    for (i = 0; i < 1000; i++)
        CHECK_EQ(v.at[i], i);
    vec_release(&v);
    CHECK(!v.at && !v.n && !v.cap);
}

/* ---- quarantine ---- */

TEST(quarantined_id_is_released_when_its_quarantine_ends)
{
    struct quarantine a = {0};
    int64_t i;

    CHECK(!quarantine_has(NULL, 1) && !quarantine_count(NULL) && !quarantine_next(&a));
    for (i = 1; i <= QUARANTINE_MAX; i++)
        CHECK(quarantine_add(&a, i, i));
    CHECK(!quarantine_add(&a, i, i)); /* the quarantine is full */
    CHECK_EQ(quarantine_next(&a), QUARANTINE_FOR + 1);
    CHECK(!quarantine_remove_expired(&a, QUARANTINE_FOR));
    CHECK(quarantine_remove_expired(&a, QUARANTINE_FOR + 2));
    CHECK(!quarantine_has(&a, 1) && !quarantine_has(&a, 2) && quarantine_has(&a, 3));
    CHECK_EQ(quarantine_count(&a), QUARANTINE_MAX - 2);
    CHECK_EQ(quarantine_next(&a), QUARANTINE_FOR + 3);
    CHECK(quarantine_remove_expired(&a, INT64_MAX));
    CHECK(!quarantine_has(&a, QUARANTINE_MAX) && !quarantine_count(&a));
}

/* ---- random ids and clocks ---- */

TEST(random_ids_are_positive_and_unique)
{
    struct idmap seen = IDMAP_INIT;
    int i;

    for (i = 0; i < 10000; i++) {
        int64_t id = env_random_id();

        CHECK(id > 0);
        CHECK(!idmap_get(&seen, id));
        idmap_put(&seen, id, &seen);
    }
    idmap_release(&seen);
}

TEST(boot_clock_is_monotonic)
{
    int64_t before = clock_boot_us(), now;
    int i;

    CHECK(clock_wall_us() > 1700000000000000);
    for (i = 0; i < 100000; i++, before = now) {
        now = clock_boot_us();
        CHECK(now >= before);
    }
    clock_sleep_us(2000);
    CHECK(clock_boot_us() - before >= 2000);
}
