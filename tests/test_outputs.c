/* test_outputs.c - parsing the outputs that a task writes to $PAWL_OUTPUT. */
#include "exec/outputs.h"
#include "harness.h"

#include <stdlib.h>
#include <string.h>

TEST_NO_DB;

static void check_parsed_names(const char *text, const char *const *names, const char *json)
{
    struct buf out = BUF_INIT;
    struct err err = ERR_INIT;

    CHECK_OK_ERR(outputs_parse(text, strlen(text), names, &out, &err), &err);
    CHECK_STR(buf_cstr(&out), json);
    buf_release(&out);
}

static void check_parsed(const char *text, const char *json)
{
    check_parsed_names(text, NULL, json);
}

static void check_refused(const char *text, size_t len, const char *part)
{
    struct buf out = BUF_INIT;
    struct err err = ERR_INIT;

    CHECK_EQ(outputs_parse(text, len, NULL, &out, &err), -E_INVALID);
    if (!strstr(err.msg, part))
        test_fail(__FILE__, __LINE__, "\"%s\" does not contain \"%s\"", err.msg, part);
    CHECK_EQ(out.len, 0);
    buf_release(&out);
}

TEST(empty_output_file_gives_no_outputs)
{
    check_parsed("", "");
    check_parsed("\n\r\n\n", "");
}

TEST(output_line_sets_a_key_to_its_text)
{
    check_parsed("a=1\n", "{\"a\":\"1\"}");
    check_parsed("a=1", "{\"a\":\"1\"}");
    check_parsed("a=\r\nb_2-c.d= x = y \n", "{\"a\":\"\",\"b_2-c.d\":\" x = y \"}");
    check_parsed("a=\"quoted\\\"\n", "{\"a\":\"\\\"quoted\\\\\\\"\"}");
    check_parsed("x=gr\xc3\xbc\xc3\x9f\n", "{\"x\":\"gr\xc3\xbc\xc3\x9f\"}");
}

TEST(output_block_sets_a_value_of_several_lines)
{
    check_parsed("a<<EOF\none\ntwo=2\n\nEOF\nb=1\n", "{\"a\":\"one\\ntwo=2\\n\",\"b\":\"1\"}");
    check_parsed("a<<x y\nx\nx y\n", "{\"a\":\"x\"}");
    check_parsed("a<<E\nE", "{\"a\":\"\"}");
}

TEST(members_of_an_output_object_keep_their_types)
{
    check_parsed("{\"n\": 1, \"l\": [true, null, 1.5], \"o\": {\"z\": 1, \"a\": 2}}\n",
                 "{\"n\":1,\"l\":[true,null,1.5],\"o\":{\"z\":1,\"a\":2}}");
    check_parsed("{\"big\": 9007199254740993}\n", "{\"big\":9007199254740993}");
    check_parsed("{}\n", "");
}

TEST(output_given_twice_has_its_last_value)
{
    check_parsed("a=1\nb=2\n{\"a\": 3}\n", "{\"a\":3,\"b\":\"2\"}");
}

TEST(outputs_that_are_not_declared_are_dropped)
{
    const char *const names[] = {"b", "c", NULL}, *const none[] = {NULL};

    check_parsed_names("a=1\nb=2\n{\"c\": 3, \"d\": 4}\n", names, "{\"b\":\"2\",\"c\":3}");
    check_parsed_names("a=1\n", names, "");
    check_parsed_names("a=1\n", none, "{\"a\":\"1\"}");
}

TEST(malformed_output_is_refused_with_its_line)
{
    check_refused("a=1\nnonsense\n", 13, "line 2 of $PAWL_OUTPUT is neither");
    check_refused("1a=1\n", 5, "line 1");
    check_refused("=1\n", 3, "line 1");
    check_refused("a<<\n", 4, "line 1");
    check_refused(
        "\na<<EOF\nno end\n", 15,
        "line 2 of $PAWL_OUTPUT starts the block of \"a\", which is not closed: add a line with "
        "only \"EOF\"");
    check_refused("{\"a\": }\n", 8, "line 1");
    check_refused("{\"a\":1,\"a\":2}\n", 14, "line 1");
    check_refused("a=1\nb=\xff\n", 8, "line 2 of $PAWL_OUTPUT is not valid UTF-8");
    check_refused("a=x\0y\n", 6, "line 1 of $PAWL_OUTPUT is not valid UTF-8");
    check_refused("a<<E\nx\0y\nE\n", 11, "line 2 of $PAWL_OUTPUT is not valid UTF-8");
    check_refused("a<<E\nx\nb\xd8\nE\n", 13, "line 3 of $PAWL_OUTPUT is not valid UTF-8");
}

/* Two lines; the second is an object nested to this depth. */
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

TEST(too_deeply_nested_output_object_is_refused_with_its_line)
{
    static const char *const names[] = {"b", NULL};
    char *at_the_limit = nested_object(64), *deeper = nested_object(65);

    check_parsed_names(at_the_limit, names, "{\"b\":\"[[\"}");
    check_refused(deeper, strlen(deeper),
                  "line 2 of $PAWL_OUTPUT: it nests lists and objects 65 levels deep; at most 64 "
                  "are allowed");
    free(at_the_limit);
    free(deeper);
}

TEST(too_large_or_too_many_outputs_are_refused)
{
    size_t len = OUTPUTS_MAX + 1;
    char *large = malloc(len);
    struct buf many = BUF_INIT;

    CHECK(large != NULL);
    memset(large, 'a', len);
    large[1] = '=';
    check_refused(large, len, "is longer than 1048576 bytes");
    free(large);
    for (int i = 0; i <= OUTPUTS_KEYS_MAX; i++)
        buf_addf(&many, "k%d=\n", i);
    check_refused(many.ptr, many.len,
                  "line 1001 of $PAWL_OUTPUT exceeds the limit of 1000 outputs");
    buf_release(&many);
}
