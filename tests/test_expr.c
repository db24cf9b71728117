/* test_expr.c - the expression language, cell by cell: the result of each operator and function for
 * each type, and the error where there is no result. */
#include "expr_fixture.h"

#include <stdio.h>
#include <string.h>

TEST_NO_DB;

/* ---- literals ---- */

TEST(literals_evaluate_to_their_values)
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

TEST(invalid_literals_are_refused)
{
    FAULTS(
        {"9223372036854775808", "this whole number does not fit in 64 bits"},
        {"-9223372036854775809", "this whole number does not fit in 64 bits"},
        {"- 9223372036854775808", "this whole number does not fit in 64 bits"},
        {"007",
         "'007' is not a number: write it as in JSON (7, 0.5, 1e6), within the range of a double"},
        {"1e999",
         "'1e999' is not a number: write it as in JSON (7, 0.5, 1e6), within the range of a double"},
        {"1.",
         "'1.' is not a number: write it as in JSON (7, 0.5, 1e6), within the range of a double"},
        {"0x10",
         "'0x10' is not a number: write it as in JSON (7, 0.5, 1e6), within the range of a double"},
        {".5", "expected a value, found '.'"}, {"'abc", "this string has no closing '"},
        {"\"abc\\\"", "this string has no closing \""},
        {"\"\\q\"",
         "this is not a valid JSON string: \\n, \\t, \\\", \\\\ and \\u0020 are allowed in it, \\u0000 and line breaks are not; use single quotes for literal text"},
        {"\"\\u0000\"",
         "this is not a valid JSON string: \\n, \\t, \\\", \\\\ and \\u0020 are allowed in it, \\u0000 and line breaks are not; use single quotes for literal text"},
        {"[1,]", "expected a value, found ']'"},
        {"[1 2]", "']' is missing after the list: found '2'"},
        {"{a}", "':' is missing after the key: found '}'"},
        {"{1: 2}", "expected a key (a name or a string), found '1'"},
        {"{a: 1, a: 2}", "the key 'a' is given twice"},
        {"{a: 1", "'}' is missing after the object: found the end"});
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
    FAULTS(
        {"params.max + 1", "the result of + does not fit in 64 bits"},
        {"params.min - 1", "the result of - does not fit in 64 bits"},
        {"params.max * 2", "the result of * does not fit in 64 bits"},
        {"params.min / -1", "the result of / does not fit in 64 bits"},
        {"-params.min", "the result of - does not fit in 64 bits"}, {"1 / 0", "division by 0"},
        {"1 % 0", "division by 0"}, {"1 / 0.0", "division by 0"}, {"1.5 % -0.0", "division by 0"},
        {"1e308 * 10", "the result of * is out of range"},
        {"params.big + 0.5",
         "9007199254740993 is too large for exact arithmetic with a number that has a fraction"},
        {"0.5 + params.min",
         "-9223372036854775808 is too large for exact arithmetic with a number that has a fraction"});
}

TEST(strings_are_concatenated_and_are_ordered_by_code_points)
{
    VALUES({"'a' + 'b' + 'c'", "\"abc\""}, {"'' + ''", "\"\""}, {"'a' < 'b'", "true"},
           {"'a' < 'aa'", "true"}, {"'Z' < 'a'", "true"}, {"'é' > 'z'", "true"},
           {"'a' >= 'a'", "true"}, {"'a' == 'a'", "true"}, {"'a' == 'A'", "false"},
           {"'10' < '9'", "true"}, {"params.day >= '2025-12-31'", "true"});
}

TEST(operands_of_mixed_types_are_refused)
{
    static const char *const values[] = {"null", "true", "1", "'a'", "[]", "{}"};
    static const char *const types[] = {"null",     "a boolean", "a number",
                                        "a string", "a list",    "an object"};
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
                         arithmetic[op], texts ? " or two strings" : "", types[a], types[b]);
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

TEST(lists_and_objects_are_compared_by_content)
{
    VALUES({"[1, [2.0]] == [1.0, [2]]", "true"}, {"[1] == ['1']", "false"},
           {"[1] == [1, 2]", "false"}, {"[null] == [false]", "false"},
           {"{a: 1, b: 2} == {b: 2, a: 1}", "true"}, {"{a: 1} == {a: 2}", "false"},
           {"{a: 1} == {b: 1}", "false"}, {"{a: null} == {}", "false"},
           {"{a: [true]} != {a: [false]}", "true"}, {"tasks == tasks", "true"},
           {"params.list == [1, 'two', null]", "true"});
}

TEST(logical_operators_take_booleans_and_short_circuit)
{
    VALUES({"true && true", "true"}, {"true && false", "false"}, {"false || true", "true"},
           {"false || false", "false"}, {"!true", "false"}, {"!!true", "true"},
           {"!params.dry", "true"}, {"false && params.nope", "false"},
           {"true || 1 / 0 == 1", "true"}, {"false && false || true", "true"},
           {"true || true && false", "true"}, {"(true || true) && false", "false"},
           {"!false && !false", "true"}, {"1 < 2 && 2 < 3", "true"}, {"1 == 1 || 1", "true"},
           {"!(1 == 2)", "true"}, {"true == !false", "true"}, {"1 + 1 < 3 == true", "true"});
    FAULTS({"1 && true", "&& takes booleans, not a number: write a comparison"},
           {"true && 'a'", "&& takes booleans, not a string: write a comparison"},
           {"null || true", "|| takes booleans, not null: write a comparison"},
           {"false || []", "|| takes booleans, not a list: write a comparison"},
           {"!1", "! takes booleans, not a number: write a comparison"},
           {"!params.none", "! takes booleans, not null: write a comparison"},
           {"-'a'", "- takes a number, not a string"}, {"-null", "- takes a number, not null"});
}

TEST(syntax_error_is_reported_with_its_cause)
{
    FAULTS(
        {"", "expected a value, found the end"}, {"  ", "expected a value, found the end"},
        {"1 +", "expected a value, found the end"},
        {"(1", "')' is missing after the expression in parentheses: found the end"},
        {"1 2", "expected an operator or the end, found '2'"},
        {"'it' 's'", "expected an operator or the end, found 's'"},
        {"true and false", "expected an operator or the end, found 'and'; write &&"},
        {"a",
         "unknown name 'a'; the names are: params, env, vars, tasks, item, index, workflow, execution, trigger; strings are written in quotes"},
        {"True", "unknown name 'True'; did you mean 'true'?"},
        {"param.day", "unknown name 'param'; did you mean 'params'?"},
        {"1 = 1", "unexpected '='; write == to compare"},
        {"true & true", "unexpected '&'; write && for and"},
        {"true | true", "unexpected '|'; write || for or"}, {"“a”", "unexpected '“'"},
        {"$a", "unexpected '$'"}, {"1 }}", "expected an operator or the end, found '}'"},
        {"1 < 2 < 3",
         "comparisons can't be chained: join them with &&, or put one of them in parentheses"},
        {"1 == 1 == true",
         "comparisons can't be chained: join them with &&, or put one of them in parentheses"},
        {"* 2", "expected a value, found '*'"},
        {"params.", "a name is missing after the dot; write a key that is not a name as ['key']"},
        {"params. day",
         "a name is missing after the dot; write a key that is not a name as ['key']"},
        {"params.list.0", "write the index of a list item in brackets: [0]"},
        {"params[", "expected a value, found the end"},
        {"params['day'", "']' is missing after the index: found the end"},
        {"length", "length is a function: write length(…)"},
        {"lenght('a')", "there is no function 'lenght'; did you mean 'length'?"},
        {"startswith('a', 'b')", "there is no function 'startswith'; did you mean 'startsWith'?"},
        {"system('rm')", "there is no function 'system'"},
        {"params('x')", "there is no function 'params'"},
        {"length()", "wrong number of arguments; the usage is length(value)"},
        {"length(1, 2)", "wrong number of arguments; the usage is length(value)"},
        {"range(1, 2, 3, 4)",
         "wrong number of arguments; the usage is range(end), range(start, end), range(start, end, step)"},
        {"default()", "wrong number of arguments; the usage is default(value, fallback)"},
        {"default(1)", "wrong number of arguments; the usage is default(value, fallback)"},
        {"default(1, 2, 3)", "wrong number of arguments; the usage is default(value, fallback)"},
        {"default(1 2)", "',' is missing after the first argument: found '2'"},
        {"success(1)", "success() takes no arguments"},
        {"join(1, 2", "')' is missing after the arguments: found the end"},
        {"join(1,, 2)", "expected a value, found ','"});
}

/* ---- names and fields ---- */

TEST(existing_fields_and_items_are_read)
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

TEST(missing_field_error_lists_the_existing_fields)
{
    FAULTS(
        {"params.dya",
         "params has no field 'dya'; did you mean 'day'? its fields are: day, n, ratio, dry, none, big, min, max, list, h-y"},
        {"tasks.extract.outputs.x",
         "tasks.extract.outputs has no field 'x'; its fields are: files, rows"},
        {"tasks['load'].status", "tasks has no field 'load'; its fields are: extract, build-all"},
        {"vars.x", "vars has no field 'x'; it is empty"},
        {"tasks.extract.outputs.rows-1",
         "tasks.extract.outputs has no field 'rows-1'; did you mean 'rows'? its fields are: files, rows; to subtract, put spaces around the -"},
        {"params.list[3]", "params.list has no item [3]: its length is 3, and indexes start at 0"},
        {"params.list[-1]",
         "indexes start at 0, so there is no [-1]; the last of n items is [n - 1], see length()"},
        {"params.list[0.5]",
         "params.list is a list: its indexes are whole numbers from 0, not fractions"},
        {"params.list['0']",
         "params.list is a list: its indexes are whole numbers from 0, not a string"},
        {"params.list.day",
         "params.list is a list: its indexes are whole numbers from 0, not a string"},
        {"params[0]", "params is an object: its keys are strings, not a number"},
        {"params[null]", "params is an object: its keys are strings, not null"},
        {"params.none.x", "params.none is null and has no fields; use default() to supply a value"},
        {"params.day.x", "params.day is a string and has no fields"},
        {"index[0]", "index is a number and has no fields"},
        {"execution.id", "execution is not available here: it is the running execution"},
        {"default(execution, 1)", "execution is not available here: it is the running execution"});
}

/* ---- functions ---- */

TEST(string_functions_return_values_and_refuse_wrong_arguments)
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
         "the first argument of contains() must be a string, a list or an object, not a number"},
        {"contains('a', 1)", "the second argument of contains() must be a string, not a number"},
        {"contains({}, 1)", "the second argument of contains() must be a string, not a number"},
        {"startsWith(null, 'a')", "the first argument of startsWith() must be a string, not null"},
        {"endsWith('a', [])", "the second argument of endsWith() must be a string, not a list"},
        {"format(1)", "the first argument of format() must be a string, not a number"},
        {"format('{0}')", "the string of format() uses {0}, but the number of values is 0"},
        {"format('{999}', 1)", "the string of format() uses {999}, but the number of values is 1"},
        {"format('{}', 1)",
         "the string of format() has a { without a number and }; write {{ for a literal brace"},
        {"format('{0', 1)",
         "the string of format() has a { without a number and }; write {{ for a literal brace"},
        {"format('{1000}', 1)",
         "the string of format() has a { without a number and }; write {{ for a literal brace"},
        {"format('a}', 1)",
         "the string of format() has a } without {; write }} for a literal brace"},
        {"format('{0}', null)",
         "value 0 of format() is null, which can't be inserted into text; use default()"},
        {"join('a', ',')", "the first argument of join() must be a list, not a string"},
        {"join([], 1)", "the second argument of join() must be a string, not a number"},
        {"join(params.list, ',')",
         "item 2 of join() is null, which can't be inserted into text; use default()"},
        {"split(1, ',')", "the first argument of split() must be a string, not a number"},
        {"split('a', '')", "the second argument of split() must not be empty"});
}

TEST(list_and_object_functions_return_values_and_refuse_wrong_arguments)
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
    FAULTS({"length(1)", "length() takes a string, a list or an object, not a number"},
           {"length(null)", "length() takes a string, a list or an object, not null"},
           {"range(100001)", "range() would return 100001 items; at most 100000 are allowed"},
           {"range(params.min, params.max)",
            "range() would return 18446744073709551615 items; at most 100000 are allowed"},
           {"range(0, 1, 0)", "the step of range() must not be 0"},
           {"range(1.5)", "the first argument of range() must be a whole number, not a fraction"},
           {"range(0, '1')", "the second argument of range() must be a whole number, not a string"},
           {"range(0, 1, null)", "the third argument of range() must be a whole number, not null"},
           {"keys([])", "the first argument of keys() must be an object, not a list"},
           {"values('a')", "the first argument of values() must be an object, not a string"},
           {"fromJSON(1)", "the first argument of fromJSON() must be a string, not a number"},
           {"fromJSON('')", "this string is not valid JSON: error at its line 1, column 0"},
           {"fromJSON('{\"a\": 1, \"a\": 2}')",
            "this string has the same key twice in one object: error at its line 1, column 12"},
           {"fromJSON('[9223372036854775808]')",
            "this string has a number that is too large: integers have at most 64 bits: error at "
            "its line 1, column 20"},
           {"fromJSON('[1] 2')", "this string is not valid JSON: error at its line 1, column 5"});
}

TEST(function_default_replaces_only_null_or_missing_values)
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
        {"default(params.day.x, 1)", "params.day is a string and has no fields"},
        {"default(1 / 0, 1)", "division by 0"},
        {"default(params.list[-1], 1)",
         "indexes start at 0, so there is no [-1]; the last of n items is [n - 1], see length()"},
        {"default(params.none, params.x)",
         "params has no field 'x'; its fields are: day, n, ratio, dry, none, big, min, max, list, h-y"},
        {"default(params.x, 1) + params.y",
         "params has no field 'y'; its fields are: day, n, ratio, dry, none, big, min, max, list, h-y"});
}

TEST(status_functions_query_the_caller_only_when_needed)
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
    CHECK_STR(got.ptr, "the status of the needs is not available here: use this function in 'if'");
    end(&f);
    buf_release(&got);
}
