/* test_outputs.c - what a task may write to $PAWL_OUTPUT, and what becomes of it. */
#include "exec/outputs.h"
#include "harness.h"

#include <stdlib.h>
#include <string.h>

TEST_NO_DB;

static void expect_named(const char *text, const char *const *names, const char *json)
{
    struct buf out = BUF_INIT;
    struct err err = ERR_INIT;

    CHECK_OK_ERR(outputs_parse(text, strlen(text), names, &out, &err), &err);
    CHECK_STR(buf_cstr(&out), json);
    buf_release(&out);
}

static void expect(const char *text, const char *json)
{
    expect_named(text, NULL, json);
}

static void expect_error(const char *text, size_t len, const char *part)
{
    struct buf out = BUF_INIT;
    struct err err = ERR_INIT;

    CHECK_EQ(outputs_parse(text, len, NULL, &out, &err), -E_INVALID);
    if (!strstr(err.msg, part))
        test_fail(__FILE__, __LINE__, "\"%s\" does not say \"%s\"", err.msg, part);
    CHECK_EQ(out.len, 0);
    buf_release(&out);
}

TEST(nothing_is_no_output)
{
    expect("", "");
    expect("\n\r\n\n", "");
}

TEST(a_line_is_a_key_and_its_text)
{
    expect("a=1\n", "{\"a\":\"1\"}");
    expect("a=1", "{\"a\":\"1\"}");
    expect("a=\r\nb_2-c.d= x = y \n", "{\"a\":\"\",\"b_2-c.d\":\" x = y \"}");
    expect("a=\"quoted\\\"\n", "{\"a\":\"\\\"quoted\\\\\\\"\"}");
    expect("x=gr\xc3\xbc\xc3\x9f\n", "{\"x\":\"gr\xc3\xbc\xc3\x9f\"}");
}

TEST(a_block_is_a_text_of_several_lines)
{
    expect("a<<EOF\none\ntwo=2\n\nEOF\nb=1\n", "{\"a\":\"one\\ntwo=2\\n\",\"b\":\"1\"}");
    expect("a<<x y\nx\nx y\n", "{\"a\":\"x\"}");
    expect("a<<E\nE", "{\"a\":\"\"}");
}

TEST(an_object_keeps_the_types_of_its_members)
{
    expect("{\"n\": 1, \"l\": [true, null, 1.5], \"o\": {\"z\": 1, \"a\": 2}}\n",
           "{\"n\":1,\"l\":[true,null,1.5],\"o\":{\"z\":1,\"a\":2}}");
    expect("{\"big\": 9007199254740993}\n", "{\"big\":9007199254740993}");
    expect("{}\n", "");
}

TEST(the_last_value_of_a_key_counts)
{
    expect("a=1\nb=2\n{\"a\": 3}\n", "{\"a\":3,\"b\":\"2\"}");
}

TEST(only_the_names_that_were_asked_for_count)
{
    const char *const names[] = {"b", "c", NULL}, *const none[] = {NULL};

    expect_named("a=1\nb=2\n{\"c\": 3, \"d\": 4}\n", names, "{\"b\":\"2\",\"c\":3}");
    expect_named("a=1\n", names, "");
    expect_named("a=1\n", none, "{\"a\":\"1\"}");
}

TEST(what_is_wrong_is_named_with_its_line)
{
    expect_error("a=1\nnonsense\n", 13, "line 2 of $PAWL_OUTPUT is neither");
    expect_error("1a=1\n", 5, "line 1");
    expect_error("=1\n", 3, "line 1");
    expect_error("a<<\n", 4, "line 1");
    expect_error("\na<<EOF\nno end\n", 15, "line 2 of $PAWL_OUTPUT: the block a has no end");
    expect_error("{\"a\": }\n", 8, "line 1");
    expect_error("{\"a\":1,\"a\":2}\n", 14, "line 1");
    expect_error("a=1\nb=\xff\n", 8, "line 2 of $PAWL_OUTPUT is not valid UTF-8");
    expect_error("a=x\0y\n", 6, "line 1 of $PAWL_OUTPUT is not valid UTF-8");
    expect_error("a<<E\nx\0y\nE\n", 11, "line 2 of $PAWL_OUTPUT is not valid UTF-8");
    expect_error("a<<E\nx\nb\xd8\nE\n", 13, "line 3 of $PAWL_OUTPUT is not valid UTF-8");
}

/* Two lines; the second has so many levels. */
static char *nested_object(int depth)
{
    struct buf b = BUF_INIT;
    int i;

    buf_addstr(&b, "b=[[\n{\"a\":");
    for (i = 1; i < depth; i++)
        buf_addch(&b, '[');
    for (i = 1; i < depth; i++)
        buf_addch(&b, ']');
    buf_addstr(&b, "}\n");
    return b.ptr;
}

TEST(object_nested_too_deep_is_refused_with_its_line)
{
    static const char *const names[] = {"b", NULL};
    char *at_the_limit = nested_object(64), *deeper = nested_object(65);

    expect_named(at_the_limit, names, "{\"b\":\"[[\"}");
    expect_error(deeper, strlen(deeper),
                 "line 2 of $PAWL_OUTPUT: it nests lists and objects 65 levels deep; at most 64 "
                 "are allowed");
    free(at_the_limit);
    free(deeper);
}

TEST(there_are_bounds)
{
    size_t len = OUTPUTS_MAX + 1;
    char *large = malloc(len);
    struct buf many = BUF_INIT;

    CHECK(large != NULL);
    memset(large, 'a', len);
    large[1] = '=';
    expect_error(large, len, "more than 1048576 bytes");
    free(large);
    for (int i = 0; i <= OUTPUTS_KEYS_MAX; i++)
        buf_addf(&many, "k%d=\n", i);
    expect_error(many.ptr, many.len, "line 1001 of $PAWL_OUTPUT: more than 1000 outputs");
    buf_release(&many);
}
