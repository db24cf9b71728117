/* expr.h - the expressions of workflows, ${{ … }}: compiled once, evaluated often.
 * docs/EXPRESSIONS.md is the page for those who write them.
 *
 * Total and free of side effects: no loop, no call out, and bounds on text, depth, work and result,
 * so that every input ends with a value or with a fault that says where and why. Nothing is
 * converted silently: what has the wrong type is a fault that names both types.
 *
 *     struct expr_text text = {.at = "tasks.a.status == 'failed'", .len = 26, .file = "x.yaml",
 *                              .line = 7, .column = 9};
 *     struct expr_fault fault;
 *     const struct expr *e;
 *     bool yes;
 *
 *     if ((rc = expr_compile(&text, arena, &e, &fault)) ||
 *         (rc = expr_eval_bool(e, &scope, &yes, &fault)))
 *         return expr_fault_err(&fault, err);
 *
 * Functions that may fail return 0 or -E_INVALID with the fault set. Compiled things live in the
 * arena, never change, and may be evaluated by several threads at once. */
#ifndef CORE_EXPR_EXPR_H
#define CORE_EXPR_EXPR_H

#include "base/err.h"
#include "base/mem.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_t; /* jansson's */

#define EXPR_TEXT_MAX     65536 /* bytes of an expression */
#define EXPR_TEMPLATE_MAX (1u << 20)
#define EXPR_DEPTH_MAX    64
#define EXPR_ARGS_MAX     100
#define EXPR_RANGE_MAX    100000     /* items that range() makes */
#define EXPR_RESULT_MAX   (1u << 20) /* bytes of the result, and of any text on the way to it */
/* Steps of one evaluation: an operation is one, an item made or a byte written a few. What would
 * take more than some 100 ms ends here. */
#define EXPR_WORK_MAX     4000000

/* What an expression may speak of: id, name, meaning. */
#define EXPR_NAMES(X)                                                                       \
    X(PARAMS, params, "the parameters that the workflow was started with")                  \
    X(ENV, env, "the environment that the workflow and the task define")                    \
    X(VARS, vars, "the variables of the workflow")                                          \
    X(TASKS, tasks, "the tasks that this one needs, by name: their `status` and `outputs`") \
    X(ITEM, item, "the current item, in a task with `foreach`")                             \
    X(INDEX, index, "the number of the current item, from 0, in a task with `foreach`")     \
    X(WORKFLOW, workflow, "the workflow itself")                                            \
    X(EXECUTION, execution, "the running execution")

enum expr_name {
#define X(id, name, meaning) EXPR_##id,
    EXPR_NAMES(X)
#undef X
        EXPR_NAME_COUNT
};

/* Functions that the caller answers, from the needs of the task: id, name, meaning, example, its
 * result. */
#define EXPR_STATUSES(X)                                                                    \
    X(SUCCESS, success,                                                                     \
      "every need succeeded, failed with `allow_failure`, or was skipped by an "            \
      "operator",                                                                           \
      "success()", "true")                                                                  \
    X(FAILURE, failure, "a need failed or timed out, or was skipped because of such a one", \
      "failure() || cancelled()", "false")                                                  \
    X(ALWAYS, always, "in any case: run whatever happened", "always()", "true")             \
    X(CANCELLED, cancelled, "a need was cancelled", "!cancelled()", "true")

enum expr_status {
#define X(id, name, meaning, example, result) EXPR_##id,
    EXPR_STATUSES(X)
#undef X
        EXPR_STATUS_COUNT
};

/* Pure functions: name, fewest and most arguments, how to write it, meaning, example, its result.
 */
#define EXPR_FUNCTIONS(X)                                                                        \
    X(contains, 2, 2, "contains(in, what)",                                                      \
      "whether a text holds another, a list an equal item, an object that key",                  \
      "contains(['a', 'b'], 'b')", "true")                                                       \
    X(startsWith, 2, 2, "startsWith(text, with)", "whether a text begins with another",          \
      "startsWith('main.c', 'main')", "true")                                                    \
    X(endsWith, 2, 2, "endsWith(text, with)", "whether a text ends with another",                \
      "endsWith('main.c', '.h')", "false")                                                       \
    X(format, 1, EXPR_ARGS_MAX, "format(text, value…)",                                          \
      "the text with `{0}`, `{1}` … replaced by the values as text; `{{` and `}}` stand for "  \
      "braces",                                                                                  \
      "format('{0}-{1}', 'day', 7)", "\"day-7\"")                                                \
    X(join, 2, 2, "join(list, between)", "the items as text, with a text between them",          \
      "join([1, 2, 3], ', ')", "\"1, 2, 3\"")                                                    \
    X(split, 2, 2, "split(text, at)",                                                            \
      "the parts of a text between each place where another stands; of an empty text one "       \
      "empty part",                                                                              \
      "split('a,b,,c', ',')", "[\"a\",\"b\",\"\",\"c\"]")                                        \
    X(length, 1, 1, "length(value)",                                                             \
      "how many characters a text has, items a list, or keys an object", "length('héllo')", "5") \
    X(range, 1, 3, "range(to), range(from, to), range(from, to, step)",                          \
      "whole numbers from `from` (0) up to, but without, `to`; at most 100,000",                 \
      "range(1, 10, 3)", "[1,4,7]")                                                              \
    X(keys, 1, 1, "keys(object)", "the keys of an object, in their order", "keys({b: 1, a: 2})", \
      "[\"b\",\"a\"]")                                                                           \
    X(values, 1, 1, "values(object)", "the values of an object, in the order of its keys",       \
      "values({b: 1, a: 2})", "[1,2]")                                                           \
    X(toJSON, 1, 1, "toJSON(value)", "the value as JSON text, in one line",                      \
      "toJSON({a: [1, null, 'x']})", "\"{\\\"a\\\":[1,null,\\\"x\\\"]}\"")                       \
    X(fromJSON, 1, 1, "fromJSON(text)", "the value that a JSON text stands for",                 \
      "fromJSON('[1, 2.5]')[1]", "2.5")

/* The one function that looks at its arguments only when it must. */
#define EXPR_DEFAULT(X)                                                                \
    X(default, 2, 2, "default(value, other)",                                          \
      "the value, or the other one where it is null or something it names is missing", \
      "default(params.region, 'eu')", "\"eu\"")

/* Binary operators: id, text, how strongly it binds, meaning. */
#define EXPR_OPERATORS(X)                                                                     \
    X(OR, "||", 1, "one of two booleans is true; the second is looked at only if it matters") \
    X(AND, "&&", 2, "both booleans are true; the second is looked at only if it matters")     \
    X(EQ, "==", 3,                                                                            \
      "equal: two values of one type, or anything and null; lists and objects as a "          \
      "whole")                                                                                \
    X(NE, "!=", 3, "not equal")                                                               \
    X(LE, "<=", 4, "two numbers, or two texts by code points")                                \
    X(GE, ">=", 4, "the same")                                                                \
    X(LT, "<", 4, "the same")                                                                 \
    X(GT, ">", 4, "the same")                                                                 \
    X(ADD, "+", 5, "the sum of two numbers; two texts joined")                                \
    X(SUB, "-", 5, "the difference of two numbers")                                           \
    X(MUL, "*", 6, "the product of two numbers")                                              \
    X(DIV, "/", 6, "the quotient; of two whole numbers a whole one, cut off towards 0")       \
    X(MOD, "%", 6, "the rest of that division, with the sign of the first number")

/* A text and where it stands. */
struct expr_text {
    const char *at;
    size_t len;
    const char *file;      /* borrowed as long as what is compiled lives; NULL: none */
    uint32_t line, column; /* of the first character, from 1; 0: the text is all there is */
};

/* What is wrong, and where: in parts, for those who show the line with a caret. */
struct expr_fault {
    size_t offset; /* in the text, in bytes */
    const char *file;
    uint32_t line, column; /* a column is a character; 0: nobody knows */
    char what[480];        /* a sentence without the place */
    char excerpt[160];     /* of the expression, in one line */
};
/* "x.yaml:7:9: tasks has no field 'b'; there are: a (in: tasks.b.status)"; returns -E_INVALID. */
int expr_fault_err(const struct expr_fault *fault, struct err *err);

/* What an evaluation sees. Borrowed; nothing in it changes meanwhile. */
struct expr_scope {
    struct json_t *names[EXPR_NAME_COUNT];             /* NULL: not known here, which is a fault */
    bool (*status)(void *arg, enum expr_status which); /* NULL: not known here */
    void *arg;
};

/* ---- one expression ---- */

struct expr;

/* All of the text is one expression, without ${{ }}. */
MUST_USE int expr_compile(const struct expr_text *text, struct arena *arena,
                          const struct expr **out, struct expr_fault *fault);
/* The same for conditions, where people may write ${{ }} around it or not. */
MUST_USE int expr_compile_condition(const struct expr_text *text, struct arena *arena,
                                    const struct expr **out, struct expr_fault *fault);

/* A new reference; it may share parts with the scope and with other results, so it is only read. */
MUST_USE int expr_eval(const struct expr *e, const struct expr_scope *scope, struct json_t **out,
                       struct expr_fault *fault);
/* Anything but true or false is a fault. */
MUST_USE int expr_eval_bool(const struct expr *e, const struct expr_scope *scope, bool *out,
                            struct expr_fault *fault);

/* ---- text with expressions in it ---- */

/* "a ${{ x }} b". $${{ stands for ${{ itself. */
struct expr_template;

MUST_USE int expr_template_compile(const struct expr_text *text, struct arena *arena,
                                   const struct expr_template **out, struct expr_fault *fault);
/* A text that is one expression and nothing else keeps the type of its value. Otherwise the result
 * is a text: texts go into it as they are, numbers, booleans, lists and objects as JSON, and null
 * is a fault. A new reference, as above. */
MUST_USE int expr_template_eval(const struct expr_template *t, const struct expr_scope *scope,
                                struct json_t **out, struct expr_fault *fault);
/* The text if there is no expression in it; NULL: there is one. */
const char *expr_template_constant(const struct expr_template *t);

/* ---- what an expression speaks of, without evaluating it ---- */

#define EXPR_PATH_MAX 6

/* tasks.a.outputs['files'][0] is {TASKS, {"a", "outputs", "files"}}: the keys up to the first that
 * is computed, a number, or one too many. None: all of it may be meant. */
struct expr_ref {
    enum expr_name name;
    const char *path[EXPR_PATH_MAX];
    size_t n;
    bool optional; /* default() catches it if it is missing */
    size_t offset; /* where it stands in the text */
};
typedef void expr_each_ref(void *arg, const struct expr_ref *ref);

void expr_references(const struct expr *e, expr_each_ref *each, void *arg);
void expr_template_references(const struct expr_template *t, expr_each_ref *each, void *arg);
/* The status functions it calls: the sum of 1u << EXPR_SUCCESS …. */
unsigned expr_statuses(const struct expr *e);
unsigned expr_template_statuses(const struct expr_template *t);
/* The place of a reference, or of any offset, as a fault would name it. */
void expr_location(const struct expr_text *text, size_t offset, uint32_t *line, uint32_t *column);

#endif
