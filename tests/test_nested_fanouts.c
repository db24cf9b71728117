/* test_nested_fanouts.c - fan-outs of workflows that contain fan-outs. A store caches the lists of
 * a few fan-outs between turns; here many more of them start in one turn, while the list of the
 * outer fan-out is in use. */
#include "guard_json.h"
#include "rerun_fixture.h"
#include "workflow_fixture.h"

#define INNER   "inner.yaml", "name: inner\ntasks: {g: {foreach: 2, run: x}}\n"

/* Items cancelled in one turn; as many nested fan-outs start, more than a store caches lists for.
 */
#define AT_ONCE 14

static int64_t submit_files(struct store *s, const char *outer)
{
    return submit_workflow_text(
        s, workflow_text_of_files((const char *[]){"outer.yaml", outer, INNER, NULL}), NULL);
}

struct cancelling {
    struct request requests[AT_ONCE];
    bool more;
};

static int cancel_body(struct turn *t, void *arg, struct err *err)
{
    struct cancelling *c = arg;

    return op_cancel(t, c->requests, AT_ONCE, 1000, &c->more, err);
}

/* Cancels items from..from + AT_ONCE - 1 in one turn. That turn starts as many other items. */
static void cancel_items(struct store *s, int64_t w, int from)
{
    struct cancelling c = {.more = false};
    struct err err = ERR_INIT;
    char name[32];
    int i;

    for (i = 0; i < AT_ONCE; i++) {
        snprintf(name, sizeof(name), "o[%d]", from + i);
        c.requests[i] = (struct request){.execution = task_of(s, w, name)};
    }
    CHECK_OK_ERR(store_turn(s, cancel_body, &c, &err), &err);
    CHECK(!c.more);
}

static void check_ended(struct store *s, int64_t w, int status, int items)
{
    CHECK_EQ(status_of(s, w), status);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE status < 4"), 0);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE name LIKE 'inner::g[%'"), items);
    verify_clean(s);
}

/* Cancelling one item alone puts the list of the outer fan-out into the store's cache. Then many
 * items are cancelled in one turn: the lists of the nested fan-outs that start in their stead evict
 * the outer list while it is read. */
static int64_t cancel_some(struct store *s)
{
    int64_t w = submit_files(
        s, "name: outer\ntasks: {o: {foreach: 40, max_parallel: 16, workflow: inner.yaml}}\n");

    CHECK_OK(control_execution(s, CONTROL_CANCEL, task_of(s, w, "o[0]")));
    verify_clean(s);
    cancel_items(s, w, 1);
    verify_clean(s);
    return w;
}

static int64_t run_and_cancel_some(struct store **s)
{
    int64_t w;

    guard_json();
    *s = fixture_store();
    w = cancel_some(*s);
    run_workflows(*s, "");
    return w;
}

TEST(nested_fan_outs_that_replace_items_cancelled_in_one_turn_all_run)
{
    struct store *s;
    int64_t w = run_and_cancel_some(&s);

    check_ended(s, w, S_CANCELLED, 80);
    store_close(&s);
}

TEST(nested_fan_outs_rerun_in_one_turn_all_run)
{
    struct store *s;
    int64_t w = run_and_cancel_some(&s);

    CHECK(rerun(s, w, RERUN_ONLY_FAILED, NULL) != NULL);
    verify_clean(s);
    run_workflows(s, "");
    check_ended(s, w, S_SUCCEEDED, 80);
    CHECK(rerun(s, w, RERUN_WHOLE, NULL) != NULL);
    CHECK_OK(control_execution(s, CONTROL_CANCEL, task_of(s, w, "o[0]")));
    cancel_items(s, w, 1);
    run_workflows(s, "");
    check_ended(s, w, S_CANCELLED, 80);
    store_close(&s);
}
