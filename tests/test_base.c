/* test_base.c - the small things that all else stands on: errors, buffers, text, JSON, maps,
 * memory. */
#include "harness.h"

#include "base/buf.h"
#include "base/env.h"
#include "base/err.h"
#include "base/idmap.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"

#include <jansson.h>
#include <stdalign.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TEST_NO_DB;

#define COUNT(list) (sizeof(list) / sizeof(*(list)))

/* ---- errors ---- */

TEST(an_error_returns_its_code_and_keeps_its_sentence)
{
    struct err err = ERR_INIT;

    CHECK_EQ(err_set(&err, E_NOT_FOUND, "there is no execution %d", 7), -E_NOT_FOUND);
    CHECK_EQ(err.code, E_NOT_FOUND);
    CHECK_STR(err.msg, "there is no execution 7");
    CHECK_EQ(err_prefix(&err, "while %s", "looking"), -E_NOT_FOUND);
    CHECK_STR(err.msg, "while looking: there is no execution 7");
}

TEST(a_sentence_that_is_too_long_is_cut_and_stays_a_string)
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

TEST(every_error_has_a_text_of_its_own_and_an_exit_code)
{
    static const enum error_code all[] = {
#define X(name, text, exit_code) E_##name,
        ERROR_CODES(X)
#undef X
    };
    size_t i, k;

    CHECK_STR(err_text(E_NONE), "none");
    CHECK_EQ(err_exit_code(E_NONE), 0);
    for (i = 0; i < COUNT(all); i++) {
        CHECK(*err_text(all[i]));
        CHECK(err_exit_code(all[i]) >= 1 && err_exit_code(all[i]) <= 7);
        for (k = 0; k < i; k++)
            CHECK(strcmp(err_text(all[i]), err_text(all[k])));
    }
    /* what the command line promises */
    CHECK_EQ(err_exit_code(E_INVALID), 2);
    CHECK_EQ(err_exit_code(E_NOT_FOUND), 5);
    CHECK_EQ(err_exit_code(E_UNAVAILABLE), 6);
    CHECK_EQ(err_exit_code(E_REFUSED), 7);
}

/* ---- buffers ---- */

TEST(a_buffer_grows_and_is_always_a_string)
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

TEST(a_buffer_takes_a_format_longer_than_all_it_had)
{
    struct buf b = BUF_INIT;

    buf_addf(&b, "%5000d|", 1);
    CHECK_EQ(b.len, 5001);
    CHECK_EQ(b.ptr[4999], '1');
    buf_release(&b);
}

TEST(numbers_are_written_as_printf_writes_them)
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

/* ---- text ---- */

TEST(whole_numbers_are_taken_whole_or_not_at_all)
{
    static const char *const bad[] = {"",
                                      " ",
                                      " 1",
                                      "1 ",
                                      "x",
                                      "1x",
                                      "0x10",
                                      "--1",
                                      "1.0",
                                      "1e3",
                                      "-",
                                      "9223372036854775808",
                                      "-9223372036854775809"};
    int64_t n = 17;
    size_t i;

    for (i = 0; i < COUNT(bad); i++)
        CHECK(text_parse_i64(bad[i], &n));
    CHECK_EQ(n, 17); /* set only on success */
    CHECK_OK(text_parse_i64("-0", &n));
    CHECK_EQ(n, 0);
    CHECK_OK(text_parse_i64("007", &n));
    CHECK_EQ(n, 7);
}

struct sample {
    const char *bytes;
    size_t len;
};
#define BYTES(s)         \
    {                    \
        s, sizeof(s) - 1 \
    }

TEST(well_formed_utf8_is_taken)
{
    static const struct sample good[] = {
        BYTES(""),
        BYTES("plain"),
        BYTES("\x01\x1f\x7f"),     /* control characters are not our business */
        BYTES("\xC2\x80"),         /* U+0080, the first of two bytes */
        BYTES("\xDF\xBF"),         /* U+07FF */
        BYTES("\xE0\xA0\x80"),     /* U+0800 */
        BYTES("\xED\x9F\xBF"),     /* U+D7FF, right before the surrogates */
        BYTES("\xEE\x80\x80"),     /* U+E000, right after */
        BYTES("\xEF\xBF\xBF"),     /* U+FFFF */
        BYTES("\xF0\x90\x80\x80"), /* U+10000 */
        BYTES("\xF4\x8F\xBF\xBF"), /* U+10FFFF, the last */
        BYTES("a\xC3\xA4\xE2\x82\xAC\xF0\x9F\xA6\x80z"),
    };
    size_t i;

    for (i = 0; i < COUNT(good); i++)
        CHECK(text_is_utf8(good[i].bytes, good[i].len));
}

TEST(everything_else_is_not_utf8)
{
    static const struct sample bad[] = {
        BYTES("\0"),
        BYTES("a\0b"),
        BYTES("\x80"), /* a continuation of nothing */
        BYTES("\xBF"),
        BYTES("\xC2"), /* cut short */
        BYTES("\xE2\x82"),
        BYTES("\xF0\x9F\xA6"),
        BYTES("\xC2\x41"), /* continued by something else */
        BYTES("\xE2\x41\x80"),
        BYTES("\xE2\x82\x41"),
        BYTES("\xF0\x9F\xA6\x41"),
        BYTES("\xC0\x80"), /* NUL in two bytes */
        BYTES("\xC1\xBF"), /* overlong */
        BYTES("\xE0\x80\x80"),
        BYTES("\xE0\x9F\xBF"),
        BYTES("\xF0\x80\x80\x80"),
        BYTES("\xF0\x8F\xBF\xBF"),
        BYTES("\xED\xA0\x80"), /* surrogates */
        BYTES("\xED\xBF\xBF"),
        BYTES("\xF4\x90\x80\x80"), /* above U+10FFFF */
        BYTES("\xF5\x80\x80\x80"),
        BYTES("\xF8\x88\x80\x80\x80"),
        BYTES("\xFE"),
        BYTES("\xFF"),
        BYTES("good until \xE2\x28\xA1 here"),
    };
    size_t i;

    for (i = 0; i < COUNT(bad); i++)
        if (text_is_utf8(bad[i].bytes, bad[i].len))
            test_fail(__FILE__, __LINE__, "sample %zu was taken for UTF-8", i);
}

/* Every character there is, by an encoder that shares nothing with the checker. */
TEST(every_code_point_is_utf8_but_the_surrogates)
{
    unsigned c;

    for (c = 1; c <= 0x10FFFF; c++) {
        char s[4];
        size_t n;

        if (c < 0x80) {
            s[0] = (char)c;
            n = 1;
        } else if (c < 0x800) {
            s[0] = (char)(0xC0 | c >> 6);
            s[1] = (char)(0x80 | (c & 0x3F));
            n = 2;
        } else if (c < 0x10000) {
            s[0] = (char)(0xE0 | c >> 12);
            s[1] = (char)(0x80 | (c >> 6 & 0x3F));
            s[2] = (char)(0x80 | (c & 0x3F));
            n = 3;
        } else {
            s[0] = (char)(0xF0 | c >> 18);
            s[1] = (char)(0x80 | (c >> 12 & 0x3F));
            s[2] = (char)(0x80 | (c >> 6 & 0x3F));
            s[3] = (char)(0x80 | (c & 0x3F));
            n = 4;
        }
        if (text_is_utf8(s, n) != (c < 0xD800 || c > 0xDFFF))
            test_fail(__FILE__, __LINE__, "U+%04X was judged wrongly", c);
    }
}

TEST(times_are_written_in_utc_with_microseconds)
{
    static const struct {
        int64_t us;
        const char *text;
    } times[] = {
        {0, "1970-01-01T00:00:00.000000Z"},
        {1, "1970-01-01T00:00:00.000001Z"},
        {-1, "1969-12-31T23:59:59.999999Z"},
        {-1000000, "1969-12-31T23:59:59.000000Z"},
        {951782400000000, "2000-02-29T00:00:00.000000Z"},
        {1769903999123456, "2026-01-31T23:59:59.123456Z"},
        {4102444800000000, "2100-01-01T00:00:00.000000Z"},
    };
    char text[TIME_TEXT_SIZE];
    struct err err;
    int64_t back;
    size_t i;

    for (i = 0; i < COUNT(times); i++) {
        CHECK_STR(text_time(times[i].us, text), times[i].text);
        CHECK_OK_ERR(text_parse_time(text, &back, &err), &err);
        CHECK_EQ(back, times[i].us);
    }
    /* whatever is stored, the text fits */
    text_time(INT64_MAX, text);
    text_time(INT64_MIN, text);
}

TEST(many_times_survive_the_round_trip)
{
    char text[TIME_TEXT_SIZE];
    struct err err;
    int64_t us, back;

    for (us = -2000000000000000; us < 5000000000000000; us += 1234567890123) {
        CHECK_OK_ERR(text_parse_time(text_time(us, text), &back, &err), &err);
        CHECK_EQ(back, us);
    }
}

TEST(times_are_read_in_all_the_forms_that_are_promised)
{
    static const struct {
        const char *text;
        int64_t us;
    } times[] = {
        {"2026-01-31", 1769817600000000},
        {"2026-01-31T14:00:00Z", 1769868000000000},
        {"2026-01-31 14:00:00Z", 1769868000000000},
        {"2026-01-31T14:00:00", 1769868000000000},
        {"2026-01-31T14:00:00.5Z", 1769868000500000},
        {"2026-01-31T14:00:00.1234567Z", 1769868000123456}, /* finer than we store: cut */
        {"2026-01-31T14:00:00+02:00", 1769860800000000},
        {"2026-01-31T14:00:00-05:30", 1769887800000000},
        {"2026-01-31T14:00:00.25+00:00", 1769868000250000},
        {"@0", 0},
        {"@1769868000", 1769868000000000},
        {"@-1", -1000000},
    };
    struct err err;
    int64_t us;
    size_t i;

    for (i = 0; i < COUNT(times); i++) {
        CHECK_OK_ERR(text_parse_time(times[i].text, &us, &err), &err);
        CHECK_EQ(us, times[i].us);
    }
}

TEST(what_is_no_time_is_refused_with_the_forms_that_are)
{
    static const char *const bad[] = {
        "",
        "yesterday",
        "2026",
        "2026-1-31",
        "26-01-31",
        "2026-01-31T",
        "2026-01-31T14",
        "2026-01-31T14:00",
        "2026-01-31T14:00:00X",
        "2026-01-31T14:00:00Z ",
        "2026-01-31T14:00:00ZZ",
        "2026-01-31T14:00:00+02",
        "2026-01-31T14:00:00+02:00x",
        "2026-01-31x",
        "2026-13-01",
        "2026-00-10",
        "2026-01-32",
        "2026-02-31",
        " 2026-01-31",
        "2026-01-31T-1:00:00Z",
        "2026-01-31T14:00:00+99:99",
        "2026-01-31T14:00:00+02:0Z",
        "2026-01-31T14:00:00.Z",
        "@9223372036854775807",
        "@253402300800",
        "9999-12-31T23:59:59-01:00",
        "@ 5",
        "2026-01-00",
        "2026-01-31T24:00:00Z",
        "2026-01-31T23:60:00Z",
        "2026-01-31T23:59:61Z",
        "@",
        "@x",
        "@1.5",
    };
    struct err err;
    int64_t us = 17;
    size_t i;

    for (i = 0; i < COUNT(bad); i++) {
        if (text_parse_time(bad[i], &us, &err) != -E_INVALID)
            test_fail(__FILE__, __LINE__, "'%s' was taken for a time", bad[i]);
        CHECK(strstr(err.msg, "2026-01-31"));
    }
    CHECK_EQ(us, 17);
}

TEST(durations_are_a_number_and_a_unit)
{
    static const struct {
        const char *text;
        int64_t us;
    } good[] = {
        {"0s", 0},         {"1us", 1},         {"250ms", 250000},      {"30s", 30000000},
        {"5m", 300000000}, {"2h", 7200000000}, {"90d", 7776000000000}, {"007s", 7000000},
    };
    static const char *const bad[] = {"",
                                      "5",
                                      "s",
                                      "5 s",
                                      "5S",
                                      "5sec",
                                      "-5s",
                                      "+5s",
                                      " 5s",
                                      "5s ",
                                      "1.5h",
                                      "1h30m",
                                      "0x5s",
                                      "5w",
                                      "5y",
                                      "inf",
                                      "9223372036854775807d",
                                      "99999999999999999999s"};
    struct err err;
    int64_t us;
    size_t i;

    for (i = 0; i < COUNT(good); i++) {
        CHECK_OK_ERR(text_parse_duration(good[i].text, &us, &err), &err);
        CHECK_EQ(us, good[i].us);
    }
    us = 17;
    for (i = 0; i < COUNT(bad); i++) {
        if (text_parse_duration(bad[i], &us, &err) != -E_INVALID)
            test_fail(__FILE__, __LINE__, "'%s' was taken for a duration", bad[i]);
        CHECK(strstr(err.msg, "30s"));
    }
    CHECK_EQ(us, 17);
}

TEST(durations_are_shown_in_the_units_of_people)
{
    static const struct {
        int64_t us;
        const char *text;
    } samples[] = {
        {-1, "-"},
        {0, "0.0 ms"},
        {400, "0.4 ms"},
        {999900, "999.9 ms"},
        {1000000, "1.0 s"},
        {12340000, "12.3 s"},
        {60000000, "1 m 0 s"},
        {3599000000, "59 m 59 s"},
        {12000000000, "3 h 20 m"},
        {86400000000, "1 d 0 h"},
        {7776000000000, "90 d 0 h"},
    };
    char text[DURATION_TEXT_SIZE];
    size_t i;

    for (i = 0; i < COUNT(samples); i++)
        CHECK_STR(text_duration(samples[i].us, text), samples[i].text);
}

/* ---- JSON ---- */

TEST(the_writer_sets_commas_at_every_depth)
{
    struct buf b = BUF_INIT;
    struct json_writer w = JSON_WRITER(&b);
    struct err err;

    jw_begin(&w, '{');
    jw_key(&w, "a");
    jw_i64(&w, -5);
    jw_key(&w, "b");
    jw_begin(&w, '[');
    jw_bool(&w, true);
    jw_bool(&w, false);
    jw_null(&w);
    jw_text(&w, NULL);
    jw_text(&w, "t");
    jw_raw(&w, "{\"raw\":[]}");
    jw_raw(&w, NULL);
    jw_begin(&w, '{');
    jw_end(&w, '}');
    jw_begin(&w, '[');
    jw_end(&w, ']');
    jw_end(&w, ']');
    jw_key(&w, "c");
    jw_text(&w, "");
    jw_end(&w, '}');
    CHECK_STR(b.ptr,
              "{\"a\":-5,\"b\":[true,false,null,null,\"t\",{\"raw\":[]},null,{},[]],\"c\":\"\"}");
    CHECK_OK_ERR(json_check(b.ptr, b.len, 1000, "it", &err), &err);
    buf_release(&b);
}

TEST(every_byte_that_text_may_hold_is_quoted_to_valid_json)
{
    struct buf b = BUF_INIT;
    struct err err;
    unsigned c;

    json_quote(&b, "\"\\\n\t\r\b\x01\x7f/\xC3\xA4", 11);
    CHECK_STR(b.ptr, "\"\\\"\\\\\\n\\t\\u000d\\u0008\\u0001\x7f/\xC3\xA4\"");
    for (c = 0; c < 0x80; c++) {
        char s = (char)c;

        buf_reset(&b);
        json_quote(&b, &s, 1);
        CHECK_OK_ERR(json_check(b.ptr, b.len, 100, "it", &err), &err);
    }
    buf_reset(&b);
    json_quote(&b, "", 0);
    CHECK_STR(b.ptr, "\"\"");
    buf_release(&b);
}

TEST(a_value_is_written_as_people_write_it_and_reads_back_the_same)
{
    static const char *const texts[] = {
        "{\"a\":0.1,\"b\":[5.0,-0.25,1e+300,1e-07],\"c\":null}",
        "[12345678901234567,true,false,{},[],\"\\n\\u0001\xC3\xA4\"]", "0.30000000000000004", "3"};
    size_t i;

    for (i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        json_t *v = json_loads(texts[i], JSON_DECODE_ANY, NULL);
        char *text = json_text(v);

        CHECK_STR(text, texts[i]);
        free(text);
        json_decref(v);
    }
    CHECK(json_text(NULL) == NULL);
}

TEST(valid_json_of_any_type_is_taken)
{
    static const char *const good[] = {"{}",
                                       "[]",
                                       "null",
                                       "true",
                                       "false",
                                       "0",
                                       "-1",
                                       "1.5e3",
                                       "\"\"",
                                       "\"x\"",
                                       " {\"a\" : [1, {\"b\": null}]} ",
                                       "\"\\u0000\"",
                                       "\"\\ud83e\\udd80\"",
                                       "\"\xC3\xA4\"",
                                       "9223372036854775807"};
    struct err err;
    size_t i;

    for (i = 0; i < COUNT(good); i++)
        CHECK_OK_ERR(json_check(good[i], strlen(good[i]), 1000, "it", &err), &err);
}

TEST(what_is_not_json_is_refused_with_the_place)
{
    static const struct sample bad[] = {
        BYTES(""),         BYTES(" "),           BYTES("{"),        BYTES("{\"a\":1,}"),
        BYTES("[1,]"),     BYTES("{a:1}"),       BYTES("'x'"),      BYTES("01"),
        BYTES("1 2"),      BYTES("nul"),         BYTES("NaN"),      BYTES("\"\n\""),
        BYTES("\"\\x\""),  BYTES("\"\\ud800\""), BYTES("// no\n1"), BYTES("{} x"),
        BYTES("\"\xFF\""), BYTES("\"a\0b\""),    BYTES("{}\0"),     BYTES("{\"a\":1,\"a\":2}"),
    };
    struct err err;
    size_t i;

    for (i = 0; i < COUNT(bad); i++) {
        if (json_check(bad[i].bytes, bad[i].len, 1000, "the input", &err) != -E_INVALID)
            test_fail(__FILE__, __LINE__, "sample %zu was taken for JSON", i);
        CHECK(!strncmp(err.msg, "the input ", 10));
    }
    CHECK_EQ(json_check("{\n  \"a\": x}", 11, 1000, "the input", &err), -E_INVALID);
    CHECK(strstr(err.msg, "line 2, column"));
}

TEST(json_that_is_too_large_or_too_deep_is_refused_quickly)
{
    struct buf b = BUF_INIT;
    struct err err;
    int i;

    CHECK_OK_ERR(json_check("[1]", 3, 3, "it", &err), &err);
    CHECK_EQ(json_check("[12]", 4, 3, "it", &err), -E_INVALID);
    CHECK(strstr(err.msg, "at most 3"));
    for (i = 0; i < 1000000; i++)
        buf_addch(&b, '[');
    CHECK_EQ(json_check(b.ptr, b.len, 1 << 20, "it", &err), -E_INVALID);
    buf_release(&b);
}

/* ---- maps ---- */

TEST(a_map_finds_what_was_put_and_nothing_else)
{
    enum { N = 20000 };
    struct idmap m = IDMAP_INIT;
    char *values = mem_alloc(N);
    int64_t i;

    CHECK(!idmap_get(&m, 1));
    for (i = 0; i < N; i++)
        idmap_put(&m, 1 + i * 4096, &values[i]); /* many ids that end in the same bits */
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

/* ---- memory ---- */

TEST(an_arena_gives_aligned_memory_of_any_size)
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
    for (i = 0; i < n; i++) { /* none overlaps another */
        size_t size = sizes[i % COUNT(sizes)], k;

        for (k = 0; k<size; k += size> 64 ? size / 64 : 1)
            CHECK_EQ((unsigned char)got[i][k], i & 0xFF);
    }
    arena_release(&a);
}

TEST(an_arena_copies_clears_forgets_and_begins_again)
{
    struct arena a = ARENA_INIT;
    char *zeros, *text;
    int i;

    arena_reset(&a); /* an empty one */
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

TEST(strings_are_copied_and_made)
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
    strcpy(s, "123456789");
    free(s);
}

TEST(a_growing_array_keeps_its_order)
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

/* ---- the machine ---- */

TEST(random_ids_are_positive_and_do_not_repeat)
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

TEST(the_boot_clock_never_goes_back)
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

TEST(an_id_map_forgets_one_and_keeps_the_others)
{
    struct idmap m = IDMAP_INIT;
    static int values[300];
    int i;

    idmap_remove(&m, 1); /* of nothing */
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
