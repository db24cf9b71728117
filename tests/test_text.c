/* test_text.c - parsing of numbers and UTF-8, and suggestions for misspelled words. */
#include "harness.h"
#include "sample.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/suggest.h"
#include "base/text.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

TEST_NO_DB;

#define COUNT(list) (sizeof(list) / sizeof(*(list)))

TEST(text_is_parsed_as_an_integer_completely_or_refused)
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

TEST(well_formed_utf8_is_accepted)
{
    static const struct sample good[] = {
        BYTES(""),
        BYTES("plain"),
        BYTES("\x01\x1f\x7f"),     /* control characters are valid UTF-8 */
        BYTES("\xC2\x80"),         /* U+0080, the first that needs two bytes */
        BYTES("\xDF\xBF"),         /* U+07FF */
        BYTES("\xE0\xA0\x80"),     /* U+0800 */
        BYTES("\xED\x9F\xBF"),     /* U+D7FF, right before the surrogates */
        BYTES("\xEE\x80\x80"),     /* U+E000, right after the surrogates */
        BYTES("\xEF\xBF\xBF"),     /* U+FFFF */
        BYTES("\xF0\x90\x80\x80"), /* U+10000 */
        BYTES("\xF4\x8F\xBF\xBF"), /* U+10FFFF, the last code point */
        BYTES("a\xC3\xA4\xE2\x82\xAC\xF0\x9F\xA6\x80z"),
    };
    size_t i;

    for (i = 0; i < COUNT(good); i++)
        CHECK(text_is_utf8(good[i].bytes, good[i].len));
}

TEST(malformed_utf8_is_refused)
{
    static const struct sample bad[] = {
        BYTES("\0"),
        BYTES("a\0b"),
        BYTES("\x80"), /* a continuation byte without a start */
        BYTES("\xBF"),
        BYTES("\xC2"), /* cut short */
        BYTES("\xE2\x82"),
        BYTES("\xF0\x9F\xA6"),
        BYTES("\xC2\x41"), /* followed by a byte that is not a continuation */
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
            test_fail(__FILE__, __LINE__, "sample %zu was accepted as UTF-8", i);
}

/* Every code point, by an encoder that shares no code with the checker. */
TEST(every_code_point_except_surrogates_is_accepted_as_utf8)
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

/* ---- suggestions ---- */

TEST(suggestion_is_the_nearest_word_unless_none_is_near)
{
    static const char *const words[] = {"executor",  "executors", "extract", "ab",  "a",
                                        "heartbeat", "retry",     "timeout", "run", NULL};
    static const struct {
        const char *wrong, *right;
    } cases[] = {
        {"executr", "executor"},
        {"exectuors", "executors"},
        {"EXTRACT", "extract"},
        {"heart_beat", "heartbeat"},
        {"hertbaet", "heartbeat"},
        {"b", "ab"},
        {"ba", "ab"},
        {"timeout", "timeout"},
        {"tiemout", "timeout"},
        {"time_out", "timeout"},
        {"retries", "retry"},
        {"rn", "run"},
        {"detries", NULL},
        {"banana", NULL},
        {"a-word-that-is-longer-than-any-key-could-be", NULL},
        {"zzzz", NULL},
        {"", NULL},
        {"x", NULL},
        {"transform", NULL},
    };
    char *long_word = mem_alloc(100001);
    size_t i;

    for (i = 0; i < COUNT(cases); i++) {
        const char *near = suggest_from(cases[i].wrong, words);

        if (!near != !cases[i].right || (near && strcmp(near, cases[i].right)))
            test_fail(__FILE__, __LINE__, "'%s' -> %s", cases[i].wrong, near ? near : "nothing");
    }
    memset(long_word, 'a', 100000);
    long_word[100000] = '\0';
    CHECK(!suggest_from(long_word, words));
    free(long_word);
}
