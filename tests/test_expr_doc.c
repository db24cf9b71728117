/* test_expr_doc.c - prints docs/EXPRESSIONS.md from the tables of core/expr/expr.h, tries every
 * example, and compares the page with the file.
 *
 *   PAWL_WRITE_DOCS=1 build/tests/test_expr_doc      writes the page instead */
#include "base/json.h"
#include "expr_fixture.h"
#include "page_fixture.h"

TEST_NO_DB;

/* ---- the page ---- */

#define FILE_NAME "docs/EXPRESSIONS.md"

static const char head[] =
    "# Expressions\n"
    "\n"
    "`${{ … }}` in a workflow computes a value from parameters, outputs of tasks and other data. The value of `if` is\n"
    "an expression and needs no brackets. An expression has no side effects, and its evaluation always ends. Nothing is\n"
    "converted implicitly: a value of the wrong type, or a missing one, is an error that names file, line, column and\n"
    "expression. `pawl validate` reports the errors that can be found before a run; any other fails the task.\n"
    "\n"
    "This page is generated from the tables in `src/core/expr/expr.h` by `tests/test_expr_doc.c`, which also evaluates every\n"
    "example. Do not edit it; run `PAWL_WRITE_DOCS=1 build/tests/test_expr_doc`.\n"
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
    "Values are JSON values.\n"
    "\n"
    "| type | written | |\n"
    "|---|---|---|\n"
    "| null | `null` | a missing field or item is an error, not null; see `default` |\n"
    "| boolean | `true` `false` | nothing else counts as true or false |\n"
    "| number | `7` `-1` `0.5` `1e6` | whole numbers are exact in 64 bits, others are doubles |\n"
    "| string | `'it''s'` `\"a\\n\"` | in single quotes every character is literal, and `''` is one quote, "
    "as in YAML; in double quotes it is a JSON string |\n"
    "| list | `[1, 'a', []]` | |\n"
    "| object | `{name: 'x', 'any key': 1}` | |\n"
    "\n"
    "A field is `params.day` or `params['day']`, an item `files[0]`; indexes start at 0 and can't be\n"
    "negative. A name after a dot may contain dashes (`tasks.build-all.status`), so put spaces around the minus sign\n"
    "to subtract.\n";

static const char rules[] =
    "\n"
    "Parentheses come first. Unary `!` and `-` bind more strongly than all of these. Comparisons can't be chained (`1 < x < 3`). Numbers are\n"
    "compared by value (`1 == 1.0`); within lists and objects, values of different types are not equal. A whole number\n"
    "that does not fit in 64 bits, a division by 0, and combining a whole number above 2^53 with a fraction are errors.\n";

static const char text_rules[] =
    "\n"
    "## In text\n"
    "\n"
    "A text that is one expression and nothing else, not even a space, keeps the type of its value. In any other\n"
    "text each expression is replaced by its value: strings unchanged, numbers, booleans, lists and objects as JSON in\n"
    "one line. Null has no text form and is an error. `$${{` stands for a literal `${{`.\n"
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

/* A bar must be escaped in a table, even inside code. */
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
    buf_addstr(b, "\n## Functions\n\n| function | result | example |\n|---|---|---|\n");
#define X(name, types, fewest, most, usage, meaning, example, result) \
    add_example(f, b, usage, meaning, example, result);
    EXPR_DEFAULT(X)
    EXPR_FUNCTIONS(X)
#undef X
    buf_addstr(
        b,
        "\n`default` evaluates its second argument only if it needs it: if a field or an item in the first one is "
        "missing or null, at any depth. Any other error in the first argument remains an error.\n"
        "\nThe following functions test the tasks that this one needs, in `if`. A condition that calls none of them also requires "
        "`success()`. In the examples all needs succeeded:\n"
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

static void build_page(struct buf *b)
{
    struct fixture f;

    begin(&f);
    buf_addstr(b, head);
    buf_addstr(b, "\n## Names\n\n| name | meaning |\n|---|---|\n");
#define X(id, name, meaning) buf_addf(b, "| `%s` | %s |\n", #name, meaning);
    EXPR_NAMES(X)
#undef X
    buf_addstr(
        b,
        "\n## Operators\n\nThe first column is the precedence: a higher number binds more strongly.\n\n"
        "| | operator | result |\n|---|---|---|\n");
#define X(id, text, strength, meaning) add_operator(b, text, strength, meaning);
    EXPR_OPERATORS(X)
#undef X
    buf_addstr(b, rules);
    add_functions(&f, b);
    add_texts(&f, b);
    buf_addf(
        b,
        "\n## Limits\n\nAn expression has at most %d bytes and at most %d levels of nesting. A text with "
        "expressions, and a result (for a list or an object: its JSON), have at most %u bytes. `range` returns at most %d items. "
        "`fromJSON` reads at most %d levels of lists and objects, which is also the limit for stored values. "
        "An expression that would take much longer than 100 ms to compute is an error: do it in a task.\n",
        EXPR_TEXT_MAX, EXPR_DEPTH_MAX, EXPR_RESULT_MAX, EXPR_RANGE_MAX, JSON_DEPTH_MAX);
    CHECK_EQ(EXPR_RESULT_MAX, EXPR_TEMPLATE_MAX);
    end(&f);
}

TEST(expressions_page_matches_the_code)
{
    struct buf page = BUF_INIT;

    build_page(&page);
    check_page(FILE_NAME, buf_cstr(&page), "test_expr_doc");
    buf_release(&page);
}
