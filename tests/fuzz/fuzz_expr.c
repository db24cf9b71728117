/* fuzz_expr.c - any bytes as an expression, as a condition and as text with expressions in it.
 *
 * Besides memory errors and undefined behaviour it looks for a result or an error that breaks the
 * contract of expr.h, and for one that differs the second time. */
#include "base/json.h"
#include "base/text.h"
#include "core/expr/expr.h"
#include "core/expr/value.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char context_json[] =
    "{\"params\":{\"a\":1,\"b\":[1,2.5,\"x\",null],\"c\":{\"d\":true}},\"env\":{\"E\":\"\\u00e9\"},"
    "\"vars\":{},\"tasks\":{\"t\":{\"status\":\"failed\",\"outputs\":null}},\"item\":\"i\",\"index\":0,"
    "\"workflow\":{\"name\":\"w\"}}";

static bool status(void *arg, enum expr_status which)
{
    (void)arg;
    return which != EXPR_FAILURE;
}

/* The scope lives as long as the process. */
static const struct expr_scope *scope(void)
{
    static struct expr_scope s = {.status = status};
    static json_t *names;

    if (!names) {
        names = json_loads(context_json, 0, NULL);
#define X(id, name, meaning) s.names[EXPR_##id] = json_object_get(names, #name);
        EXPR_NAMES(X)
#undef X
    }
    return &s;
}

static void check_fault(const struct expr_fault *fault, const struct expr_text *text)
{
    struct err err = ERR_INIT;

    if (fault->offset > text->len || fault->line < 3 || !fault->column || !fault->what[0] ||
        !text_is_utf8(fault->what, strlen(fault->what)) ||
        !text_is_utf8(fault->excerpt, strlen(fault->excerpt)) ||
        expr_fault_err(fault, &err) != -E_INVALID || strchr(err.msg, '\n'))
        abort();
}

/* The result is within its size limit, and its JSON is read back as the same value. */
static void check_result(json_t *json)
{
    struct work work = {EXPR_WORK_MAX};
    struct buf text = BUF_INIT;
    json_t *read;

    if (!json_add_value(&text, json, EXPR_RESULT_MAX * 6 + 2) ||
        !(read = json_loadb(text.ptr, text.len, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL)))
        abort();
    if (!value_equal(json, read, &work) || json_typeof(json) != json_typeof(read))
        abort();
    json_decref(read);
    buf_release(&text);
}

static void check_ref(void *arg, const struct expr_ref *ref)
{
    const struct expr_text *text = arg;
    size_t i;

    if (ref->name >= EXPR_NAME_COUNT || ref->n > EXPR_PATH_MAX || ref->offset >= text->len)
        abort();
    for (i = 0; i < ref->n; i++)
        if (!text_is_utf8(ref->path[i], strlen(ref->path[i])))
            abort();
}

typedef int parse_text(const struct expr_text *text, struct arena *arena, const struct expr **out,
                       struct expr_fault *fault);

static void try_expression(parse_text *parse, struct expr_text *text, struct arena *arena)
{
    struct expr_fault fault;
    const struct expr *e;
    json_t *once, *twice;
    int rc = parse(text, arena, &e, &fault);

    if (rc) {
        check_fault(&fault, text);
        return;
    }
    expr_references(e, check_ref, text);
    rc = expr_eval(e, scope(), &once, &fault);
    if (rc) {
        check_fault(&fault, text);
        return;
    }
    if (expr_eval(e, scope(), &twice, &fault) || !json_equal(once, twice))
        abort();
    check_result(once);
    json_decref(once);
    json_decref(twice);
}

static void try_condition(struct expr_text *text, struct arena *arena)
{
    struct expr_fault fault;
    const struct expr *e;
    bool yes;

    if (expr_parse_condition(text, arena, &e, &fault) || expr_eval_bool(e, scope(), &yes, &fault))
        check_fault(&fault, text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct expr_text text = {(const char *)data, size, "fuzz.yaml", 3, 5};
    struct arena arena = ARENA_INIT;

    try_expression(expr_parse_condition, &text, &arena);
    try_expression(expr_parse_template, &text, &arena);
    try_condition(&text, &arena);
    arena_release(&arena);
    return 0;
}
