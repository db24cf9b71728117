/* test_large_values.c - params and items that are too large for an environment variable: commands
 * that do not use them run without them, others get them as a file, or fail with the reason. */
#include "workflow_fixture.h"

#include <string.h>

#define BYTES 200000 /* more bytes than the kernel allows in one variable */

static const char yaml[] =
    "name: w\nparams: {data: {type: string}, more: {type: string, default: m},\n"
    "  n: {type: integer, default: 1}}\ntasks:\n"
    "  other: {run: 'echo $n $database'}\n"
    "  file: {run: 'cat $data', files: {data: '${{ params.data }}'}}\n"
    "  argument: {argv: [echo, '${{ params.data }}']}\n"
    "  each: {foreach: ['${{ params.data }}', b], run: 'echo $INDEX'}\n"
    "  item: {foreach: ['${{ params.data }}', b], run: 'echo \"${ITEM}\"'}\n";

/* The params with `data` of that many bytes; `more` has as many if it is set. */
static const char *params(size_t bytes, bool more)
{
    static struct buf b;

    buf_reset(&b);
    buf_addstr(&b, "{\"data\":\"");
    for (size_t i = 0; i < bytes; i++)
        buf_addch(&b, 'x');
    buf_addstr(&b, more ? "\",\"more\":\"" : "");
    for (size_t i = 0; more && i < bytes; i++)
        buf_addch(&b, 'y');
    buf_addstr(&b, "\"}");
    return b.ptr;
}

static int64_t spec_bytes(struct store *s, const char *name)
{
    char sql[200];

    snprintf(sql, sizeof(sql), "SELECT length(spec) FROM executions WHERE name = 'w::%s'", name);
    return sql_number(s, sql);
}

TEST(large_param_reaches_only_the_tasks_that_ask_for_it)
{
    struct store *s = fixture_store();
    int64_t w = submit_workflow(s, yaml, params(BYTES, false));
    static struct task_claim k;

    claim_tasks(s, &k);
    CHECK(spec_bytes(s, "other") < 1000);
    CHECK(spec_bytes(s, "file") > BYTES && spec_bytes(s, "file") < BYTES + 1000);
    CHECK(spec_bytes(s, "each[0]") < 1000);
    CHECK(spec_bytes(s, "each[1]") < 1000);
    CHECK_EQ(task_status(s, w, "item[0]"), S_FAILED);
    CHECK(strstr(get(s, task_of(s, w, "item[0]")).error,
                 "the value of ITEM is too large for an environment variable: with its name it is "
                 "200005 bytes long, and at most 131071 are possible"));
    CHECK_EQ(task_status(s, w, "argument"), S_FAILED);
    CHECK(strstr(get(s, task_of(s, w, "argument")).error,
                 "argv[1]: an argument of a program may be at most 131071 bytes long, but this one "
                 "is 200000"));
    for (size_t i = 0; i < k.n; i++)
        settle_task(s, k.held[i], OUTCOME_OK, NULL);
    verify_clean(s);
    store_close(&s);
}

TEST(params_that_fit_alone_but_not_together_are_left_out_largest_first)
{
    struct store *s = fixture_store();

    submit_workflow(s,
                    "name: w\nparams: {data: {type: string}, more: {type: string}}\ntasks:\n"
                    "  none: {run: x}\n  one: {run: 'cat $data'}\n",
                    params(130000, true));
    CHECK(spec_bytes(s, "none") > 260000); /* both params fit */
    submit_workflow(s,
                    "name: w\nparams: {data: {type: string}, more: {type: string}}\ntasks:\n"
                    "  two: {run: 'cat $data', env: {third: '${{ params.more }}'}}\n",
                    params(130000, true));
    CHECK(spec_bytes(s, "two") > 260000 && spec_bytes(s, "two") < 270000); /* `more` is left out */
    verify_clean(s);
    store_close(&s);
}
