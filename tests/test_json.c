/* test_json.c - writing and checking JSON. */
#include "harness.h"
#include "sample.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/json_read.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

TEST_NO_DB;

#define COUNT(list) (sizeof(list) / sizeof(*(list)))

TEST(json_writer_places_commas_at_every_depth)
{
    struct buf b = BUF_INIT;
    struct json_writer w = JSON_WRITER(&b);
    struct err err;

    json_write_begin(&w, '{');
    json_write_key(&w, "a");
    json_write_i64(&w, -5);
    json_write_key(&w, "b");
    json_write_begin(&w, '[');
    json_write_bool(&w, true);
    json_write_bool(&w, false);
    json_write_null(&w);
    json_write_text(&w, NULL);
    json_write_text(&w, "t");
    json_write_raw(&w, "{\"raw\":[]}");
    json_write_raw(&w, NULL);
    json_write_begin(&w, '{');
    json_write_end(&w, '}');
    json_write_begin(&w, '[');
    json_write_end(&w, ']');
    json_write_end(&w, ']');
    json_write_key(&w, "c");
    json_write_text(&w, "");
    json_write_end(&w, '}');
    CHECK_STR(b.ptr,
              "{\"a\":-5,\"b\":[true,false,null,null,\"t\",{\"raw\":[]},null,{},[]],\"c\":\"\"}");
    CHECK_OK_ERR(json_check(b.ptr, b.len, 1000, "it", &err), &err);
    buf_release(&b);
}

TEST(every_ascii_character_is_escaped_to_valid_json)
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

TEST(json_value_is_written_in_its_shortest_form_and_reads_back_unchanged)
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

TEST(valid_json_of_any_type_is_accepted)
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

TEST(invalid_json_is_refused_with_its_location)
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
            test_fail(__FILE__, __LINE__, "sample %zu was accepted as JSON", i);
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
    CHECK_STR(err.msg, "it nests lists and objects 1000000 levels deep; at most 64 are allowed");
    buf_release(&b);
}

/* ---- depth ---- */

static const struct {
    const char *text;
    size_t depth;
} depths[] = {
    {"", 0},
    {"1", 0},
    {"\"[[{\"", 0},
    {"\"\\\"[[[\"", 0},    /* an escaped quote */
    {"[\"\\\\\",[1]]", 2}, /* the quote after an escaped backslash ends the text */
    {"[]", 1},
    {"[[],[]]", 2},
    {"{\"a\":[{}],\"b\":{}}", 3},
    {"{\"]\":{\"}\":[1,[2]]}}", 4},
};

TEST(depth_of_a_json_text_equals_the_depth_of_its_value)
{
    size_t i;

    for (i = 0; i < COUNT(depths); i++) {
        json_t *v = json_loads(depths[i].text, JSON_DECODE_ANY, NULL);

        CHECK_EQ(json_depth(depths[i].text, strlen(depths[i].text)), depths[i].depth);
        CHECK_EQ(v ? json_value_depth(v) : 0, depths[i].depth);
        json_decref(v);
    }
    CHECK_EQ(json_depth("]]]}[[", 6), 2); /* invalid JSON has a depth, too */
    CHECK_EQ(json_depth("[\"\\", 3), 1);
}

TEST(document_at_the_depth_limit_is_read_and_one_level_deeper_is_refused)
{
    char text[2 * JSON_DEPTH_MAX + 3];
    struct json_node doc;
    struct err err;
    int depth;

    for (depth = JSON_DEPTH_MAX; depth <= JSON_DEPTH_MAX + 1; depth++) {
        int wanted = depth > JSON_DEPTH_MAX ? -E_INVALID : 0;

        memset(text, '[', (size_t)depth);
        memset(text + depth, ']', (size_t)depth);
        CHECK_EQ(json_check(text, (size_t)depth * 2, 1000, "it", &err), wanted);
        CHECK_EQ(json_read_open(text, (size_t)depth * 2, 1000, "it", &doc, &err), wanted);
        if (!wanted)
            json_read_close(&doc);
    }
    CHECK_STR(err.msg, "it nests lists and objects 65 levels deep; at most 64 are allowed");
    CHECK_OK_ERR(json_read_deep(text, sizeof(text) - 1, 1000, JSON_DEPTH_MAX + 1, "it", &doc, &err),
                 &err);
    json_read_close(&doc);
}
