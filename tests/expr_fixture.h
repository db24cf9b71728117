/* expr_fixture.h - expressions in a test: the context they are evaluated in, and tables of expected
 * results. */
#ifndef TESTS_EXPR_FIXTURE_H
#define TESTS_EXPR_FIXTURE_H

#include "base/buf.h"
#include "base/json.h"
#include "base/text.h"
#include "core/expr/expr.h"
#include "core/expr/value.h"
#include "harness.h"

#include <jansson.h>
#include <string.h>

#define COUNT(list) (sizeof(list) / sizeof(*(list)))

static const char context_json[] =
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
    json_t *context_json;
    int asked[EXPR_STATUS_COUNT];
};

/* All needs succeeded. */
static inline bool answer_status_function(void *arg, enum expr_status which)
{
    struct fixture *f = arg;

    f->asked[which]++;
    return which == EXPR_SUCCESS || which == EXPR_ALWAYS;
}

static inline void begin(struct fixture *f)
{
    *f = (struct fixture){.scope = {.status = answer_status_function, .arg = f}};
    f->context_json = json_loads(context_json, 0, NULL);
    CHECK(f->context_json);
#define X(id, name, meaning) f->scope.names[EXPR_##id] = json_object_get(f->context_json, #name);
    EXPR_NAMES(X)
#undef X
}

static inline void end(struct fixture *f)
{
    json_decref(f->context_json);
    arena_release(&f->arena);
}

static inline struct expr_text text_of(const char *s)
{
    return (struct expr_text){.at = s, .len = strlen(s)};
}

/* Returns 0 with the result as JSON, or an error code with its message, in *out. */
static inline int evaluate(struct fixture *f, const char *s, struct buf *out,
                           struct expr_fault *fault)
{
    struct expr_text text = text_of(s);
    const struct expr *e;
    json_t *json = NULL;
    int rc;

    buf_reset(out);
    if ((rc = expr_parse_condition(&text, &f->arena, &e, fault)) ||
        (rc = expr_eval(e, &f->scope, &json, fault))) {
        CHECK(!json);
        CHECK_EQ(rc, -E_INVALID);
        CHECK(fault->what[0]);
        CHECK(fault->offset <= strlen(s));
        buf_addstr(out, fault->what);
        return rc;
    }
    CHECK(json_add_value(out, json, EXPR_TEMPLATE_MAX * 8));
    json_decref(json);
    return 0;
}

struct cell {
    const char *expr, *expect; /* the value as JSON, or the error message */
};

/* Evaluates each cell with `eval`, which is evaluate() or has its contract. */
static inline void check_cells_by(int (*eval)(struct fixture *, const char *, struct buf *,
                                              struct expr_fault *),
                                  const struct cell *cells, size_t n, bool good)
{
    struct buf got = BUF_INIT;
    struct expr_fault fault;
    struct fixture f;
    size_t i;

    begin(&f);
    for (i = 0; i < n; i++) {
        int rc = eval(&f, cells[i].expr, &got, &fault);

        if (!rc != good || strcmp(buf_cstr(&got), cells[i].expect))
            test_fail(__FILE__, __LINE__, "%.200s\n    is:        %s\n    should be: %s",
                      cells[i].expr, buf_cstr(&got), cells[i].expect);
    }
    end(&f);
    buf_release(&got);
}

static inline void check_cells(const struct cell *cells, size_t n, bool good)
{
    check_cells_by(evaluate, cells, n, good);
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

static inline int template(struct fixture *f, const char *s, struct buf *out,
                           struct expr_fault *fault)
{
    struct expr_text text = text_of(s);
    const struct expr *t;
    json_t *json = NULL;
    int rc;

    buf_reset(out);
    if ((rc = expr_parse_template(&text, &f->arena, &t, fault)) ||
        (rc = expr_eval(t, &f->scope, &json, fault))) {
        CHECK(!json);
        buf_addstr(out, fault->what);
        return rc;
    }
    CHECK(json_add_value(out, json, EXPR_TEMPLATE_MAX * 8));
    json_decref(json);
    return 0;
}

#endif
