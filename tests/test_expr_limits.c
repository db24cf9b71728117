/* test_expr_limits.c - evaluation always ends: depth, size and work are limited. */
#include "expr_fixture.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

TEST_NO_DB;

/* ---- limits ---- */

/* Returns `part` repeated `times` times between `before` and `after`; the caller frees it. */
static char *repeated(const char *before, const char *part, size_t times, const char *after)
{
    struct buf b = BUF_INIT;

    buf_addstr(&b, before);
    while (times--)
        buf_addstr(&b, part);
    buf_addstr(&b, after);
    return b.ptr;
}

static void check_repeated(const char *before, const char *part, size_t times, const char *after,
                           const char *fault_or_null)
{
    char *s = repeated(before, part, times, after);
    struct buf got = BUF_INIT;
    struct expr_fault fault;
    struct fixture f;
    int rc;

    begin(&f);
    rc = evaluate(&f, s, &got, &fault);
    if (!rc != !fault_or_null || (rc && !strstr(fault.what, fault_or_null)))
        test_fail(__FILE__, __LINE__, "%s%s… x %zu: %.200s", before, part, times, buf_cstr(&got));
    end(&f);
    buf_release(&got);
    free(s);
}

TEST(nesting_depth_is_limited_and_chain_length_is_not)
{
    static const char *const too_deep = "this expression is nested more than 64 levels deep";

    check_repeated("", "(", 1000, "1", too_deep);
    check_repeated("", "[", 60000, "", too_deep);
    check_repeated("", "{a:", 1000, "1", too_deep);
    check_repeated("", "!", 1000, "true", too_deep);
    check_repeated("", "-", 1000, "1", too_deep);
    check_repeated("", "- ", 62, "1", NULL);
    check_repeated("", "length(", 1000, "1", too_deep);
    check_repeated("", "default(", 1000, "1", too_deep);
    check_repeated("", "params[", 1000, "1", too_deep);
    check_repeated("1", " + 1", 10000, "", NULL);
    check_repeated("true", " && true", 5000, "", NULL);
    check_repeated("false", " || false", 5000, " || 1 == 1", NULL);
    check_repeated("[1", ",1", 30000, "]", NULL);
    check_repeated("params", ".x", 20000, "", "params has no field 'x'");
    check_repeated("format(''", ",1", 99, ")", NULL);
    check_repeated("format(''", ",1", 100, ")", "a function takes at most 100 arguments");
}

TEST(expression_nested_up_to_the_limit_is_evaluated)
{
    struct buf got = BUF_INIT, s = BUF_INIT;
    struct expr_fault fault;
    struct fixture f;
    int i;

    begin(&f);
    for (i = 0; i < 63; i++)
        buf_addstr(&s, "default(params.x, ");
    buf_addstr(&s, "7");
    for (i = 0; i < 63; i++)
        buf_addstr(&s, ")");
    CHECK_EQ(evaluate(&f, s.ptr, &got, &fault), 0);
    CHECK_STR(got.ptr, "7");
    buf_reset(&s);
    for (i = 0; i < 63; i++)
        buf_addstr(&s, "default(");
    buf_addstr(&s, "params.x");
    for (i = 0; i < 63; i++)
        buf_addf(&s, ", %s)", i == 62 ? "8" : "vars.y");
    CHECK_EQ(evaluate(&f, s.ptr, &got, &fault), 0);
    CHECK_STR(got.ptr, "8");
    end(&f);
    buf_release(&s);
    buf_release(&got);
}

TEST(expression_beyond_the_size_or_work_limit_is_refused)
{
    char *s = repeated("'", "x", EXPR_TEXT_MAX - 2, "'");
    struct expr_text text = text_of(s);
    struct arena arena = ARENA_INIT;
    const struct expr *e;
    struct expr_fault fault;

    CHECK_OK(expr_parse_condition(&text, &arena, &e, &fault));
    text.len++; /* includes its NUL: one byte too many */
    CHECK(expr_parse_condition(&text, &arena, &e, &fault));
    CHECK_STR(fault.what, "this text is 65537 bytes long; at most 65536 are allowed");
    text = (struct expr_text){.at = "1\0", .len = 2};
    CHECK(expr_parse_condition(&text, &arena, &e, &fault));
    CHECK_STR(fault.what, "this text is not valid UTF-8 (or holds a NUL byte)");
    text = text_of("'\xff'");
    CHECK(expr_parse_condition(&text, &arena, &e, &fault));
    CHECK_STR(fault.what, "this text is not valid UTF-8 (or holds a NUL byte)");
    CHECK_STR(fault.excerpt, "");
    free(s);
    arena_release(&arena);

    check_repeated("length(range(100000))", " + length(range(100000))", 3, "", NULL);
    check_repeated("length(range(100000))", " + length(range(100000))", 500, "",
                   "this expression is too expensive");
    check_repeated("range(100000) == range(100000)", " && range(100000) == range(100000)", 500, "",
                   "this expression is too expensive");
    check_repeated("join(range(60000), '----')", " + join(range(60000), '----')", 1, "",
                   "larger than 1048576 bytes");
    check_repeated("join(range(100000), '", "-", 20, "')", "larger than 1048576 bytes");
    check_repeated("format('", "{0}", 20000, "', range(100))", "larger than 1048576 bytes");
    check_repeated("[range(100000)", ", range(100000)", 1, "]",
                   "the result is larger than 1048576 bytes");
    check_repeated("toJSON([range(100000)", ", range(100000)", 1, "])",
                   "larger than 1048576 bytes");
    check_repeated("fromJSON(join(range(100000), '", " ", 7, "'))", "larger than 1048576 bytes");
    check_repeated("fromJSON('", "[", 60000, "')",
                   "nests lists and objects 60000 levels deep; at most 64 are allowed");
    check_repeated("length(fromJSON('", "[", 64,
                   "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]" /* 32 */
                   "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]'))",
                   NULL);
    check_repeated("contains(range(100000), -1)", " || contains(range(100000), -1)", 500, "",
                   "this expression is too expensive");
}

TEST(search_in_a_large_list_counts_towards_the_work_limit)
{
    char *s = repeated("contains(item, -1)", " || contains(item, -1)", 100, "");
    struct buf got = BUF_INIT;
    struct expr_fault fault;
    struct fixture f;
    json_t *many;
    int i;

    begin(&f);
    many = json_array();
    for (i = 0; i < 100000; i++)
        json_array_append_new(many, json_integer(i));
    f.scope.names[EXPR_ITEM] = many;
    CHECK_EQ(evaluate(&f, "contains(item, -1)", &got, &fault), 0);
    CHECK_STR(got.ptr, "false");
    CHECK(evaluate(&f, s, &got, &fault));
    CHECK_STR(got.ptr, "this expression is too expensive: compute the value in a task");
    json_decref(many);
    end(&f);
    buf_release(&got);
    free(s);
}

TEST(limits_of_a_template_apply_to_its_whole_text)
{
    char *s = repeated("x ", "${{ join(range(1000), '--------') }}", 400, "");
    char *work = repeated("x ", "${{ length(range(100000)) }}", 20, "");
    char *long_one = repeated("${{ '", "x", EXPR_TEXT_MAX, "' }}");
    char *large = repeated("", "x", EXPR_TEMPLATE_MAX - 11, "${{ 'ab' }}");
    struct buf got = BUF_INIT;
    struct expr_fault fault;
    struct fixture f;

    begin(&f);
    CHECK(template(&f, s, &got, &fault));
    CHECK_STR(got.ptr,
              "the result is larger than 1048576 bytes: store it in a file and pass the path");
    CHECK(template(&f, work, &got, &fault));
    CHECK_STR(got.ptr, "this expression is too expensive: compute the value in a task");
    CHECK(template(&f, long_one, &got, &fault));
    CHECK_STR(got.ptr, "this expression is 65540 bytes long; at most 65536 are allowed");
    CHECK_OK(template(&f, large, &got, &fault));
    end(&f);
    buf_release(&got);
    free(s);
    free(work);
    free(long_one);
    free(large);
}
