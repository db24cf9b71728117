/* test_pg_submit_params.c - the arguments of pawl_submit(): a wrong argument is an error of the
 * call, while the caller can still react, and an engine accepts whatever the call accepted. */
#include "core/resolve.h"
#include "pg_submit_fixture.h"
#include "store/workflow/workflow.h"

#include <jansson.h>

TEST_ONLY_DB(postgres);

static const struct {
    const char *call, *state, *message;
} wrong[] = {
    {"'nosuch'", "42704", "no workflow is applied under the name 'nosuch'"},
    {"NULL", "42704", "under the name NULL"},
    {"'w', '[1]'", "22023", "must be a JSON object"},
    {"'w', '{'", "22P02", "json"},
    {"'w', json_build_object('day', repeat('x', 1048576))", "22023", "at most 1048576"},
    {"'w', '{\"day\": \"\\u0000\"}'", "22023", "NUL character"},
    {"'w', key => ''", "22023", "the key is empty"},
    {"'w', key => repeat('x', 201)", "22023", "more than 200 bytes"},
    {"'w', queue => ''", "22023", "the queue is empty"},
    {"'w', queue => 'here:5'", "22023", "begins with here:"},
    {"'w', priority => 1000001", "22023", "out of its range"},
    {"'w', delay => interval '-1 s'", "22023", "out of its range"},
    {"'w', delay => interval '101 years'", "22023", "out of its range"},
};

TEST(invalid_argument_to_pawl_submit_fails_the_call)
{
    struct store *s = fixture_store();
    PGconn *app = session_as(NULL);
    char sql[300];
    size_t i;

    apply(s, "name: w\nparams: {day: {type: string}}\ntasks: {a: {run: x}}\n");
    for (i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        snprintf(sql, sizeof(sql), "SELECT pawl_submit(%s)", wrong[i].call);
        CHECK_EQ(run(app, sql), 0);
        CHECK_STR(state, wrong[i].state);
        if (!strstr(message, wrong[i].message))
            test_fail(__FILE__, __LINE__, "%s fails with: %s", sql, message);
    }
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM submissions"), 0);
    pg_close(&app);
    verify_clean(s);
    store_close(&s);
}

#define PARAMS                                                                           \
    "params: {day: {type: string, default: x}, n: {type: integer}, list: {type: list}, " \
    "object: {type: object}, yes: {type: boolean}, number: {type: number, default: null}}\n"
#define NEEDED \
    "params: {must: {type: boolean, required: true}, other: {type: object, default: {}}}\n"

/* Each entry is submitted to a workflow with these params. */
static const struct {
    const char *params, *given;
} misfits[] = {
    {PARAMS, "{\"dya\": \"x\"}"},
    {PARAMS, "{\"day\": 5, \"zeta\": 1, \"alpha\": 2}"},
    {PARAMS, "{\"day\": 5}"},
    {PARAMS, "{\"day\": null}"},
    {PARAMS, "{\"number\": [], \"n\": 1.5}"},
    {PARAMS, "{\"n\": \"1\"}"},
    {PARAMS, "{\"n\": 1e3}"},
    {PARAMS, "{\"n\": false}"},
    {PARAMS, "{\"list\": {}}"},
    {PARAMS, "{\"object\": []}"},
    {PARAMS, "{\"yes\": \"true\"}"},
    {NEEDED, "{}"},
    {NEEDED, "{\"must\": null}"},
    {NEEDED, "{\"must\": true, \"other\": null}"},
};

static const char *error_of_engine_check(const char *yaml, const char *given)
{
    static struct err err;
    struct definition *d = NULL;
    char *text = (char *)workflow_text(yaml);
    json_t *params = json_loads(given, 0, NULL);

    CHECK_OK_ERR(definition_parse(text, strlen(text), &d, &err), &err);
    CHECK_EQ(resolve_check_params(d->workflow, params, &err), -E_INVALID);
    definition_free(d);
    free(text);
    json_decref(params);
    return err.msg;
}

TEST(invalid_params_fail_pawl_submit_with_the_error_of_the_engine)
{
    struct store *s = fixture_store();
    PGconn *app = session_as(NULL);
    char sql[300], yaml[500];
    size_t i;

    for (i = 0; i < sizeof(misfits) / sizeof(*misfits); i++) {
        snprintf(yaml, sizeof(yaml), "name: w\n%stasks: {a: {run: x}}\n", misfits[i].params);
        apply(s, yaml);
        snprintf(sql, sizeof(sql), "SELECT pawl_submit('w', '%s')", misfits[i].given);
        CHECK_EQ(run(app, sql), 0);
        CHECK_STR(message, error_of_engine_check(yaml, misfits[i].given));
        CHECK_STR(state, "22023");
    }
    CHECK_STR(message, "the param other must be an object, not null");
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM submissions"), 0);
    pg_close(&app);
    verify_clean(s);
    store_close(&s);
}

/* Valid JSON that Pawl accepts nowhere; the engine gives the same reason. */
static const char *const wrong_json[][2] = {
    {"{\"day\": \"x\", \"day\": \"y\"}", "has the same key twice in one object"},
    {"{\"object\": {\"a\": 1, \"a\": 2}}", "has the same key twice in one object"},
    {"{\"list\": [[{\"\\u0061\": 1, \"a\": 2}]]}", "has the same key twice in one object"},
    {"{\"n\": 9223372036854775808}",
     "has a number that is too large: integers have at most 64 bits"},
    {"{\"n\": -9223372036854775809}",
     "has a number that is too large: integers have at most 64 bits"},
    {"{\"list\": [{\"x\": 123456789012345678901234567890}]}", "has a number that is too large"},
    {"{\"number\": 1e309}", "has a number that is too large"},
    {"{\"day\": \"a\\u0000b\"}", "has a NUL character (\\u0000) in a string"},
    {"{\"day\": \"\\\\\\u0000\"}", "has a NUL character (\\u0000) in a string"},
    {"{\"object\": {\"a\\u0000\": 1}}", "has a NUL character (\\u0000) in a string"},
};

TEST(json_that_the_engine_refuses_is_refused_by_pawl_submit_with_the_reason)
{
    struct store *s = fixture_store();
    PGconn *app = session_as(NULL);
    json_t *params;
    struct err err;
    char sql[300];
    size_t i;

    apply(s, "name: w\n" PARAMS "tasks: {a: {run: x}}\n");
    for (i = 0; i < sizeof(wrong_json) / sizeof(*wrong_json); i++) {
        snprintf(sql, sizeof(sql), "SELECT pawl_submit('w', '%s')", wrong_json[i][0]);
        CHECK_EQ(run(app, sql), 0);
        if (!strstr(message, wrong_json[i][1]))
            test_fail(__FILE__, __LINE__, "%s fails with: %s", sql, message);
        CHECK_STR(state, "22023");
        CHECK_EQ(resolve_read_params(wrong_json[i][0], &params, &err), -E_INVALID);
        CHECK(strstr(err.msg, wrong_json[i][1]));
    }
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM submissions"), 0);
    pg_close(&app);
    verify_clean(s);
    store_close(&s);
}

static const char *const right[] = {
    "'w'",
    "'w', '{\"n\": null, \"list\": null, \"object\": null, \"yes\": null, \"number\": null}'",
    "'w', '{\"object\": {\"a\": 1, \"b\": {\"a\": 1}}, \"list\": [{\"a\": 1}, {\"a\": 1}]}'",
    "'w', '{\"n\": 9223372036854775807, \"number\": -1e307}'",
    "'w', '{\"day\": \"\\\\u0000 [{ 12345678901234567890\"}'",
    "'w', NULL, NULL, NULL, NULL, NULL, NULL",
    "'w', '{\"day\": \"\\ud83d\\ude00\", \"n\": -9223372036854775808}'",
    "'w', '{\"list\": [1, {}], \"object\": {\"a\": null}, \"yes\": true, \"number\": 1e3}'",
    "'w', '{\"number\": 7}', priority => -1000000, delay => interval '99 years'",
    "'w', queue => 'Grüße', notify => false",
};

/* No argument that the call accepts makes the submission fail in the engine. */
TEST(submission_accepted_by_pawl_submit_is_accepted_by_the_engine)
{
    struct store *s = fixture_store();
    PGconn *app = session_as(NULL);
    char sql[300];
    size_t i, n = sizeof(right) / sizeof(*right);

    apply(s, "name: w\n" PARAMS "tasks: {a: {run: x}}\n");
    for (i = 0; i < n; i++) {
        snprintf(sql, sizeof(sql), "SELECT pawl_submit(%s)", right[i]);
        CHECK(ok(app, sql) > 0);
    }
    CHECK_EQ(take_submissions(s), (long long)n);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM submissions WHERE error IS NOT NULL"), 0);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE status = 5"), 0);
    CHECK_EQ(executions(s), (long long)n);
    pg_close(&app);
    verify_clean(s);
    store_close(&s);
}
