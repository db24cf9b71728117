/* test_query.c - the contract of query.h: single executions and trees of them. Lists:
 * test_query_list.c; events: test_query_events.c. */
#include "fixture.h"

#include "store/query/query.h"

#include <string.h>

static struct err err;

TEST(execution_is_read_with_all_its_columns_and_its_last_attempt_from_the_history)
{
    struct store *s = fixture_store();
    int64_t id = submit_with(s, (struct submission){.name = "exec::a",
                                                    .queue = "default",
                                                    .input = "{\"x\": [1, 2]}",
                                                    .priority = 3,
                                                    .max_attempts = 4});
    struct execution_list l = {0};
    struct held_job j = claim_job(s, 11);

    CHECK_EQ(settle_as(s, j, OUTCOME_FAILED, 5 * SECOND), 0);
    CHECK_OK_ERR(query_execution(s, id, &l, &err), &err);
    CHECK_EQ(l.n, 1);
    CHECK_EQ(l.at[0].id, id);
    CHECK_EQ(l.at[0].status, S_READY);
    CHECK_EQ(l.at[0].held, HELD_DELAY);
    CHECK_EQ(l.at[0].priority, 3);
    CHECK_EQ(l.at[0].attempts, 1);
    CHECK_EQ(l.at[0].max_attempts, 4);
    CHECK_EQ(l.at[0].task_index, -1);
    CHECK_STR(l.at[0].input, "{\"x\": [1, 2]}");
    CHECK_STR(l.at[0].error, "it said no");
    CHECK_EQ(l.at[0].worker, 0);
    CHECK_EQ(l.history[0].worker, 11);
    CHECK_EQ(l.history[0].due_at, l.at[0].updated_at + 5 * SECOND);
    CHECK(strstr(l.history[0].outcome, "\"exit_code\":1"));
    execution_list_release(&l);
    verify_clean(s);
    store_close(&s);
}

TEST(running_execution_shows_its_lease)
{
    struct store *s = fixture_store();
    int64_t id = submit(s, "exec::a");
    struct execution_list l = {0};

    CHECK_EQ(claim_job(s, 11).id, id);
    CHECK_OK_ERR(query_execution(s, id, &l, &err), &err);
    CHECK_EQ(l.at[0].worker, 11);
    CHECK_EQ(l.at[0].until, l.at[0].started_at + LEASE);
    CHECK_EQ(l.history[0].worker, 11);
    CHECK(!l.history[0].outcome);
    execution_list_release(&l);
    verify_clean(s);
    store_close(&s);
}

TEST(missing_execution_is_not_found_and_has_no_children)
{
    struct store *s = fixture_store();
    struct execution_list l = {0};

    CHECK_EQ(query_execution(s, 12345, &l, &err), -E_NOT_FOUND);
    CHECK_STR(err.msg, "there is no execution 12345");
    CHECK_EQ(query_tree(s, 12345, &l, &err), -E_NOT_FOUND);
    CHECK_OK_ERR(query_children(s, 12345, &l, &err), &err);
    CHECK_EQ(l.n, 0);
    execution_list_release(&l);
    verify_clean(s);
    store_close(&s);
}

TEST(query_by_parent_finds_the_children_and_query_by_child_the_parent)
{
    struct store *s = fixture_store();
    int64_t top = submit(s, "top"), a = submit_child(s, top, "a"), b = submit_child(s, top, "b");
    struct execution_list l = {0};

    submit_child(s, a, "below a");
    CHECK_OK_ERR(query_children(s, top, &l, &err), &err);
    CHECK_EQ(l.n, 2);
    CHECK_EQ(l.at[0].id, a);
    CHECK_EQ(l.at[1].id, b);
    execution_list_release(&l);
    CHECK_OK_ERR(query_parent(s, b, &l, &err), &err);
    CHECK_EQ(l.n, 1);
    CHECK_EQ(l.at[0].id, top);
    execution_list_release(&l);
    CHECK_OK_ERR(query_parent(s, top, &l, &err), &err);
    CHECK_EQ(l.n, 0);
    execution_list_release(&l);
    verify_clean(s);
    store_close(&s);
}

TEST(tree_with_fifty_levels_is_read_in_one_query)
{
    struct store *s = fixture_store();
    int64_t ids[51], other = submit(s, "another tree"), side;
    struct execution_list l = {0};
    int i;

    ids[0] = submit(s, "level");
    for (i = 1; i <= 50; i++)
        ids[i] = submit_child(s, ids[i - 1], "level");
    side = submit_child(s, ids[20], "side");
    submit_child(s, other, "below another");

    CHECK_OK_ERR(query_tree(s, ids[0], &l, &err), &err);
    CHECK_EQ(l.n, 52);
    for (i = 0; i <= 20; i++)
        CHECK_EQ(l.at[i].id, ids[i]);
    CHECK_EQ(l.at[21].id, ids[21]); /* within a level, the earlier one is first */
    CHECK_EQ(l.at[22].id, side);
    CHECK_EQ(l.at[51].id, ids[50]);
    CHECK_EQ(l.at[51].depth, 50);
    execution_list_release(&l);
    CHECK_OK_ERR(query_tree(s, ids[30], &l, &err), &err);
    CHECK_EQ(l.n, 21);
    CHECK_EQ(l.at[0].id, ids[30]);
    execution_list_release(&l);
    verify_clean(s);
    store_close(&s);
}

TEST(tasks_of_a_workflow_include_items_but_not_tasks_of_nested_workflows)
{
    struct store *s = fixture_store();
    int64_t workflow = submit_with(s, (struct submission){.kind = KIND_WORKFLOW, .name = "flow"});
    int64_t task = submit_with(
        s, (struct submission){
               .kind = KIND_TASK, .name = "flow::t", .task_name = "t", .parent = workflow});
    int64_t fan = submit_with(
        s, (struct submission){.kind = KIND_FOREACH, .name = "flow::f", .parent = workflow});
    int64_t item = submit_with(
        s, (struct submission){
               .kind = KIND_TASK, .name = "flow::f[1]", .task_index = 1, .parent = fan});
    int64_t inner = submit_with(
        s, (struct submission){.kind = KIND_WORKFLOW, .name = "in", .parent = workflow});
    struct execution_list l = {0};

    submit_with(s, (struct submission){.kind = KIND_TASK, .name = "in::t", .parent = inner});
    submit_child(s, task, "started by the task itself");
    CHECK_OK_ERR(query_tasks(s, workflow, &l, &err), &err);
    CHECK_EQ(l.n, 4);
    CHECK_EQ(l.at[0].id, task);
    CHECK_STR(l.at[0].task_name, "t");
    CHECK_EQ(l.at[1].id, fan);
    CHECK_EQ(l.at[2].id, inner);
    CHECK_EQ(l.at[3].id, item);
    CHECK_EQ(l.at[3].task_index, 1);
    execution_list_release(&l);
    verify_clean(s);
    store_close(&s);
}

/* All items of a fan-out are counted, and only a few are listed. */
TEST(outline_of_a_workflow_counts_all_items_and_lists_only_some_running_and_failed_items)
{
    struct store *s = fixture_store();
    int64_t workflow = submit_with(s, (struct submission){.kind = KIND_WORKFLOW, .name = "flow"});
    int64_t fan = submit_with(s, (struct submission){.kind = KIND_FOREACH,
                                                     .name = "flow::f",
                                                     .task_name = "f",
                                                     .input = "[1, 2, 3, 4, 5, 6, 7, 8, 9]",
                                                     .parent = workflow});
    struct held_job jobs[8];
    struct outline o = {0};
    size_t i;

    for (i = 0; i < 8; i++)
        submit_with(s, (struct submission){
                           .kind = KIND_TASK, .name = "i", .task_index = (int)i, .parent = fan});
    CHECK_EQ(claim_many(s, 7, 8, jobs), 8);
    submit_child(s, jobs[1].id, "below one that failed");
    submit_child(s, jobs[0].id, "below one that is not shown");
    CHECK_EQ(settle_ok(s, jobs[0]), 0);
    for (i = 1; i < 4; i++)
        CHECK_EQ(settle_as(s, jobs[i], OUTCOME_FAILED, -1), 0);

    CHECK_OK_ERR(query_outline(s, workflow, 2, &o, &err), &err);
    CHECK_EQ(o.n, 7); /* the workflow, the fan-out, four items, a child of one item */
    CHECK_EQ(o.at[1].execution.id, fan);
    CHECK_EQ(o.at[1].nitems, 9);
    CHECK_EQ(o.at[1].items[S_SUCCEEDED], 1);
    CHECK_EQ(o.at[1].items[S_FAILED], 3);
    CHECK_EQ(o.at[1].items[S_RUNNING], 4);
    CHECK_EQ(o.at[2].execution.id, jobs[1].id);
    CHECK_EQ(o.at[3].execution.id, jobs[2].id);
    CHECK_EQ(o.at[4].execution.id, jobs[4].id);
    CHECK_EQ(o.at[5].execution.id, jobs[5].id);
    CHECK_STR(o.at[2].execution.error, "it said no");
    CHECK_EQ(o.at[2].worker, 7);
    CHECK(o.at[2].ready_at > 0 && o.at[2].ready_at <= o.at[2].execution.started_at);
    CHECK_STR(o.at[6].execution.name, "below one that failed");
    CHECK_EQ(o.at[0].nitems, -1);
    CHECK(o.now >= o.at[0].execution.requested_at);
    outline_release(&o);
    CHECK_OK_ERR(query_graph(s, workflow, &o, &err), &err);
    CHECK_EQ(o.n, 1); /* the fan-out, without its items */
    CHECK_EQ(o.at[0].execution.id, fan);
    CHECK_EQ(o.at[0].nitems, 9);
    CHECK_EQ(o.at[0].items[S_FAILED], 3);
    CHECK_EQ(o.at[0].items[S_RUNNING], 4);
    outline_release(&o);
    CHECK_EQ(query_outline(s, 12345, 2, &o, &err), -E_NOT_FOUND);
    drain(s);
    verify_clean(s);
    store_close(&s);
}
