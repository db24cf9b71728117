/* test_expr_use.c - expressions in use: conditions, templates, the location of a fault, references,
 * and results that outlive the expression. */
#include "base/json.h"
#include "core/resolve.h"
#include "expr_fixture.h"

#include <jansson.h>
#include <locale.h>
#include <string.h>

TEST_NO_DB;

/* ---- conditions ---- */

static int condition(struct fixture *f, const char *s, bool *yes, struct expr_fault *fault)
{
    struct expr_text text = text_of(s);
    const struct expr *e;
    int rc = expr_parse_condition(&text, &f->arena, &e, fault);

    return rc ? rc : expr_eval_bool(e, &f->scope, yes, fault);
}

TEST(condition_with_or_without_brackets_must_be_boolean)
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
    CHECK_STR(fault.what, "only one expression is allowed here: there is more text after its }}");
    CHECK_EQ(fault.offset, 12);
    CHECK(condition(&f, "${{ true", &yes, &fault));
    CHECK_STR(fault.what, "this expression is not closed: }} is missing");
    CHECK(condition(&f, "'true'", &yes, &fault));
    CHECK(!yes); /* unchanged by the calls that failed */
    end(&f);
}

/* ---- templates ---- */

TEST(template_that_is_one_expression_keeps_its_type_and_any_other_template_becomes_text)
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
        {"a ${{ params.none }}",
         "this value is null, which can't be inserted into text; use default()"},
        {"${{ }}", "expected a value, found '}'"},
        {"a ${{ 1", "this expression is not closed: }} is missing"},
        {"a ${{ 1 } b", "expected an operator or the end, found '}'"},
        {"${{ 1 }", "expected an operator or the end, found '}'"},
        {"${{ ${{ 1 }} }}", "unexpected '$'"},
        {"a ${{ params.x }} ${{ nope }}",
         "unknown name 'nope'; the names are: params, env, vars, tasks, item, index, workflow, execution, trigger; strings are written in quotes"}};

    check_cells_by(template, good, COUNT(good), true);
    check_cells_by(template, bad, COUNT(bad), false);
}

/* ---- locations ---- */

TEST(evaluation_error_names_the_file_line_column_and_expression)
{
    static const struct {
        const char *text, *sentence;
    } cases[] = {
        {"run ${{ params.x }}",
         "flow.yaml:7:22: params has no field 'x'; its fields are: a (in: params.x)"},
        {"é ${{ 'ü' + 1 }} b",
         "flow.yaml:7:17: + takes two numbers or two strings, not a string and a number (in: 'ü' + 1)"},
        {"a\nb\n ${{ 1\n + nope }}",
         "flow.yaml:10:4: unknown name 'nope'; the names are: params, env, vars, tasks, item, index, workflow, execution, trigger; strings are written in quotes (in: 1  + nope)"},
    };
    struct expr_scope scope = {0};
    struct err err = ERR_INIT;
    size_t i;

    scope.names[EXPR_PARAMS] = json_pack("{s:i}", "a", 1);
    for (i = 0; i < COUNT(cases); i++) {
        struct expr_text text = {cases[i].text, strlen(cases[i].text), "flow.yaml", 7, 7};
        struct arena arena = ARENA_INIT;
        const struct expr *t;
        struct expr_fault fault;
        json_t *json;

        if (!expr_parse_template(&text, &arena, &t, &fault))
            CHECK_EQ(expr_eval(t, &scope, &json, &fault), -E_INVALID);
        CHECK_EQ(expr_fault_err(&fault, &err), -E_INVALID);
        CHECK_STR(err.msg, cases[i].sentence);
        arena_release(&arena);
    }
    json_decref(scope.names[EXPR_PARAMS]);
}

TEST(evaluation_error_in_a_long_expression_shows_an_excerpt)
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
    CHECK_EQ(expr_parse_condition(&text, &arena, &e, &fault), -E_INVALID);
    CHECK_EQ(fault.line, 1);
    CHECK_EQ(fault.column, 1801);
    CHECK(strstr(fault.excerpt, "nope"));
    CHECK(strlen(fault.excerpt) < 110);
    CHECK(text_is_utf8(fault.excerpt, strlen(fault.excerpt)));
    expr_fault_err(&fault, &err);
    CHECK(!strncmp(err.msg, "line 1, column 1801: unknown name 'nope'", 40));
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

TEST(names_used_by_an_expression_are_listed_without_evaluation)
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
    const struct expr *t;
    struct buf got = BUF_INIT;
    struct expr_fault fault;
    const struct expr *e;
    size_t i;

    for (i = 0; i < COUNT(cells); i++) {
        struct expr_text one = text_of(cells[i].expr);

        buf_reset(&got);
        CHECK_OK(expr_parse_condition(&one, &arena, &e, &fault));
        expr_references(e, add_ref, &got);
        CHECK_STR(buf_cstr(&got), cells[i].expect);
        CHECK_EQ(expr_statuses(e), 0);
    }
    buf_reset(&got);
    CHECK_OK(expr_parse_template(&text, &arena, &t, &fault));
    expr_references(t, add_ref, &got);
    CHECK_STR(buf_cstr(&got), "tasks/a@4 params/b@48");
    CHECK_EQ(expr_statuses(t), 1u << EXPR_FAILURE);
    buf_release(&got);
    arena_release(&arena);
}

TEST(condition_without_a_status_function_gets_a_success_call)
{
    static const struct {
        const char *given, *complete; /* NULL if nothing is added */
        bool requires;                /* success(), in its stored form */
    } cells[] = {
        {"params.x", "success() && (params.x)", true},
        {" params.x\n", "success() && (params.x)", true},
        {"${{ params.x == '}}' }}", "success() && (params.x == '}}')", true},
        {"1 < 2 || 2 < 1", "success() && (1 < 2 || 2 < 1)", true},
        {"success()", NULL, true},
        {"success() && 1 < 2 && 2 < 3", NULL, true},
        {"(success() && 1 < 2)", NULL, true},
        {"success() || 1 < 2", NULL, false},
        {"success() && 1 < 2 || 2 < 3", NULL, false},
        {"success() == false", NULL, false},
        {"!success()", NULL, false},
        {"1 < 2 && success()", NULL, false}, /* the first part may be an error */
        {"always()", NULL, false},
        {"[cancelled()][0]", NULL, false},
        {"default(failure(), true)", NULL, false},
    };
    struct arena arena = ARENA_INIT;
    struct expr_fault fault;
    const struct expr *e;
    size_t i;

    for (i = 0; i < COUNT(cells); i++) {
        struct expr_text text = text_of(cells[i].given);
        const char *complete;

        CHECK_OK(expr_parse_condition(&text, &arena, &e, &fault));
        complete = expr_complete_condition(e, &arena);
        CHECK_STR(complete ? complete : "", cells[i].complete ? cells[i].complete : "");
        if (complete) {
            text = text_of(complete);
            CHECK_OK(expr_parse_condition(&text, &arena, &e, &fault));
            CHECK(!expr_complete_condition(e, &arena));
        }
        CHECK_EQ(expr_requires_success(e), cells[i].requires);
    }
    arena_release(&arena);
}

/* ---- the caller's side ---- */

TEST(result_of_an_expression_outlives_the_expression_and_its_scope)
{
    struct expr_text text = text_of("[tasks.extract.outputs.files, 'new', params.day]");
    const struct expr *e;
    struct expr_fault fault;
    struct fixture f;
    json_t *json;

    begin(&f);
    CHECK_OK(expr_parse_condition(&text, &f.arena, &e, &fault));
    CHECK_OK(expr_eval(e, &f.scope, &json, &fault));
    end(&f);
    CHECK_STR(json_string_value(json_array_get(json_array_get(json, 0), 1)), "b.csv");
    CHECK_STR(json_string_value(json_array_get(json, 1)), "new");
    CHECK_STR(json_string_value(json_array_get(json, 2)), "2026-01-01");
    json_decref(json);
}

TEST(text_with_a_nul_byte_in_the_scope_is_not_truncated)
{
    struct expr_text text = text_of("[length(item), item + 'c' == item, contains(item, 'b')]");
    struct expr_scope scope = {0};
    struct arena arena = ARENA_INIT;
    const struct expr *e;
    struct expr_fault fault;
    json_t *json;

    scope.names[EXPR_ITEM] = json_stringn("a\0b", 3);
    CHECK_OK(expr_parse_condition(&text, &arena, &e, &fault));
    CHECK_OK(expr_eval(e, &scope, &json, &fault));
    CHECK_EQ(json_integer_value(json_array_get(json, 0)), 3);
    CHECK(json_is_false(json_array_get(json, 1)));
    CHECK(json_is_true(json_array_get(json, 2)));
    json_decref(json);
    json_decref(scope.names[EXPR_ITEM]);
    arena_release(&arena);
}

/* An expression that an older version accepted and this one does not fails its task, not the
 * workflow. */
TEST(invalid_template_fails_when_it_is_evaluated)
{
    static const char text[] =
        "{\"name\":\"w\",\"file\":\"w.yaml\",\"tasks\":[{\"name\":\"a\",\"at\":[3,5],\"argv\":[\"${{ nope }}\"],"
        "\"if\":\"1 +\",\"with\":{\"n\":[1.5,true,\"x\",null]}}]}";
    struct resolve_given g = {.variables = json_object()};
    struct buf spec = BUF_INIT, input = BUF_INIT;
    struct arena arena = ARENA_INIT;
    const struct workflow *w;
    struct spec defaults = {0};
    struct resolve_scope s;
    struct err err = ERR_INIT;
    json_t *with;
    char *json;
    bool runs;

    CHECK_OK(workflow_read(text, strlen(text), &arena, &w, &err));
    g.templates = templates_parse(w, &arena);
    g.task = w->tasks;
    CHECK_OK(resolve_scope(&g, &s, &err));
    CHECK_EQ(resolve_condition(&s, &runs, &err), -E_INVALID);
    CHECK_STR(err.msg, "w.yaml:3:5: expected a value, found the end (in: 1 +)");
    CHECK_EQ(resolve_task(&s, &defaults, &spec, &input, &err), -E_INVALID);
    CHECK(!strncmp(err.msg, "argv[0]: w.yaml:3:5: unknown name 'nope'", 40));
    CHECK_OK(resolve_pairs(resolve_template(&s, TASK_WITH), &s, false, &with, &err));
    json = json_text(with);
    CHECK_STR(json, "{\"n\":[1.5,true,\"x\",null]}");
    free(json);
    json_decref(with);
    resolve_scope_release(&s);
    json_decref(g.variables);
    arena_release(&arena);
}

TEST(locale_does_not_change_the_result_of_an_expression)
{
    static const char *const with_comma[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE.utf8"};
    size_t i;

    for (i = 0; i < COUNT(with_comma) && !setlocale(LC_ALL, with_comma[i]); i++)
        ;
    VALUES({"0.5 + 1.25", "1.75"}, {"toJSON([0.1])", "\"[0.1]\""}, {"fromJSON('2.5')", "2.5"},
           {"format('{0}', params.ratio)", "\"0.5\""});
    setlocale(LC_ALL, "C");
}
