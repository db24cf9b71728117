/* expr.h - the expressions in workflows, ${{ … }}. An expression is parsed once into a tree and
 * evaluated many times. docs/EXPRESSIONS.md describes the language for users.
 *
 * Evaluation always ends and has no side effects: the language has no loops and no external calls,
 * and the size of the source, the depth, the work and the size of the result are limited. Every
 * input yields a value or a fault that says where and why. No type is converted implicitly: a value
 * of the wrong type is a fault that names both types.
 *
 *     struct expr_text text = {.at = "tasks.a.status == 'failed'", .len = 26, .file = "x.yaml",
 *                              .line = 7, .column = 9};
 *     struct expr_fault fault;
 *     const struct expr *e;
 *     bool yes;
 *
 *     if ((rc = expr_parse_condition(&text, arena, &e, &fault)) ||
 *         (rc = expr_eval_bool(e, &scope, &yes, &fault)))
 *         return expr_fault_err(&fault, err);
 *
 * Functions that may fail return 0, or -E_INVALID with the fault set. A parsed expression lives in
 * the arena, never changes, and may be evaluated by several threads at once. */
#ifndef CORE_EXPR_EXPR_H
#define CORE_EXPR_EXPR_H

#include "base/err.h"
#include "base/mem.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_t; /* jansson's */

#define EXPR_TEXT_MAX     65536 /* bytes in the source text of an expression */
#define EXPR_TEMPLATE_MAX (1u << 20)
#define EXPR_DEPTH_MAX    64
#define EXPR_ARGS_MAX     100
#define EXPR_RANGE_MAX    100000     /* items in a list that range() returns */
#define EXPR_RESULT_MAX   (1u << 20) /* bytes in the result, and in any intermediate string */
/* Work units per evaluation: an operation and a written byte cost one, a new list item costs a few.
 * The limit stops an evaluation after roughly 100 ms. */
#define EXPR_WORK_MAX     4000000

/* The names that an expression may use. Columns: id, name, meaning. */
#define EXPR_NAMES(X)                                                                                            \
    X(PARAMS, params, "the parameters that the workflow was started with")                                       \
    X(ENV, env, "the environment that the workflow and the task define")                                         \
    X(VARS, vars, "the variables of the workflow")                                                               \
    X(TASKS, tasks,                                                                                              \
      "the tasks that this one needs, by name: their `status`, `outputs` and `error`")                           \
    X(ITEM, item, "the current item, in a task with `foreach`")                                                  \
    X(INDEX, index, "the number of the current item, from 0, in a task with `foreach`")                          \
    X(WORKFLOW, workflow,                                                                                        \
      "the workflow itself: its `name` and `hash`; in `on_failure` and `on_exit` also its `status` and `error`") \
    X(EXECUTION, execution, "the running execution")                                                             \
    X(TRIGGER, trigger,                                                                                          \
      "the run or message that starts the workflow, in the `with` of a trigger in `on`")

enum expr_name {
#define X(id, name, meaning) EXPR_##id,
    EXPR_NAMES(X)
#undef X
        EXPR_NAME_COUNT
};

/* Status functions, which the caller evaluates from the needs of the task. Columns: id, name,
 * meaning, example, result of the example. */
#define EXPR_STATUSES(X)                                                                          \
    X(SUCCESS, success,                                                                           \
      "every need succeeded, failed with `allow_failure`, or was skipped by an "                  \
      "operator",                                                                                 \
      "success()", "true")                                                                        \
    X(FAILURE, failure, "a need failed or timed out, or was skipped because of such a failure",   \
      "failure() || cancelled()", "false")                                                        \
    X(ALWAYS, always, "always: the task runs whatever happened to its needs", "always()", "true") \
    X(CANCELLED, cancelled, "a need was cancelled", "!cancelled()", "true")

enum expr_status {
#define X(id, name, meaning, example, result) EXPR_##id,
    EXPR_STATUSES(X)
#undef X
        EXPR_STATUS_COUNT
};

/* Pure functions. Columns: name, types of the first arguments (s: string, n: whole number, l: list,
 * o: object), minimum and maximum number of arguments, usage, meaning, example, result of the
 * example. */
#define EXPR_FUNCTIONS(X)                                                                         \
    X(contains, "", 2, 2, "contains(value, part)",                                                \
      "whether a string contains another, a list has an equal item, or an object has that key",   \
      "contains(['a', 'b'], 'b')", "true")                                                        \
    X(startsWith, "ss", 2, 2, "startsWith(string, prefix)",                                       \
      "whether a string starts with another", "startsWith('main.c', 'main')", "true")             \
    X(endsWith, "ss", 2, 2, "endsWith(string, suffix)", "whether a string ends with another",     \
      "endsWith('main.c', '.h')", "false")                                                        \
    X(format, "s", 1, EXPR_ARGS_MAX, "format(string, value…)",                                    \
      "the string with `{0}`, `{1}` … replaced by the values as text; `{{` and `}}` stand for " \
      "braces",                                                                                   \
      "format('{0}-{1}', 'day', 7)", "\"day-7\"")                                                 \
    X(join, "ls", 2, 2, "join(list, separator)",                                                  \
      "the items as text, with the separator between them", "join([1, 2, 3], ', ')",              \
      "\"1, 2, 3\"")                                                                              \
    X(split, "ss", 2, 2, "split(string, separator)",                                              \
      "the parts of a string between the separators; an empty string has one empty part",         \
      "split('a,b,,c', ',')", "[\"a\",\"b\",\"\",\"c\"]")                                         \
    X(length, "", 1, 1, "length(value)",                                                          \
      "the number of characters in a string, items in a list, or keys in an object",              \
      "length('héllo')", "5")                                                                     \
    X(range, "nnn", 1, 3, "range(end), range(start, end), range(start, end, step)",               \
      "whole numbers from `start` (default 0) up to but not including `end`; at most 100,000",    \
      "range(1, 10, 3)", "[1,4,7]")                                                               \
    X(keys, "o", 1, 1, "keys(object)", "the keys of an object, in their order",                   \
      "keys({b: 1, a: 2})", "[\"b\",\"a\"]")                                                      \
    X(values, "o", 1, 1, "values(object)", "the values of an object, in the order of its keys",   \
      "values({b: 1, a: 2})", "[1,2]")                                                            \
    X(toJSON, "", 1, 1, "toJSON(value)", "the value as JSON on one line",                         \
      "toJSON({a: [1, null, 'x']})", "\"{\\\"a\\\":[1,null,\\\"x\\\"]}\"")                        \
    X(fromJSON, "s", 1, 1, "fromJSON(string)", "the value of a JSON document",                    \
      "fromJSON('[1, 2.5]')[1]", "2.5")

/* default() is not in EXPR_FUNCTIONS because it evaluates its second argument only if it needs
 * it. */
#define EXPR_DEFAULT(X)                                                                      \
    X(default, "", 2, 2, "default(value, fallback)",                                         \
      "the value, or the fallback if the value is null or a field or item in it is missing", \
      "default(params.region, 'eu')", "\"eu\"")

/* Binary operators. Columns: id, text, precedence, meaning. */
#define EXPR_OPERATORS(X)                                                                        \
    X(OR, "||", 1,                                                                               \
      "at least one boolean is true; the second is evaluated only if the first is false")        \
    X(AND, "&&", 2, "both booleans are true; the second is evaluated only if the first is true") \
    X(EQ, "==", 3,                                                                               \
      "equal: two values of the same type, or any value and null; lists and objects are "        \
      "compared deeply")                                                                         \
    X(NE, "!=", 3, "not equal")                                                                  \
    X(LE, "<=", 4, "less than or equal: two numbers, or two strings by code points")             \
    X(GE, ">=", 4, "greater than or equal: two numbers or two strings")                          \
    X(LT, "<", 4, "less than: two numbers or two strings")                                       \
    X(GT, ">", 4, "greater than: two numbers or two strings")                                    \
    X(ADD, "+", 5, "the sum of two numbers; two strings concatenated")                           \
    X(SUB, "-", 5, "the difference of two numbers")                                              \
    X(MUL, "*", 6, "the product of two numbers")                                                 \
    X(DIV, "/", 6, "the quotient; for two whole numbers, truncated towards 0")                   \
    X(MOD, "%", 6, "the remainder of that division, with the sign of the first number")

/* A source text and its location in a file. */
struct expr_text {
    const char *at;
    size_t len;
    const char *file;      /* must outlive the parsed expression; NULL if none */
    uint32_t line, column; /* location of the first character, from 1; 0 if not in a file */
};

/* A fault of an expression in parts, so that a caller can show the line with a caret. */
struct expr_fault {
    size_t offset; /* offset of the fault in the source text, in bytes */
    const char *file;
    /* Location of the fault in the file; columns count characters; 0 if unknown. */
    uint32_t line, column;
    char what[480];    /* what is wrong: a sentence without the location */
    char excerpt[160]; /* the part of the expression around the fault, on one line */
};
/* Sets "x.yaml:7:9: tasks has no field 'b'; its fields are: a (in: tasks.b.status)"; returns
 * -E_INVALID. */
int expr_fault_err(const struct expr_fault *fault, struct err *err);

/* The data that an evaluation reads. The caller owns it and must not change it during the
 * evaluation. */
struct expr_scope {
    /* Values by name; NULL if not available, then using the name is a fault. */
    struct json_t *names[EXPR_NAME_COUNT];
    /* Returns the result of a status function; NULL if not available. */
    bool (*status)(void *arg, enum expr_status which);
    void *arg;
};

/* ---- parsing and evaluating ---- */

/* A parsed expression, or a parsed string with expressions in it. */
struct expr;

/* Parses a condition: one expression, with or without ${{ }} around it. */
MUST_USE int expr_parse_condition(const struct expr_text *text, struct arena *arena,
                                  const struct expr **out, struct expr_fault *fault);
/* Parses a template: a string such as "a ${{ x }} b". $${{ stands for a literal ${{. */
MUST_USE int expr_parse_template(const struct expr_text *text, struct arena *arena,
                                 const struct expr **out, struct expr_fault *fault);

/* Evaluates an expression. A condition, or a template that consists of one expression, yields the
 * expression's value with its type. Any other template yields a string: strings are inserted
 * unchanged, numbers, booleans, lists and objects as JSON, and null is a fault. *out is a new
 * reference. It may share parts with the scope and other results, so callers must not change it. */
MUST_USE int expr_eval(const struct expr *e, const struct expr_scope *scope, struct json_t **out,
                       struct expr_fault *fault);
/* Evaluates a condition; a result other than true or false is a fault. */
MUST_USE int expr_eval_bool(const struct expr *e, const struct expr_scope *scope, bool *out,
                            struct expr_fault *fault);

/* ---- static analysis: the names that an expression uses ---- */

#define EXPR_PATH_MAX 6

/* A name and the keys that follow it: tasks.a.outputs['files'][0] is {TASKS, {"a", "outputs",
 * "files"}}. The path ends before the first key that is computed or a number, and after
 * EXPR_PATH_MAX keys. An empty path means that the expression may use the whole value. */
struct expr_ref {
    enum expr_name name;
    const char *path[EXPR_PATH_MAX];
    size_t n;
    bool optional; /* whether the name is inside default(), where a missing value is not a fault */
    size_t offset; /* where the name starts in the source text */
};
typedef void expr_each_ref(void *arg, const struct expr_ref *ref);

void expr_references(const struct expr *e, expr_each_ref *each, void *arg);
/* The status functions that an expression calls, as a set of bits: 1u << EXPR_SUCCESS and so on. */
unsigned expr_statuses(const struct expr *e);

/* A condition that calls no status function also requires success: returns its text with success()
 * && (…) added around it. Returns NULL if the condition calls a status function, so that nothing
 * must be added. */
const char *expr_complete_condition(const struct expr *e, struct arena *arena);
/* Whether a condition has the form success() && …, so that it is false if the needs did not
 * succeed. */
bool expr_requires_success(const struct expr *e);

#endif
