/* test_expr.c - the expression language, cell by cell: what each operator and function makes of
 * each type, what is said where it makes nothing, and that nothing has no end. It also prints
 * docs/EXPRESSIONS.md from the tables of core/expr.h and compares it with the file.
 *
 *   PAWL_WRITE_DOCS=1 build/tests/test_expr      writes the page instead */
#include "harness.h"

#include "base/buf.h"
#include "base/text.h"
#include "core/expr.h"
#include "core/value.h"

#include <jansson.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TEST_NO_DB;

#define COUNT(list) (sizeof(list) / sizeof(*(list)))

/* ---- a world to speak of ---- */

static const char world[] =
    "{\"params\":{\"day\":\"2026-01-01\",\"n\":3,\"ratio\":0.5,\"dry\":false,\"none\":null,"
    "\"big\":9007199254740993,\"min\":-9223372036854775808,\"max\":9223372036854775807,"
    "\"list\":[1,\"two\",null],\"h-y\":1},"
    "\"env\":{\"REGION\":\"eu\"},\"vars\":{},"
    "\"tasks\":{\"extract\":{\"status\":\"succeeded\",\"outputs\":{\"files\":[\"a.csv\",\"b.csv\"],"
    "\"rows\":7}},\"build-all\":{\"status\":\"failed\",\"outputs\":null}},"
    "\"item\":{\"name\":\"b\",\"size\":2},\"index\":1,"
    "\"workflow\":{\"name\":\"nightly\"}}";

struct fixture {
    struct arena arena;
    struct expr_scope scope;
    json_t *world;
    int asked[EXPR_STATUS_COUNT];
};

/* All needs succeeded. */
static bool answer(void *arg, enum expr_status which)
{
    struct fixture *f = arg;

    f->asked[which]++;
    return which == EXPR_SUCCESS || which == EXPR_ALWAYS;
}

static void begin(struct fixture *f)
{
    *f = (struct fixture){.scope = {.status = answer, .arg = f}};
    f->world = json_loads(world, 0, NULL);
    CHECK(f->world);
#define X(id, name, meaning) f->scope.names[EXPR_##id] = json_object_get(f->world, #name);
    EXPR_NAMES(X)
#undef X
}

static void end(struct fixture *f)
{
    json_decref(f->world);
    arena_release(&f->arena);
}

static struct expr_text text_of(const char *s)
{
    return (struct expr_text){.at = s, .len = strlen(s)};
}

/* 0 with the result as JSON, or the code with the sentence, in *out. */
static int evaluate(struct fixture *f, const char *s, struct buf *out, struct expr_fault *fault)
{
    struct expr_text text = text_of(s);
    const struct expr *e;
    json_t *json = NULL;
    struct value v;
    int rc;

    buf_reset(out);
    if ((rc = expr_compile(&text, &f->arena, &e, fault)) ||
        (rc = expr_eval(e, &f->scope, &json, fault))) {
        CHECK(!json);
        CHECK_EQ(rc, -E_INVALID);
        CHECK(fault->what[0]);
        CHECK(fault->offset <= strlen(s));
        buf_addstr(out, fault->what);
        return rc;
    }
    v = value_of(json);
    CHECK(value_write(&v, EXPR_TEMPLATE_MAX * 8, out));
    json_decref(json);
    return 0;
}

struct cell {
    const char *expr, *expect; /* the value as JSON, or the sentence */
};

static void check_cells(const struct cell *cells, size_t n, bool good)
{
    struct buf got = BUF_INIT;
    struct expr_fault fault;
    struct fixture f;
    size_t i;

    begin(&f);
    for (i = 0; i < n; i++) {
        int rc = evaluate(&f, cells[i].expr, &got, &fault);

        if (!rc != good || strcmp(buf_cstr(&got), cells[i].expect))
            test_fail(__FILE__, __LINE__, "%.200s\n    is:        %s\n    should be: %s",
                      cells[i].expr, buf_cstr(&got), cells[i].expect);
    }
    end(&f);
    buf_release(&got);
}

#define VALUES(...)                                       \
    do {                                                  \
        static const struct cell cells[] = {__VA_ARGS__}; \
        check_cells(cells, COUNT(cells), true);           \
    } while (0)
#define FAULTS(...)                                       \
    do {                                                  \
        static const struct cell cells[] = {__VA_ARGS__}; \
        check_cells(cells, COUNT(cells), false);          \
    } while (0)

/* ---- literals ---- */

TEST(literals_are_values)
{
    VALUES({"null", "null"}, {"true", "true"}, {"false", "false"}, {"0", "0"}, {" 7 ", "7"},
           {"9223372036854775807", "9223372036854775807"},
           {"-9223372036854775808", "-9223372036854775808"}, {"-0", "0"}, {"0.5", "0.5"},
           {"1.0", "1.0"}, {"1e3", "1000.0"}, {"1E-2", "0.01"}, {"0.1", "0.1"},
           {"-1.5e+2", "-150.0"}, {"1e300", "1e+300"}, {"5e-324", "4.94065645841247e-324"},
           {"0.30000000000000004", "0.30000000000000004"}, {"\n1\t\r\n", "1"});
    VALUES({"''", "\"\""}, {"'a'", "\"a\""}, {"'it''s'", "\"it's\""}, {"''''", "\"'\""},
           {"'C:\\temp'", "\"C:\\\\temp\""}, {"'\"'", "\"\\\"\""}, {"\"\"", "\"\""},
           {"\"it's\"", "\"it's\""}, {"\"a\\n\\t\\\"\\\\\\u00e9\"", "\"a\\n\\t\\\"\\\\é\""},
           {"\"\\ud83d\\ude00\"", "\"\xf0\x9f\x98\x80\""}, {"'é'", "\"é\""}, {"'}}'", "\"}}\""},
           {"'two\nlines'", "\"two\\nlines\""});
    VALUES({"[]", "[]"}, {"[1, 'a', null, [true]]", "[1,\"a\",null,[true]]"}, {"{}", "{}"},
           {"{a: 1, 'b c': {d: []}, \"e\": null}", "{\"a\":1,\"b c\":{\"d\":[]},\"e\":null}"},
           {"{true: 1}.true", "1"}, {"[1,2][1]", "2"}, {"((((1))))", "1"});
}

TEST(wrong_literals_are_refused)
{
    FAULTS(
        {"9223372036854775808", "this whole number has more than 64 bits"},
        {"-9223372036854775809", "this whole number has more than 64 bits"},
        {"- 9223372036854775808", "this whole number has more than 64 bits"},
        {"007",
         "'007' is not a number: it is written as in JSON (7, 0.5, 1e6), within what a double holds"},
        {"1e999",
         "'1e999' is not a number: it is written as in JSON (7, 0.5, 1e6), within what a double holds"},
        {"1.",
         "'1.' is not a number: it is written as in JSON (7, 0.5, 1e6), within what a double holds"},
        {"0x10",
         "'0x10' is not a number: it is written as in JSON (7, 0.5, 1e6), within what a double holds"},
        {".5", "a value must come here, not '.'"}, {"'abc", "this text has no closing '"},
        {"\"abc\\\"", "this text has no closing \""},
        {"\"\\q\"",
         "this is not a text of JSON; \\n, \\t, \\\", \\\\ and \\u0020 may stand in it, but no \\u0000 and no end of line: use single quotes for text as it is"},
        {"\"\\u0000\"",
         "this is not a text of JSON; \\n, \\t, \\\", \\\\ and \\u0020 may stand in it, but no \\u0000 and no end of line: use single quotes for text as it is"},
        {"[1,]", "a value must come here, not ']'"},
        {"[1 2]", "']' is missing behind the list: here is '2'"},
        {"{a}", "':' is missing behind the key: here is '}'"},
        {"{1: 2}", "a key, which is a name or a text, must come here, not '1'"},
        {"{a: 1, a: 2}", "the key 'a' is there twice"},
        {"{a: 1", "'}' is missing behind the object: here is the end"});
}

/* ---- operators ---- */

TEST(numbers_are_compared_and_computed_exactly)
{
    VALUES({"1 + 2", "3"}, {"1 - 2", "-1"}, {"2 * 3", "6"}, {"7 / 2", "3"}, {"-7 / 2", "-3"},
           {"7 % 2", "1"}, {"-7 % 2", "-1"}, {"7 % -2", "1"}, {"params.min % -1", "0"},
           {"7 / 2.0", "3.5"}, {"7.5 % 2", "1.5"}, {"1 + 0.5", "1.5"},
           {"0.1 + 0.2", "0.30000000000000004"}, {"-params.n", "-3"}, {"- -1", "1"}, {"- 1", "-1"},
           {"-params.ratio", "-0.5"}, {"--1", "1"}, {"params.max + params.min", "-1"},
           {"index-1", "0"}, {"2 - -2", "4"}, {"3 *2 +1", "7"}, {"1 + 2 * 3", "7"},
           {"(1 + 2) * 3", "9"}, {"10 - 2 - 3", "5"}, {"100 / 10 / 2", "5"});
    VALUES({"1 == 1.0", "true"}, {"1 != 2", "true"}, {"1 < 1.5", "true"}, {"-1 > -1.5", "true"},
           {"2 <= 2", "true"}, {"2 >= 3", "false"}, {"2.5 > 2", "true"}, {"-2.5 < -2", "true"},
           {"9007199254740993 == 9007199254740992.0", "false"},
           {"9007199254740993 > 9007199254740992.0", "true"},
           {"params.max < 9223372036854775808.0", "true"},
           {"params.min == -9223372036854775808.0", "true"}, {"params.min > -1e300", "true"},
           {"1e300 > params.max", "true"}, {"0.0 == -0.0", "true"});
    FAULTS({"params.max + 1", "the result of + has more than 64 bits"},
           {"params.min - 1", "the result of - has more than 64 bits"},
           {"params.max * 2", "the result of * has more than 64 bits"},
           {"params.min / -1", "the result of / has more than 64 bits"},
           {"-params.min", "the result of - has more than 64 bits"}, {"1 / 0", "division by 0"},
           {"1 % 0", "division by 0"}, {"1 / 0.0", "division by 0"},
           {"1.5 % -0.0", "division by 0"},
           {"1e308 * 10", "the result of * is larger than a number can be"},
           {"params.big + 0.5",
            "9007199254740993 is too large to be computed exactly with a fraction"},
           {"0.5 + params.min",
            "-9223372036854775808 is too large to be computed exactly with a fraction"});
}

TEST(texts_are_joined_and_ordered_by_code_points)
{
    VALUES({"'a' + 'b' + 'c'", "\"abc\""}, {"'' + ''", "\"\""}, {"'a' < 'b'", "true"},
           {"'a' < 'aa'", "true"}, {"'Z' < 'a'", "true"}, {"'é' > 'z'", "true"},
           {"'a' >= 'a'", "true"}, {"'a' == 'a'", "true"}, {"'a' == 'A'", "false"},
           {"'10' < '9'", "true"}, {"params.day >= '2025-12-31'", "true"});
}

TEST(mixed_types_are_never_guessed)
{
    static const char *const values[] = {"null", "true", "1", "'a'", "[]", "{}"};
    static const char *const types[] = {"null",   "a boolean", "a number",
                                        "a text", "a list",    "an object"};
    static const char *const arithmetic[] = {"+", "-", "*", "/", "%", "<", "<=", ">", ">="};
    struct buf got = BUF_INIT;
    char s[80], expect[160];
    struct expr_fault fault;
    struct fixture f;
    size_t a, b, op;

    begin(&f);
    for (a = 0; a < COUNT(values); a++)
        for (b = 0; b < COUNT(values); b++) {
            for (op = 0; op < COUNT(arithmetic); op++) {
                bool texts = strchr("+<>", *arithmetic[op]);
                bool legal = (a == b) && (a == 2 || (a == 3 && texts));

                snprintf(s, sizeof(s), "%s %s %s", values[a], arithmetic[op], values[b]);
                CHECK_EQ(!evaluate(&f, s, &got, &fault), legal);
                snprintf(expect, sizeof(expect), "%s takes two numbers%s, not %s and %s",
                         arithmetic[op], texts ? " or two texts" : "", types[a], types[b]);
                if (!legal)
                    CHECK_STR(got.ptr, expect);
            }
            for (op = 0; op < 2; op++) {
                snprintf(s, sizeof(s), "%s %s %s", values[a], op ? "!=" : "==", values[b]);
                if (a == b || !a || !b) {
                    CHECK_EQ(evaluate(&f, s, &got, &fault), 0);
                    CHECK_STR(got.ptr, (a == b) == !op ? "true" : "false");
                } else {
                    CHECK(evaluate(&f, s, &got, &fault));
                    snprintf(expect, sizeof(expect),
                             "%s can't be compared with %s: they are never equal", types[a],
                             types[b]);
                    CHECK_STR(got.ptr, expect);
                }
            }
        }
    end(&f);
    buf_release(&got);
}

TEST(lists_and_objects_are_equal_as_a_whole)
{
    VALUES({"[1, [2.0]] == [1.0, [2]]", "true"}, {"[1] == ['1']", "false"},
           {"[1] == [1, 2]", "false"}, {"[null] == [false]", "false"},
           {"{a: 1, b: 2} == {b: 2, a: 1}", "true"}, {"{a: 1} == {a: 2}", "false"},
           {"{a: 1} == {b: 1}", "false"}, {"{a: null} == {}", "false"},
           {"{a: [true]} != {a: [false]}", "true"}, {"tasks == tasks", "true"},
           {"params.list == [1, 'two', null]", "true"});
}

TEST(and_or_not_take_booleans_and_look_no_further_than_they_must)
{
    VALUES({"true && true", "true"}, {"true && false", "false"}, {"false || true", "true"},
           {"false || false", "false"}, {"!true", "false"}, {"!!true", "true"},
           {"!params.dry", "true"}, {"false && params.nope", "false"},
           {"true || 1 / 0 == 1", "true"}, {"false && false || true", "true"},
           {"true || true && false", "true"}, {"(true || true) && false", "false"},
           {"!false && !false", "true"}, {"1 < 2 && 2 < 3", "true"}, {"1 == 1 || 1", "true"},
           {"!(1 == 2)", "true"}, {"true == !false", "true"}, {"1 + 1 < 3 == true", "true"});
    FAULTS({"1 && true", "&& takes booleans, not a number: write a comparison"},
           {"true && 'a'", "&& takes booleans, not a text: write a comparison"},
           {"null || true", "|| takes booleans, not null: write a comparison"},
           {"false || []", "|| takes booleans, not a list: write a comparison"},
           {"!1", "! takes booleans, not a number: write a comparison"},
           {"!params.none", "! takes booleans, not null: write a comparison"},
           {"-'a'", "- takes a number, not a text"}, {"-null", "- takes a number, not null"});
}

TEST(what_is_not_an_expression_is_said_where_it_goes_wrong)
{
    FAULTS(
        {"", "a value must come here, not the end"}, {"  ", "a value must come here, not the end"},
        {"1 +", "a value must come here, not the end"},
        {"(1", "')' is missing behind what is in parentheses: here is the end"},
        {"1 2", "an operator or the end must come here, not '2'"},
        {"'it' 's'", "an operator or the end must come here, not 's'"},
        {"true and false", "an operator or the end must come here, not 'and'; write &&"},
        {"a",
         "'a' is not known; there are: params, env, vars, tasks, item, index, workflow, execution; texts are written in quotes"},
        {"True", "'True' is not known; did you mean 'true'?"},
        {"param.day", "'param' is not known; did you mean 'params'?"},
        {"1 = 1", "'=' can't stand here; write == to compare"},
        {"true & true", "'&' can't stand here; write && for and"},
        {"true | true", "'|' can't stand here; write || for or"}, {"“a”", "'“' can't stand here"},
        {"$a", "'$' can't stand here"}, {"1 }}", "an operator or the end must come here, not '}'"},
        {"1 < 2 < 3",
         "comparisons can't follow each other: join them with &&, or put one of them in parentheses"},
        {"1 == 1 == true",
         "comparisons can't follow each other: join them with &&, or put one of them in parentheses"},
        {"* 2", "a value must come here, not '*'"},
        {"params.", "a name is missing behind the point; other keys are written ['key']"},
        {"params. day", "a name is missing behind the point; other keys are written ['key']"},
        {"params.list.0", "an item of a list is written in brackets: [0]"},
        {"params[", "a value must come here, not the end"},
        {"params['day'", "']' is missing behind the index: here is the end"},
        {"length", "length is a function: write length(…)"},
        {"lenght('a')", "there is no function 'lenght'; did you mean 'length'?"},
        {"startswith('a', 'b')", "there is no function 'startswith'; did you mean 'startsWith'?"},
        {"system('rm')", "there is no function 'system'"},
        {"params('x')", "there is no function 'params'"},
        {"length()", "wrong number of arguments; it is written length(value)"},
        {"length(1, 2)", "wrong number of arguments; it is written length(value)"},
        {"range(1, 2, 3, 4)",
         "wrong number of arguments; it is written range(to), range(from, to), range(from, to, step)"},
        {"default()", "wrong number of arguments; it is written default(value, other)"},
        {"default(1)", "wrong number of arguments; it is written default(value, other)"},
        {"default(1, 2, 3)", "wrong number of arguments; it is written default(value, other)"},
        {"default(1 2)", "',' is missing behind the first argument: here is '2'"},
        {"success(1)", "success() takes no arguments"},
        {"join(1, 2", "')' is missing behind the arguments: here is the end"},
        {"join(1,, 2)", "a value must come here, not ','"});
}

/* ---- names and fields ---- */

TEST(fields_and_items_are_found)
{
    VALUES({"params.day", "\"2026-01-01\""}, {"params['day']", "\"2026-01-01\""},
           {"params[\"day\"]", "\"2026-01-01\""}, {"params['d' + 'ay']", "\"2026-01-01\""},
           {"tasks.extract.outputs.files[1]", "\"b.csv\""},
           {"tasks.build-all.status", "\"failed\""}, {"tasks['build-all'].status", "\"failed\""},
           {"params.h-y", "1"}, {"params.n - 1", "2"}, {"params.list[params.n - 2]", "\"two\""},
           {"item.size", "2"}, {"index", "1"}, {"workflow.name", "\"nightly\""},
           {"env.REGION", "\"eu\""}, {"params.none", "null"}, {"params.list[2]", "null"},
           {"vars", "{}"}, {"tasks [ 'extract' ] .status", "\"succeeded\""});
}

TEST(a_missing_field_says_which_there_are)
{
    FAULTS(
        {"params.dya",
         "params has no field 'dya'; did you mean 'day'? there are: day, n, ratio, dry, none, big, min, max, list, h-y"},
        {"tasks.extract.outputs.x",
         "tasks.extract.outputs has no field 'x'; there are: files, rows"},
        {"tasks['load'].status", "tasks has no field 'load'; there are: extract, build-all"},
        {"vars.x", "vars has no field 'x'; it is empty"},
        {"tasks.extract.outputs.rows-1",
         "tasks.extract.outputs has no field 'rows-1'; did you mean 'rows'? there are: files, rows; a difference is written with blanks around its -"},
        {"params.list[3]", "params.list has no item [3]: it has 3, counted from 0"},
        {"params.list[-1]",
         "items are counted from 0: there is no [-1]; the last of n is [n - 1], see length()"},
        {"params.list[0.5]",
         "params.list is a list: its items have whole numbers, from [0] on, not fractions"},
        {"params.list['0']",
         "params.list is a list: its items have whole numbers, from [0] on, not a text"},
        {"params.list.day",
         "params.list is a list: its items have whole numbers, from [0] on, not a text"},
        {"params[0]", "params is an object: its keys are texts, not a number"},
        {"params[null]", "params is an object: its keys are texts, not null"},
        {"params.none.x", "params.none is null and has no fields; default() can help"},
        {"params.day.x", "params.day is a text and has no fields"},
        {"index[0]", "index is a number and has no fields"},
        {"execution.id", "execution is not known here: it is the running execution"},
        {"default(execution, 1)", "execution is not known here: it is the running execution"});
}

/* ---- functions ---- */

TEST(functions_about_texts)
{
    VALUES({"contains('abc', 'bc')", "true"}, {"contains('abc', '')", "true"},
           {"contains('', 'a')", "false"}, {"contains('abc', 'B')", "false"},
           {"contains(params.list, 'two')", "true"}, {"contains(params.list, null)", "true"},
           {"contains([1, 2], 2.0)", "true"}, {"contains([1], '1')", "false"},
           {"contains([[1]], [1])", "true"}, {"contains([], 1)", "false"},
           {"contains(params, 'day')", "true"}, {"contains(params, 'x')", "false"},
           {"startsWith('abc', 'ab')", "true"}, {"startsWith('a', 'ab')", "false"},
           {"startsWith('', '')", "true"}, {"endsWith('abc', 'bc')", "true"},
           {"endsWith('abc', 'ab')", "false"}, {"endsWith('c', '')", "true"},
           {"endsWith('bc', 'abc')", "false"});
    VALUES({"format('a')", "\"a\""}, {"format('')", "\"\""},
           {"format('{0}{1}{0}', 'x', 1)", "\"x1x\""},
           {"format('{{{0}}} {{}}', 0.5)", "\"{0.5} {}\""},
           {"format('{0} {1}', [1, 'a'], {b: true})", "\"[1,\\\"a\\\"] {\\\"b\\\":true}\""},
           {"format('{1}', 'unused', true)", "\"true\""}, {"format('é{0}é', 'ü')", "\"éüé\""},
           {"join([], ',')", "\"\""}, {"join(['a'], ',')", "\"a\""},
           {"join(['a', 1, 1.5, true, [2]], '')", "\"a11.5true[2]\""},
           {"split('a,b', ',')", "[\"a\",\"b\"]"}, {"split('', ',')", "[\"\"]"},
           {"split(',', ',')", "[\"\",\"\"]"}, {"split('abc', 'abcd')", "[\"abc\"]"},
           {"split('aXXbXXc', 'XX')", "[\"a\",\"b\",\"c\"]"},
           {"split('aaa', 'aa')", "[\"\",\"a\"]"}, {"join(split('x y z', ' '), ' ')", "\"x y z\""});
    FAULTS(
        {"contains(1, 2)",
         "the first argument of contains() must be a text, a list or an object, not a number"},
        {"contains('a', 1)", "the second argument of contains() must be a text, not a number"},
        {"contains({}, 1)", "the second argument of contains() must be a text, not a number"},
        {"startsWith(null, 'a')", "the first argument of startsWith() must be a text, not null"},
        {"endsWith('a', [])", "the second argument of endsWith() must be a text, not a list"},
        {"format(1)", "the first argument of format() must be a text, not a number"},
        {"format('{0}')", "the text of format() has {0}, but there are 0 values"},
        {"format('{999}', 1)", "the text of format() has {999}, but there are 1 values"},
        {"format('{}', 1)",
         "the text of format() has a { without number and }; a brace itself is written {{"},
        {"format('{0', 1)",
         "the text of format() has a { without number and }; a brace itself is written {{"},
        {"format('{1000}', 1)",
         "the text of format() has a { without number and }; a brace itself is written {{"},
        {"format('a}', 1)", "the text of format() has a } without {; a brace itself is written }}"},
        {"format('{0}', null)",
         "value 0 of format() is null, which has no text; default() can help"},
        {"join('a', ',')", "the first argument of join() must be a list, not a text"},
        {"join([], 1)", "the second argument of join() must be a text, not a number"},
        {"join(params.list, ',')",
         "item 2 of join() is null, which has no text; default() can help"},
        {"split(1, ',')", "the first argument of split() must be a text, not a number"},
        {"split('a', '')", "split() at an empty text: say where to cut"});
}

TEST(functions_about_lists_and_objects)
{
    VALUES({"length('')", "0"}, {"length('häß')", "3"}, {"length(params.list)", "3"},
           {"length(tasks)", "2"}, {"range(0)", "[]"}, {"range(-1)", "[]"}, {"range(3)", "[0,1,2]"},
           {"range(1, 3)", "[1,2]"}, {"range(3, 1)", "[]"}, {"range(3, 0, -1)", "[3,2,1]"},
           {"range(0, 5, 2)", "[0,2,4]"}, {"range(0, 4, 2)", "[0,2]"},
           {"range(0, 1, params.max)", "[0]"},
           {"range(params.min, params.max, 4611686018427387904)",
            "[-9223372036854775808,-4611686018427387904,0,4611686018427387904]"},
           {"range(params.max, params.min, params.min)", "[9223372036854775807,-1]"},
           {"length(range(100000))", "100000"}, {"range(100000)[99999]", "99999"},
           {"keys(item)", "[\"name\",\"size\"]"}, {"values(item)", "[\"b\",2]"}, {"keys({})", "[]"},
           {"values(vars)", "[]"});
    VALUES({"toJSON(null)", "\"null\""}, {"toJSON('a\"')", "\"\\\"a\\\\\\\"\\\"\""},
           {"toJSON(0.1)", "\"0.1\""},
           {"toJSON(item)", "\"{\\\"name\\\":\\\"b\\\",\\\"size\\\":2}\""},
           {"fromJSON('null')", "null"}, {"fromJSON(' 1.0 ')", "1.0"},
           {"fromJSON('{\"a\": [1]}').a[0]", "1"}, {"fromJSON(toJSON(tasks)) == tasks", "true"},
           {"fromJSON(toJSON(params)) == params", "true"});
    FAULTS({"length(1)", "length() takes a text, a list or an object, not a number"},
           {"length(null)", "length() takes a text, a list or an object, not null"},
           {"range(100001)", "range() would make 100001 items; at most 100000 are made"},
           {"range(params.min, params.max)",
            "range() would make 18446744073709551615 items; at most 100000 are made"},
           {"range(0, 1, 0)", "the step of range() is 0: it would never end"},
           {"range(1.5)", "the first argument of range() must be a whole number, not a fraction"},
           {"range(0, '1')", "the second argument of range() must be a whole number, not a text"},
           {"range(0, 1, null)", "the third argument of range() must be a whole number, not null"},
           {"keys([])", "the first argument of keys() must be an object, not a list"},
           {"values('a')", "the first argument of values() must be an object, not a text"},
           {"fromJSON(1)", "the first argument of fromJSON() must be a text, not a number"},
           {"fromJSON('')", "this text is not valid JSON: its line 1, column 0 is wrong"},
           {"fromJSON('{\"a\": 1, \"a\": 2}')",
            "this text is not valid JSON: its line 1, column 12 is wrong"},
           {"fromJSON('[1] 2')", "this text is not valid JSON: its line 1, column 5 is wrong"});
}

TEST(default_stands_in_for_what_is_null_or_missing_and_for_nothing_else)
{
    VALUES(
        {"default(params.day, 1)", "\"2026-01-01\""}, {"default(params.none, 1)", "1"},
        {"default(params.x, 1)", "1"}, {"default(params.x.y[3].z, 1)", "1"},
        {"default(params.none.y, 1)", "1"}, {"default(params.list[7], 1)", "1"},
        {"default(params.dry, true)", "false"}, {"default(params.x, default(params.y, 2))", "2"},
        {"default(default(params.x, params.y), 3)", "3"}, {"default(length(params.x) + 1, 4)", "4"},
        {"default(null, null)", "null"}, {"default(params.day, params.x)", "\"2026-01-01\""},
        {"1 + default(params.x, 2) * 3", "7"},
        {"[default(vars.a, 1), default(vars.b, 2)]", "[1,2]"}, {"default([1, params.x], [])", "[]"},
        {"default(tasks.build-all.outputs.files, [])", "[]"},
        {"default(false && params.x == 1, true)", "false"},
        {"default(params[default(vars.k, 'day')], 0)", "\"2026-01-01\""});
    FAULTS(
        {"default(params.day.x, 1)", "params.day is a text and has no fields"},
        {"default(1 / 0, 1)", "division by 0"},
        {"default(params.list[-1], 1)",
         "items are counted from 0: there is no [-1]; the last of n is [n - 1], see length()"},
        {"default(params.none, params.x)",
         "params has no field 'x'; there are: day, n, ratio, dry, none, big, min, max, list, h-y"},
        {"default(params.x, 1) + params.y",
         "params has no field 'y'; there are: day, n, ratio, dry, none, big, min, max, list, h-y"});
}

TEST(status_functions_are_asked_of_the_caller_and_only_when_needed)
{
    struct buf got = BUF_INIT;
    struct expr_fault fault;
    struct fixture f;

    begin(&f);
    CHECK_EQ(evaluate(&f, "success() || failure()", &got, &fault), 0);
    CHECK_STR(got.ptr, "true");
    CHECK_EQ(f.asked[EXPR_SUCCESS], 1);
    CHECK_EQ(f.asked[EXPR_FAILURE], 0);
    CHECK_EQ(evaluate(&f, "failure() || cancelled() || always()", &got, &fault), 0);
    CHECK_STR(got.ptr, "true");
    CHECK_EQ(f.asked[EXPR_FAILURE] + f.asked[EXPR_CANCELLED] + f.asked[EXPR_ALWAYS], 3);
    f.scope.status = NULL;
    CHECK(evaluate(&f, "success()", &got, &fault));
    CHECK_STR(got.ptr, "how the needs ended is not known here: this belongs into 'if'");
    end(&f);
    buf_release(&got);
}

/* ---- conditions ---- */

static int condition(struct fixture *f, const char *s, bool *yes, struct expr_fault *fault)
{
    struct expr_text text = text_of(s);
    const struct expr *e;
    int rc = expr_compile_condition(&text, &f->arena, &e, fault);

    return rc ? rc : expr_eval_bool(e, &f->scope, yes, fault);
}

TEST(a_condition_is_written_with_or_without_its_brackets_and_must_be_boolean)
{
    struct expr_fault fault;
    struct fixture f;
    bool yes = false;

    begin(&f);
    CHECK_OK(condition(&f, "params.n == 3", &yes, &fault));
    CHECK(yes);
    CHECK_OK(condition(&f, " ${{ params.n == 4 }}\n", &yes, &fault));
    CHECK(!yes);
    CHECK(condition(&f, "${{ params.n }}", &yes, &fault));
    CHECK_STR(fault.what, "a condition must be true or false, not a number: write a comparison");
    CHECK_STR(fault.excerpt, "params.n");
    CHECK(condition(&f, "${{ true }} && false", &yes, &fault));
    CHECK_STR(fault.what, "a condition is one expression: nothing may stand behind its }}");
    CHECK_EQ(fault.offset, 12);
    CHECK(condition(&f, "${{ true", &yes, &fault));
    CHECK_STR(fault.what, "this expression is not closed: }} is missing");
    CHECK(condition(&f, "'true'", &yes, &fault));
    CHECK(!yes); /* untouched by all that failed */
    end(&f);
}

/* ---- templates ---- */

static int template(struct fixture *f, const char *s, struct buf *out, struct expr_fault *fault)
{
    struct expr_text text = text_of(s);
    const struct expr_template *t;
    json_t *json = NULL;
    struct value v;
    int rc;

    buf_reset(out);
    if ((rc = expr_template_compile(&text, &f->arena, &t, fault)) ||
        (rc = expr_template_eval(t, &f->scope, &json, fault))) {
        CHECK(!json);
        buf_addstr(out, fault->what);
        return rc;
    }
    if (expr_template_constant(t))
        CHECK_STR(expr_template_constant(t), json_string_value(json));
    v = value_of(json);
    CHECK(value_write(&v, EXPR_TEMPLATE_MAX * 8, out));
    json_decref(json);
    return 0;
}

static void check_templates(const struct cell *cells, size_t n, bool good)
{
    struct buf got = BUF_INIT;
    struct expr_fault fault;
    struct fixture f;
    size_t i;

    begin(&f);
    for (i = 0; i < n; i++) {
        CHECK_EQ(!template(&f, cells[i].expr, &got, &fault), good);
        CHECK_STR(buf_cstr(&got), cells[i].expect);
    }
    end(&f);
    buf_release(&got);
}

TEST(a_text_that_is_one_expression_keeps_its_type_and_others_become_text)
{
    static const struct cell good[] = {
        {"", "\"\""},
        {"plain }} $ {{ text", "\"plain }} $ {{ text\""},
        {"${{ params.n }}", "3"},
        {"${{params.list}}", "[1,\"two\",null]"},
        {"${{ params.none }}", "null"},
        {" ${{ params.n }}", "\" 3\""},
        {"${{ params.n }}${{ params.n }}", "\"33\""},
        {"a ${{ params.day }} b ${{ params.ratio }} c", "\"a 2026-01-01 b 0.5 c\""},
        {"x=${{ params.dry }}", "\"x=false\""},
        {"x=${{ tasks.extract.outputs }}",
         "\"x={\\\"files\\\":[\\\"a.csv\\\",\\\"b.csv\\\"],\\\"rows\\\":7}\""},
        {"${{ '}}' }}!", "\"}}!\""},
        {"${{ {a: {b: 1}} }}", "{\"a\":{\"b\":1}}"},
        {"${{{a: {b: 1}}}}", "{\"a\":{\"b\":1}}"},
        {"$${{ params.n }}", "\"${{ params.n }}\""},
        {"$$${{ x", "\"$${{ x\""},
        {"a$${{b${{ 1 }}$${{", "\"a${{b1${{\""},
        {"${{ '$' }}$${{", "\"$${{\""},
        {"$ {{ x }} ${ x }", "\"$ {{ x }} ${ x }\""},
        {"é${{ 'ü' }}", "\"éü\""}};
    static const struct cell bad[] = {
        {"a ${{ params.none }}", "this is null, which has no text; default() can help"},
        {"${{ }}", "a value must come here, not '}'"},
        {"a ${{ 1", "this expression is not closed: }} is missing"},
        {"a ${{ 1 } b", "an operator or the end must come here, not '}'"},
        {"${{ 1 }", "an operator or the end must come here, not '}'"},
        {"${{ ${{ 1 }} }}", "'$' can't stand here"},
        {"a ${{ params.x }} ${{ nope }}",
         "'nope' is not known; there are: params, env, vars, tasks, item, index, workflow, execution; texts are written in quotes"}};

    check_templates(good, COUNT(good), true);
    check_templates(bad, COUNT(bad), false);
}

/* ---- places ---- */

TEST(a_fault_names_file_line_column_and_expression)
{
    static const struct {
        const char *text, *sentence;
    } cases[] = {
        {"run ${{ params.x }}",
         "flow.yaml:7:22: params has no field 'x'; there are: a (in: params.x)"},
        {"é ${{ 'ü' + 1 }} b",
         "flow.yaml:7:17: + takes two numbers or two texts, not a text and a number (in: 'ü' + 1)"},
        {"a\nb\n ${{ 1\n + nope }}",
         "flow.yaml:10:4: 'nope' is not known; there are: params, env, vars, tasks, item, index, workflow, execution; texts are written in quotes (in: 1  + nope)"},
    };
    struct expr_scope scope = {0};
    struct err err = ERR_INIT;
    size_t i;

    scope.names[EXPR_PARAMS] = json_pack("{s:i}", "a", 1);
    for (i = 0; i < COUNT(cases); i++) {
        struct expr_text text = {cases[i].text, strlen(cases[i].text), "flow.yaml", 7, 7};
        struct arena arena = ARENA_INIT;
        const struct expr_template *t;
        struct expr_fault fault;
        json_t *json;

        if (!expr_template_compile(&text, &arena, &t, &fault))
            CHECK_EQ(expr_template_eval(t, &scope, &json, &fault), -E_INVALID);
        CHECK_EQ(expr_fault_err(&fault, &err), -E_INVALID);
        CHECK_STR(err.msg, cases[i].sentence);
        arena_release(&arena);
    }
    json_decref(scope.names[EXPR_PARAMS]);
}

TEST(a_long_expression_is_shown_around_the_place)
{
    struct arena arena = ARENA_INIT;
    struct buf s = BUF_INIT;
    struct expr_fault fault;
    struct err err = ERR_INIT;
    struct expr_text text;
    const struct expr *e;
    int i;

    for (i = 0; i < 300; i++)
        buf_addstr(&s, "'ü' + ");
    buf_addstr(&s, "nope");
    for (i = 0; i < 300; i++)
        buf_addstr(&s, " + 'ü'");
    text = text_of(s.ptr);
    CHECK_EQ(expr_compile(&text, &arena, &e, &fault), -E_INVALID);
    CHECK_EQ(fault.line, 1);
    CHECK_EQ(fault.column, 1801);
    CHECK(strstr(fault.excerpt, "nope"));
    CHECK(strlen(fault.excerpt) < 110);
    CHECK(text_is_utf8(fault.excerpt, strlen(fault.excerpt)));
    expr_fault_err(&fault, &err);
    CHECK(!strncmp(err.msg, "line 1, column 1801: 'nope' is not known", 40));
    buf_release(&s);
    arena_release(&arena);
}

/* ---- references ---- */

static void add_ref(void *arg, const struct expr_ref *ref)
{
    static const char *const names[] = {
#define X(id, name, meaning) #name,
        EXPR_NAMES(X)
#undef X
    };
    struct buf *out = arg;
    size_t i;

    buf_addf(out, "%s%s%s", out->len ? " " : "", ref->optional ? "?" : "", names[ref->name]);
    for (i = 0; i < ref->n; i++)
        buf_addf(out, "/%s", ref->path[i]);
    buf_addf(out, "@%zu", ref->offset);
}

TEST(references_are_listed_without_evaluating)
{
    static const struct cell cells[] = {
        {"1 + 2", ""},
        {"tasks.a.outputs.files[0].x", "tasks/a/outputs/files@0"},
        {"tasks['a b'].status == 'x'", "tasks/a b/status@0"},
        {"tasks[params.which].status", "tasks@0 params/which@6"},
        {"keys(tasks)", "tasks@5"},
        {"tasks.a[index].b", "tasks/a@0 index@8"},
        {"(params).x", "params/x@1"},
        {"params.a.b.c.d.e.f.g.h", "params/a/b/c/d/e/f@0"},
        {"default(vars.a, vars.b) + env.C", "?vars/a@8 vars/b@16 env/C@26"},
        {"default(default(item, 1), 2)", "?item@16"},
        {"false && tasks.never.status == 'x'", "tasks/never/status@9"},
        {"[params.a, {b: vars.c}]", "params/a@1 vars/c@15"},
        {"tasks[['a'][0]].x", "tasks@0"},
        {"[tasks][0].x", "tasks@1"}};
    struct arena arena = ARENA_INIT;
    struct expr_text text =
        text_of("${{ tasks.a }} $${{ vars.no }} ${{ failure() && params.b == 1 }}");
    const struct expr_template *t;
    struct buf got = BUF_INIT;
    struct expr_fault fault;
    const struct expr *e;
    size_t i;

    for (i = 0; i < COUNT(cells); i++) {
        struct expr_text one = text_of(cells[i].expr);

        buf_reset(&got);
        CHECK_OK(expr_compile(&one, &arena, &e, &fault));
        expr_references(e, add_ref, &got);
        CHECK_STR(buf_cstr(&got), cells[i].expect);
        CHECK_EQ(expr_statuses(e), 0);
    }
    buf_reset(&got);
    CHECK_OK(expr_template_compile(&text, &arena, &t, &fault));
    expr_template_references(t, add_ref, &got);
    CHECK_STR(buf_cstr(&got), "tasks/a@4 params/b@48");
    CHECK_EQ(expr_template_statuses(t), 1u << EXPR_FAILURE);
    CHECK(!expr_template_constant(t));
    buf_release(&got);
    arena_release(&arena);
}

/* ---- limits ---- */

/* `times` times `part`, with something before and behind. */
static char *repeated(const char *before, const char *part, size_t times, const char *behind)
{
    struct buf b = BUF_INIT;

    buf_addstr(&b, before);
    while (times--)
        buf_addstr(&b, part);
    buf_addstr(&b, behind);
    return b.ptr;
}

static void check_repeated(const char *before, const char *part, size_t times, const char *behind,
                           const char *fault_or_null)
{
    char *s = repeated(before, part, times, behind);
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

TEST(nesting_is_bounded_and_chains_are_not)
{
    static const char *const too_deep = "this is nested more than 64 deep";

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

TEST(a_nest_that_is_deep_enough_is_evaluated)
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

TEST(size_and_work_are_bounded)
{
    char *s = repeated("'", "x", EXPR_TEXT_MAX - 2, "'");
    struct expr_text text = text_of(s);
    struct arena arena = ARENA_INIT;
    const struct expr *e;
    struct expr_fault fault;

    CHECK_OK(expr_compile(&text, &arena, &e, &fault));
    text.len++; /* its NUL, and one too many */
    CHECK(expr_compile(&text, &arena, &e, &fault));
    CHECK_STR(fault.what, "this text has 65537 bytes; at most 65536 are taken");
    text = (struct expr_text){.at = "1\0", .len = 2};
    CHECK(expr_compile(&text, &arena, &e, &fault));
    CHECK_STR(fault.what, "this text is not valid UTF-8 (or holds a NUL byte)");
    text = text_of("'\xff'");
    CHECK(expr_compile(&text, &arena, &e, &fault));
    CHECK_STR(fault.what, "this text is not valid UTF-8 (or holds a NUL byte)");
    CHECK_STR(fault.excerpt, "");
    free(s);
    arena_release(&arena);

    check_repeated("length(range(100000))", " + length(range(100000))", 3, "", NULL);
    check_repeated("length(range(100000))", " + length(range(100000))", 500, "",
                   "too much to compute");
    check_repeated("range(100000) == range(100000)", " && range(100000) == range(100000)", 500, "",
                   "too much to compute");
    check_repeated("join(range(60000), '----')", " + join(range(60000), '----')", 1, "",
                   "longer than 1048576 bytes");
    check_repeated("join(range(100000), '", "-", 20, "')", "longer than 1048576 bytes");
    check_repeated("format('", "{0}", 20000, "', range(100))", "longer than 1048576 bytes");
    check_repeated("[range(100000)", ", range(100000)", 1, "]",
                   "the result has more than 1048576 bytes");
    check_repeated("toJSON([range(100000)", ", range(100000)", 1, "])",
                   "longer than 1048576 bytes");
    check_repeated("fromJSON(join(range(100000), '", " ", 7, "'))", "longer than 1048576 bytes");
    check_repeated("fromJSON('", "[", 60000, "')", "not valid JSON");
    check_repeated("contains(range(100000), -1)", " || contains(range(100000), -1)", 500, "",
                   "too much to compute");
}

TEST(looking_through_what_the_caller_gave_is_work_too)
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
    CHECK_STR(got.ptr, "this is too much to compute: let a task do it");
    json_decref(many);
    end(&f);
    buf_release(&got);
    free(s);
}

TEST(a_template_is_bounded_as_a_whole)
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
              "with this the text gets longer than 1048576 bytes: pass a reference instead");
    CHECK(template(&f, work, &got, &fault));
    CHECK_STR(got.ptr, "this is too much to compute: let a task do it");
    CHECK(template(&f, long_one, &got, &fault));
    CHECK_STR(got.ptr, "this expression has 65540 bytes; at most 65536 are taken");
    CHECK_OK(template(&f, large, &got, &fault));
    end(&f);
    buf_release(&got);
    free(s);
    free(work);
    free(long_one);
    free(large);
}

/* ---- the caller's side ---- */

TEST(a_result_outlives_expression_and_scope)
{
    struct expr_text text = text_of("[tasks.extract.outputs.files, 'new', params.day]");
    const struct expr *e;
    struct expr_fault fault;
    struct fixture f;
    json_t *json;

    begin(&f);
    CHECK_OK(expr_compile(&text, &f.arena, &e, &fault));
    CHECK_OK(expr_eval(e, &f.scope, &json, &fault));
    end(&f);
    CHECK_STR(json_string_value(json_array_get(json_array_get(json, 0), 1)), "b.csv");
    CHECK_STR(json_string_value(json_array_get(json, 1)), "new");
    CHECK_STR(json_string_value(json_array_get(json, 2)), "2026-01-01");
    json_decref(json);
}

TEST(texts_with_nul_in_the_scope_stay_whole)
{
    struct expr_text text = text_of("[length(item), item + 'c' == item, contains(item, 'b')]");
    struct expr_scope scope = {0};
    struct arena arena = ARENA_INIT;
    const struct expr *e;
    struct expr_fault fault;
    json_t *json;

    scope.names[EXPR_ITEM] = json_stringn("a\0b", 3);
    CHECK_OK(expr_compile(&text, &arena, &e, &fault));
    CHECK_OK(expr_eval(e, &scope, &json, &fault));
    CHECK_EQ(json_integer_value(json_array_get(json, 0)), 3);
    CHECK(json_is_false(json_array_get(json, 1)));
    CHECK(json_is_true(json_array_get(json, 2)));
    json_decref(json);
    json_decref(scope.names[EXPR_ITEM]);
    arena_release(&arena);
}

TEST(the_locale_changes_nothing)
{
    static const char *const with_comma[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE.utf8"};
    size_t i;

    for (i = 0; i < COUNT(with_comma) && !setlocale(LC_ALL, with_comma[i]); i++)
        ;
    VALUES({"0.5 + 1.25", "1.75"}, {"toJSON([0.1])", "\"[0.1]\""}, {"fromJSON('2.5')", "2.5"},
           {"format('{0}', params.ratio)", "\"0.5\""});
    setlocale(LC_ALL, "C");
}

/* ---- the page ---- */

#define FILE_NAME "docs/EXPRESSIONS.md"

static const char head[] =
    "# Expressions\n"
    "\n"
    "`${{ … }}` in a workflow computes a value from parameters, outputs of tasks and the like. `if` is an\n"
    "expression as a whole and needs no brackets. An expression has no side effects and always ends.\n"
    "Nothing is guessed: what has the wrong type, or is not there, is an error that names file, line,\n"
    "column and expression; where it is found before the run, `pawl validate` shows it, otherwise the task\n"
    "fails with it.\n"
    "\n"
    "This page is printed from the tables in `src/core/expr.h` by `tests/test_expr.c`, which also tries every\n"
    "example: do not edit it, run `PAWL_WRITE_DOCS=1 build/tests/test_expr`.\n"
    "\n"
    "```yaml\n"
    "params: {day: \"2026-01-31\"}\n"
    "tasks:\n"
    "  extract: ./extract.sh\n"
    "  check: {if: \"params.day != '2026-01-01'\", run: ./check.sh}\n"
    "  load:\n"
    "    needs: [extract, check]\n"
    "    if: success() || tasks.check.status == 'skipped'\n"
    "    foreach: ${{ tasks.extract.outputs.files }}\n"
    "    with: {name: \"report-${{ params.day }}\", rows: \"${{ default(tasks.check.outputs.rows, 0) }}\"}\n"
    "    run: ./load.sh \"$ITEM\"\n"
    "```\n"
    "\n"
    "## Values\n"
    "\n"
    "Values are those of JSON.\n"
    "\n"
    "| type | written | |\n"
    "|---|---|---|\n"
    "| null | `null` | what is missing is not null but an error; see `default` |\n"
    "| boolean | `true` `false` | nothing else counts as true or false |\n"
    "| number | `7` `-1` `0.5` `1e6` | whole numbers are exact in 64 bits, others are doubles |\n"
    "| text | `'it''s'` `\"a\\n\"` | in single quotes everything stands for itself and `''` for one quote, "
    "as in YAML; in double quotes it is a text of JSON |\n"
    "| list | `[1, 'a', []]` | |\n"
    "| object | `{name: 'x', 'any key': 1}` | |\n"
    "\n"
    "A field is `params.day` or `params['day']`, an item `files[0]`; items are counted from 0, and there is no\n"
    "negative index. A name behind a point may have dashes (`tasks.build-all.status`), so write blanks around\n"
    "the minus of a difference.\n";

static const char rules[] =
    "\n"
    "Parentheses come first; `!` and `-` before a value bind more strongly than all of these. Comparisons can't\n"
    "follow each other (`1 < x < 3`). Numbers are equal if they mean the same (`1 == 1.0`); within lists and\n"
    "objects values of different types are unequal. Whole numbers that leave 64 bits, division by 0, and a\n"
    "whole number beyond 2^53 together with a fraction are errors.\n";

static const char text_rules[] =
    "\n"
    "## In text\n"
    "\n"
    "A text that is one expression and nothing else, not even a blank, keeps the type of its value. In any other\n"
    "text each expression becomes text: texts as they are, numbers, booleans, lists and objects as JSON in one\n"
    "line. Null has no text: that is an error. `$${{` stands for `${{` itself.\n"
    "\n"
    "| text | value |\n"
    "|---|---|\n";

static const struct cell text_examples[] = {
    {"${{ params.n }}", "3"},
    {"${{ params.n }} files", "\"3 files\""},
    {"report-${{ params.day }}.csv", "\"report-2026-01-01.csv\""},
    {"files: ${{ tasks.extract.outputs.files }}", "\"files: [\\\"a.csv\\\",\\\"b.csv\\\"]\""},
    {"write $${{ params.n }}", "\"write ${{ params.n }}\""},
};

/* In a table a bar must be hidden, also in code. */
static void add_code(struct buf *b, const char *code)
{
    buf_addch(b, '`');
    for (; *code; code++) {
        if (*code == '|')
            buf_addch(b, '\\');
        buf_addch(b, *code);
    }
    buf_addch(b, '`');
}

static void add_example(struct fixture *f, struct buf *b, const char *usage, const char *meaning,
                        const char *example, const char *result)
{
    struct buf got = BUF_INIT;
    struct expr_fault fault;

    CHECK_EQ(evaluate(f, example, &got, &fault), 0);
    CHECK_STR(got.ptr, result);
    buf_addstr(b, "| ");
    add_code(b, usage);
    buf_addf(b, " | %s | ", meaning);
    add_code(b, example);
    buf_addstr(b, " is ");
    add_code(b, result);
    buf_addstr(b, " |\n");
    buf_release(&got);
}

static void add_operator(struct buf *b, const char *op, int strength, const char *meaning)
{
    buf_addf(b, "| %d | ", strength);
    add_code(b, op);
    buf_addf(b, " | %s |\n", meaning);
}

static void add_functions(struct fixture *f, struct buf *b)
{
    buf_addstr(b, "\n## Functions\n\n| function | gives | example |\n|---|---|---|\n");
#define X(name, fewest, most, usage, meaning, example, result) \
    add_example(f, b, usage, meaning, example, result);
    EXPR_DEFAULT(X)
    EXPR_FUNCTIONS(X)
#undef X
    buf_addstr(
        b,
        "\n`default` looks at its second value only if it needs it. It helps where a field or an item is "
        "missing or null, however deep; any other error in its first value stays one.\n"
        "\nOf the tasks that this one needs, in `if`; the examples are of needs that all succeeded:\n"
        "\n| function | is true if | example |\n|---|---|---|\n");
#define X(id, name, meaning, example, result) \
    add_example(f, b, #name "()", meaning, example, result);
    EXPR_STATUSES(X)
#undef X
}

static void add_texts(struct fixture *f, struct buf *b)
{
    struct buf got = BUF_INIT;
    struct expr_fault fault;
    size_t i;

    buf_addstr(b, text_rules);
    for (i = 0; i < COUNT(text_examples); i++) {
        CHECK_EQ(template(f, text_examples[i].expr, &got, &fault), 0);
        CHECK_STR(got.ptr, text_examples[i].expect);
        buf_addstr(b, "| ");
        add_code(b, text_examples[i].expr);
        buf_addstr(b, " | ");
        add_code(b, text_examples[i].expect);
        buf_addstr(b, " |\n");
    }
    buf_release(&got);
}

static void page(struct buf *b)
{
    struct fixture f;

    begin(&f);
    buf_addstr(b, head);
    buf_addstr(b, "\n## Names\n\n| name | is |\n|---|---|\n");
#define X(id, name, meaning) buf_addf(b, "| `%s` | %s |\n", #name, meaning);
    EXPR_NAMES(X)
#undef X
    buf_addstr(b, "\n## Operators\n\nThe higher the number, the more strongly it binds.\n\n"
                  "| | operator | is |\n|---|---|---|\n");
#define X(id, text, strength, meaning) add_operator(b, text, strength, meaning);
    EXPR_OPERATORS(X)
#undef X
    buf_addstr(b, rules);
    add_functions(&f, b);
    add_texts(&f, b);
    buf_addf(
        b,
        "\n## Limits\n\nAn expression has at most %d bytes and is nested at most %d deep; a text with "
        "expressions in it, and a result (of a list or an object: its JSON), have at most %u bytes; `range` makes at most %d items. "
        "What would take much longer than a blink to compute is refused: let a task do it.\n",
        EXPR_TEXT_MAX, EXPR_DEPTH_MAX, EXPR_RESULT_MAX, EXPR_RANGE_MAX);
    CHECK_EQ(EXPR_RESULT_MAX, EXPR_TEMPLATE_MAX);
    end(&f);
}

static void read_page(struct buf *b)
{
    FILE *file = fopen(FILE_NAME, "re");
    char chunk[4096];
    size_t n;

    if (!file)
        test_fail(__FILE__, __LINE__, "can't read " FILE_NAME ": run this in the project's folder");
    while ((n = fread(chunk, 1, sizeof(chunk), file)) > 0)
        buf_add(b, chunk, n);
    fclose(file);
}

static void write_page(const struct buf *b)
{
    FILE *file = fopen(FILE_NAME, "we");

    CHECK(file);
    CHECK_EQ(fwrite(b->ptr, 1, b->len, file), b->len);
    CHECK_EQ(fclose(file), 0);
}

TEST(the_page_about_expressions_says_what_the_code_says)
{
    struct buf should = BUF_INIT, is = BUF_INIT;
    size_t at = 0;

    page(&should);
    if (getenv("PAWL_WRITE_DOCS"))
        write_page(&should);
    read_page(&is);
    while (at < is.len && is.ptr[at] == should.ptr[at])
        at++;
    if (at < is.len || is.len != should.len)
        test_fail(__FILE__, __LINE__,
                  FILE_NAME " differs from the code: run PAWL_WRITE_DOCS=1 build/tests/test_expr\n"
                            "    file: %.60s\n    code: %.60s",
                  is.ptr + at, should.ptr + at);
    buf_release(&is);
    buf_release(&should);
}
