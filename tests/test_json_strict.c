/* test_json_strict.c - JSON that is valid but ambiguous or unreadable (a key twice in one object, a
 * number beyond 64 bits) is refused with the reason wherever Pawl accepts JSON. A string with a NUL
 * character is never cut short. Each test ends with verify. */
#include "api_fixture.h"
#include "exec/outputs.h"
#include "sql_submission_fixture.h"
#include "workflow_fixture.h"

#define TWICE     "the same key twice in one object"
#define TOO_LARGE "a number that is too large: integers have at most 64 bits"
#define NUL       "a NUL character (\\u0000) in a string"

#define YAML      "name: w\nparams: {p: {type: object, default: {}}}\ntasks: {a: {run: x}}\n"

static const struct {
    const char *value, *why; /* a value in JSON, and the reason of its refusal */
    bool as_input;           /* refused as the input or the result of a job, too */
} refused[] = {
    {"{\"a\":1,\"a\":1}", TWICE, true},
    {"{\"b\":[{\"a\":1,\"\\u0061\":2}]}", TWICE, true},
    {"{\"a\":9223372036854775808}", TOO_LARGE, true},
    {"{\"a\":[-123456789012345678901234567890]}", TOO_LARGE, true},
    {"{\"a\":1e309}", TOO_LARGE, true},
    {"{\"a\":\"x\\u0000y\"}", NUL, false}, /* functions get JSON, which may hold it */
};
#define REFUSED (sizeof(refused) / sizeof(*refused))

static void check_reason(const char *message, size_t i)
{
    if (!message || !strstr(message, refused[i].why))
        test_fail(__FILE__, __LINE__, "%s is refused for another reason: %s", refused[i].value,
                  message);
}

TEST(ambiguous_or_unreadable_json_from_a_program_is_refused_and_nothing_is_stored)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    size_t i, nth;

    for (i = 0; i < REFUSED; i++) {
        char *input = mem_printf("{\"p\":%s}", refused[i].value);
        char *param = mem_printf("p=%s", refused[i].value);
        struct pawl_job by_input = {.yaml = YAML, .input = input};
        struct pawl_job by_param = {.yaml = YAML, .params = (const char *const[]){param, NULL}};
        struct pawl_job job = {.name = "exec::a", .input = refused[i].value};
        struct pawl_job *all[] = {&by_input, &by_param, &job};

        for (nth = 0; nth < (refused[i].as_input ? 3 : 2); nth++) {
            CHECK_EQ(pawl_submit(p, all[nth], 1, &api_err), -PAWL_E_INVALID);
            check_reason(api_err.message, i);
        }
        free(input);
        free(param);
    }
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions"), 0);
    pawl_close(p);
    verify_clean(s);
    store_close(&s);
}

/* Inserts rows as an earlier version may have stored them: on PostgreSQL the current pawl_submit()
 * refuses such params itself (test_pg_submit_params). */
TEST(ambiguous_or_unreadable_params_in_a_sql_submission_are_refused_with_the_reason)
{
    struct store *s = fixture_store();
    size_t i;

    apply(s, YAML);
    for (i = 0; i < REFUSED; i++) {
        int64_t id = sql_submit(s, (struct sql_call){.params = "{}"});
        char *sql = mem_printf("UPDATE submissions SET params = '{\"p\":%s}' WHERE id = %lld",
                               refused[i].value, (long long)id);

        sql_run(s, sql);
        CHECK_EQ(take_submissions(s), 1);
        CHECK_STR(submission_word(s, id), "refused");
        check_reason(submission_of(s, id).error, i);
        free(sql);
    }
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions"), 0);
    verify_clean(s);
    store_close(&s);
}

TEST(ambiguous_or_unreadable_outputs_are_refused_with_their_line)
{
    struct buf out = BUF_INIT;
    struct err err = ERR_INIT;
    size_t i;

    for (i = 0; i < REFUSED; i++) {
        char *text = mem_printf("x=1\n{\"p\":%s}\n", refused[i].value);

        if (refused[i].as_input) {
            CHECK_EQ(outputs_parse(text, strlen(text), NULL, &out, &err), -E_INVALID);
            CHECK(strstr(err.msg, "line 2 of $PAWL_OUTPUT"));
            check_reason(err.msg, i);
        }
        free(text);
    }
    buf_release(&out);
}

/* Earlier versions stored an integer of more than 64 bits, and the task that referred to it
 * failed. */
TEST(ambiguous_or_unreadable_result_fails_its_own_job)
{
    struct store *s = fixture_store();
    struct task_claim k = {.push = false};
    size_t i;

    for (i = 0; i < REFUSED; i++) {
        int64_t w;

        if (!refused[i].as_input)
            continue;
        w = submit_workflow(s,
                            "name: w\ntasks: {a: {run: x}, "
                            "b: {run: x, needs: a, env: {X: '${{ tasks.a.outputs }}'}}}\n",
                            NULL);
        CHECK_EQ(claim_tasks(s, &k), 1);
        settle_task(s, k.held[0], OUTCOME_OK, refused[i].value);
        CHECK_STR(tree_text(s, w), "a:failed b:skipped");
        check_reason(get(s, task_of(s, w, "a")).error, i);
    }
    verify_clean(s);
    store_close(&s);
}

/* Each of these would be cut at the NUL character: "rm -rf /tmp/x\0y" ends as "rm -rf /tmp/x". */
TEST(nul_character_in_a_string_of_a_command_fails_the_task)
{
    static const struct {
        const char *keys, *where;
    } uses[] = {
        {"run: x, env: {X: '${{ tasks.a.outputs.v }}'}", "env.X: "},
        {"run: x, with: {v: '${{ tasks.a.outputs.v }}'}", "env.v: "},
        {"argv: [echo, 'is ${{ tasks.a.outputs.v }}']", "argv[1]: "},
        {"run: x, stdin: '${{ tasks.a.outputs.v }}'", "stdin: "},
        {"run: x, cwd: '${{ tasks.a.outputs.v }}'", "cwd: "},
        {"run: x, foreach: ['${{ tasks.a.outputs.v }}']", "env.ITEM: "},
    };
    struct store *s = fixture_store();
    struct task_claim k = {.push = false};
    size_t i;

    for (i = 0; i < sizeof(uses) / sizeof(*uses); i++) {
        char *yaml = mem_printf("name: w\ntasks: {a: {run: x}, b: {needs: a, %s}}\n", uses[i].keys);
        char *expected = mem_printf(
            "%sthe value contains a NUL character, which is not allowed in text", uses[i].where);
        int64_t w = submit_workflow(s, yaml, NULL);
        const char *error;

        CHECK_EQ(claim_tasks(s, &k), 1);
        settle_task(s, k.held[0], OUTCOME_OK, "{\"v\":\"/tmp/x\\u0000y\"}");
        CHECK_EQ(claim_tasks(s, &k), 0);
        CHECK_EQ(status_of(s, w), S_FAILED);
        error = get(s, task_of(s, w, strstr(yaml, "foreach") ? "b[0]" : "b")).error;
        if (!error || !strstr(error, expected))
            test_fail(__FILE__, __LINE__, "%s: %s", uses[i].keys, error);
        free(yaml);
        free(expected);
    }
    verify_clean(s);
    store_close(&s);
}
