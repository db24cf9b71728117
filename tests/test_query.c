/* test_query.c - the contract of the reading side: every question that query.h answers. */
#include "fixture.h"

#include "store/door.h"
#include "store/query.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TEST_THREADED;

static struct err err;

/* ---- executions ---- */

TEST(an_execution_is_read_whole_with_what_its_history_tells)
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
    CHECK_EQ(l.past[0].worker, 11);
    CHECK_EQ(l.past[0].due_at, l.at[0].updated_at + 5 * SECOND);
    CHECK(strstr(l.past[0].outcome, "\"exit_code\":1"));
    execution_list_release(&l);
    verify_clean(s);
    store_close(&s);
}

TEST(a_running_execution_shows_its_lease)
{
    struct store *s = fixture_store();
    int64_t id = submit(s, "exec::a");
    struct execution_list l = {0};

    CHECK_EQ(claim_job(s, 11).id, id);
    CHECK_OK_ERR(query_execution(s, id, &l, &err), &err);
    CHECK_EQ(l.at[0].worker, 11);
    CHECK_EQ(l.at[0].until, l.at[0].started_at + LEASE);
    CHECK_EQ(l.past[0].worker, 11);
    CHECK(!l.past[0].outcome);
    execution_list_release(&l);
    verify_clean(s);
    store_close(&s);
}

TEST(what_does_not_exist_is_not_found)
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

TEST(parent_and_children_find_each_other)
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

TEST(a_tree_of_fifty_levels_is_one_query)
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
    CHECK_EQ(l.at[21].id, ids[21]); /* on a level the earlier one comes first */
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

TEST(tasks_of_a_workflow_are_its_nodes_and_items_but_not_those_of_a_nested_one)
{
    struct store *s = fixture_store();
    int64_t flow = submit_with(s, (struct submission){.kind = KIND_WORKFLOW, .name = "flow"});
    int64_t task =
        submit_with(s, (struct submission){
                           .kind = KIND_TASK, .name = "flow::t", .task_name = "t", .parent = flow});
    int64_t fan = submit_with(
        s, (struct submission){.kind = KIND_FOREACH, .name = "flow::f", .parent = flow});
    int64_t item = submit_with(
        s, (struct submission){
               .kind = KIND_TASK, .name = "flow::f[1]", .task_index = 1, .parent = fan});
    int64_t inner =
        submit_with(s, (struct submission){.kind = KIND_WORKFLOW, .name = "in", .parent = flow});
    struct execution_list l = {0};

    submit_with(s, (struct submission){.kind = KIND_TASK, .name = "in::t", .parent = inner});
    submit_child(s, task, "started by the task itself");
    CHECK_OK_ERR(query_tasks(s, flow, &l, &err), &err);
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

/* Of a fan-out all items are counted, and few are there. */
TEST(an_outline_counts_items_and_shows_some_that_run_or_failed)
{
    struct store *s = fixture_store();
    int64_t flow = submit_with(s, (struct submission){.kind = KIND_WORKFLOW, .name = "flow"});
    int64_t fan = submit_with(s, (struct submission){.kind = KIND_FOREACH,
                                                     .name = "flow::f",
                                                     .task_name = "f",
                                                     .input = "[1, 2, 3, 4, 5, 6, 7, 8, 9]",
                                                     .parent = flow});
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

    CHECK_OK_ERR(query_outline(s, flow, 2, &o, &err), &err);
    CHECK_EQ(o.n, 7); /* the flow, the fan-out, two and two of its items, what is below one */
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
    CHECK_EQ(query_outline(s, 12345, 2, &o, &err), -E_NOT_FOUND);
    drain(s);
    verify_clean(s);
    store_close(&s);
}

TEST(roots_come_newest_first_in_pages)
{
    struct store *s = fixture_store();
    struct list_filter roots = {0}, running = {.statuses = (uint64_t)1 << S_RUNNING};
    int64_t ids[7], before = 0;
    struct execution_list l = {0};
    int i, seen = 0;

    for (i = 0; i < 7; i++)
        ids[i] = submit(s, "root");
    submit_child(s, ids[6], "not a root");
    do {
        execution_list_release(&l);
        CHECK_OK_ERR(query_list(s, &roots, &before, 3, &l, &err), &err);
        for (i = 0; i < (int)l.n; i++)
            CHECK_EQ(l.at[i].id, ids[6 - seen++]);
    } while (before);
    CHECK_EQ(seen, 7);
    execution_list_release(&l);

    CHECK_EQ(claim_job(s, 1).id, ids[0]);
    CHECK_OK_ERR(query_list(s, &running, &before, 3, &l, &err), &err);
    CHECK_EQ(l.n, 1);
    CHECK_EQ(l.at[0].id, ids[0]);
    CHECK_EQ(before, 0);
    execution_list_release(&l);
    verify_clean(s);
    store_close(&s);
}

/* The names of what a list has, newest first. */
static const char *listed(struct store *s, struct list_filter f)
{
    static char text[500];
    struct execution_list l = {0};
    int64_t before = 0;
    size_t i, used = 0;

    CHECK_OK_ERR(query_list(s, &f, &before, 50, &l, &err), &err);
    text[0] = 0;
    for (i = 0; i < l.n; i++)
        used +=
            (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", i ? " " : "", l.at[i].name);
    execution_list_release(&l);
    return text;
}

TEST(a_list_has_what_was_asked_for_and_nothing_else)
{
    struct store *s = fixture_store();
    int64_t top = submit(s, "a_b"), other = submit(s, "aXb");

    submit_child(s, top, "a::[1]");
    submit_child(s, top, "a::1");
    submit_child(s, other, "100%\\");
    submit_with(s, (struct submission){.name = "mail", .queue = "mail"});
    CHECK_EQ(claim_job(s, 1).id, top);
    CHECK_STR(listed(s, (struct list_filter){0}), "mail aXb a_b");
    CHECK_STR(listed(s, (struct list_filter){.parent = top}), "a::1 a::[1]");
    CHECK_STR(listed(s, (struct list_filter){.all = true}), "mail 100%\\ a::1 a::[1] aXb a_b");
    CHECK_STR(listed(s, (struct list_filter){.all = true, .name = "a*"}), "a::1 a::[1] aXb a_b");
    CHECK_STR(listed(s, (struct list_filter){.all = true, .name = "A*"}), "");
    CHECK_STR(listed(s, (struct list_filter){.name = "a_b"}), "a_b");
    CHECK_STR(listed(s, (struct list_filter){.name = "a?b"}), "aXb a_b");
    CHECK_STR(listed(s, (struct list_filter){.all = true, .name = "a::[1]"}), "a::[1]");
    CHECK_STR(listed(s, (struct list_filter){.all = true, .name = "*%\\"}), "100%\\");
    CHECK_STR(listed(s, (struct list_filter){.queue = "mail"}), "mail");
    CHECK_STR(listed(s, (struct list_filter){.kind = KIND_WORKFLOW, .all = true}), "");
    CHECK_STR(listed(s, (struct list_filter){.kind = KIND_EXEC, .statuses = 1 << S_RUNNING}),
              "a_b");
    CHECK_STR(listed(s, (struct list_filter){.all = true,
                                             .name = "a?b",
                                             .statuses = 1 << S_RUNNING | 1 << S_READY}),
              "aXb a_b");
    verify_clean(s);
    store_close(&s);
}

/* Made by hand, and removed again: a hundred thousand others behind the one that is wanted. */
TEST(a_list_looks_at_so_many_and_says_where_to_go_on)
{
    struct store *s = fixture_store();
    struct list_filter f = {.name = "wanted"};
    int64_t wanted = submit(s, "wanted"), before = 0;
    struct execution_list l = {0};

    sql_run(
        s, "WITH RECURSIVE n(i) AS (SELECT 1000001 UNION ALL SELECT i + 1 FROM n WHERE i < 1100000)"
           " INSERT INTO executions (id, root, requested_at, updated_at, priority, attempts,"
           " max_attempts, epoch, seq, needs_left, cursor, depth, kind, status, held, deferred,"
           " failed_behind, cancel_requested, name, queue)"
           " SELECT n.i, n.i, e.requested_at, e.updated_at, 0, 0, 1, 0, 0, 0, 0, 0, 2, 4, 0, 0, 0,"
           " 0, 'other', 'default' FROM n, executions e");
    CHECK_OK_ERR(query_list(s, &f, &before, 5, &l, &err), &err);
    CHECK_EQ(l.n, 0);
    CHECK_EQ(before, 1000001);
    execution_list_release(&l);
    CHECK_OK_ERR(query_list(s, &f, &before, 5, &l, &err), &err);
    CHECK_EQ(l.n, 1);
    CHECK_EQ(l.at[0].id, wanted);
    CHECK_EQ(before, 0);
    execution_list_release(&l);
    sql_run(s, "DELETE FROM executions WHERE name = 'other'");
    verify_clean(s);
    store_close(&s);
}

/* ---- events of one execution or tree ---- */

TEST(events_of_an_execution_come_in_order_and_in_pages)
{
    struct store *s = fixture_store();
    int64_t id = submit(s, "a");
    struct event_list l = {0};

    CHECK_EQ(settle_ok(s, claim_job(s, 5)), 0);
    CHECK_OK_ERR(query_events_of(s, id, 0, 3, &l, &err), &err);
    CHECK_EQ(l.n, 3);
    CHECK_EQ(l.at[0].seq, 1);
    CHECK_EQ(l.at[0].type, EV_CREATED);
    CHECK_EQ(l.at[0].from, S_NONE);
    CHECK_EQ(l.at[2].type, EV_CLAIMED);
    CHECK_EQ(l.at[2].worker, 5);
    CHECK_EQ(l.at[2].epoch, 1);
    CHECK_EQ(l.at[2].root, id);
    event_list_release(&l);
    CHECK_OK_ERR(query_events_of(s, id, 3, 3, &l, &err), &err);
    CHECK_EQ(l.n, 1);
    CHECK_EQ(l.at[0].to, S_SUCCEEDED);
    event_list_release(&l);
    verify_clean(s);
    store_close(&s);
}

TEST(events_of_a_subtree_come_by_number_and_leave_out_all_others)
{
    struct store *s = fixture_store();
    int64_t top = submit(s, "top"), a = submit_child(s, top, "a"), b = submit_child(s, top, "b");
    int64_t below = submit_child(s, a, "below");
    struct event_filter created = {.types = EVENT_BIT(EV_CREATED)}, any = {0};
    struct event_range range = {.max = 3};
    struct event_list l = {0};
    size_t n = 0;
    int64_t last = 0;

    CHECK_OK_ERR(query_events_below(s, a, &created, &range, &l, &err), &err);
    CHECK_EQ(l.n, 2);
    CHECK_EQ(l.at[0].execution, a);
    CHECK_EQ(l.at[1].execution, below);
    event_list_release(&l);
    do {
        size_t i;

        event_list_release(&l);
        CHECK_OK_ERR(query_events_below(s, top, &any, &range, &l, &err), &err);
        for (i = 0; i < l.n; i++) {
            CHECK(l.at[i].sequence_num > last);
            last = l.at[i].sequence_num;
        }
        n += l.n;
        range.after = last;
    } while (l.n);
    event_list_release(&l);
    CHECK_EQ(n, 8);
    range = (struct event_range){.max = 100, .upto = last - 1};
    CHECK_OK_ERR(query_events_below(s, top, &any, &range, &l, &err), &err);
    CHECK_EQ(l.n, 7);
    event_list_release(&l);
    CHECK(b);
    verify_clean(s);
    store_close(&s);
}

/* ---- newest first ---- */

/* Pages through all that the filter wants; checks the order; returns how many there were. */
static size_t page_through(struct store *s, struct event_filter f, size_t max)
{
    struct event_place place = {0};
    struct event_row last = {.created_at = INT64_MAX};
    struct event_list l = {0};
    size_t n = 0, i;

    while (!place.end) {
        CHECK_OK_ERR(query_events(s, &f, max, &place, &l, &err), &err);
        CHECK(l.n <= max);
        for (i = 0; i < l.n; i++) {
            const struct event_row *e = &l.at[i];

            CHECK(e->created_at < last.created_at ||
                  (e->created_at == last.created_at && e->sequence_num < last.sequence_num));
            CHECK(e->created_at >= f.since && (!f.until || e->created_at < f.until));
            CHECK(!f.types || (f.types & EVENT_BIT(e->type)));
            last = *e;
        }
        n += l.n;
        event_list_release(&l);
    }
    return n;
}

TEST(all_events_are_paged_newest_first_each_once)
{
    struct store *s = fixture_store();
    size_t total;
    int i;

    CHECK_EQ(page_through(s, (struct event_filter){0}, 10), 0);
    for (i = 0; i < 30; i++)
        submit(s, "a");
    for (i = 0; i < 10; i++)
        CHECK_EQ(settle_ok(s, claim_job(s, 1)), 0);
    total = (size_t)sql_number(s, "SELECT count(*) FROM execution_events");
    CHECK_EQ(total, 80);
    CHECK_EQ(page_through(s, (struct event_filter){0}, 1), total);
    CHECK_EQ(page_through(s, (struct event_filter){0}, 7), total);
    CHECK_EQ(page_through(s, (struct event_filter){0}, 1000), total);
    CHECK_EQ(page_through(s, (struct event_filter){.types = EVENT_BIT(EV_COMPLETED)}, 3), 10);
    CHECK_EQ(page_through(s, (struct event_filter){.types = EVENT_BIT(EV_SKIPPED)}, 3), 0);
    verify_clean(s);
    store_close(&s);
}

TEST(a_window_of_time_is_found_among_years_of_others)
{
    struct store *s = fixture_store();
    int64_t year = 365 * 86400 * SECOND, at[6];
    struct held_job j;
    int i;

    for (i = 0; i < 6; i++) {
        at[i] = get(s, submit_with(s, (struct submission){.name = "a", .max_attempts = 2}))
                    .requested_at;
        j = claim_job(s, 1);
        if (i % 2)
            CHECK_EQ(settle_as(s, j, OUTCOME_FAILED, -1), 0);
        else
            CHECK_EQ(settle_ok(s, j), 0);
        clock_advance(i % 2 ? year : 3600 * SECOND);
    }
    CHECK_EQ(page_through(s, (struct event_filter){.since = at[4]}, 100), 8);
    CHECK_EQ(page_through(s, (struct event_filter){.until = at[1]}, 3), 4);
    CHECK_EQ(page_through(s, (struct event_filter){.since = at[2], .until = at[3]}, 3), 4);
    CHECK_EQ(page_through(s, (struct event_filter){.since = at[2], .until = at[2]}, 3), 0);
    CHECK_EQ(page_through(
                 s, (struct event_filter){.since = at[1] + year / 4, .until = at[2] - year / 4}, 3),
             0);
    CHECK_EQ(page_through(s, (struct event_filter){.types = EVENT_BIT(EV_FAILED)}, 1), 3);
    CHECK_EQ(
        page_through(s, (struct event_filter){.until = at[5], .types = EVENT_BIT(EV_FAILED)}, 1),
        2);
    CHECK_EQ(
        page_through(s,
                     (struct event_filter){.since = at[2],
                                           .types = EVENT_BIT(EV_FAILED) | EVENT_BIT(EV_COMPLETED)},
                     2),
        4);
    verify_clean(s);
    store_close(&s);
}

static int submit_many_body(struct turn *t, void *arg, struct err *e)
{
    return op_submit(t, arg, 4000, e);
}

TEST(a_crowd_of_events_in_one_moment_is_paged_too)
{
    struct store *s = fixture_store();
    struct submission *list = calloc(4000, sizeof(*list));
    int i, turn;

    for (turn = 0; turn < 4; turn++) {
        for (i = 0; i < 4000; i++)
            list[i] = (struct submission){.kind = KIND_EXEC, .name = "a", .task_index = -1};
        CHECK_OK_ERR(store_turn(s, submit_many_body, list, &err), &err);
        if (turn % 2)
            clock_advance(10 * SECOND);
    }
    CHECK_EQ(page_through(s, (struct event_filter){0}, 900), 32000);
    CHECK_EQ(page_through(s, (struct event_filter){.types = EVENT_BIT(EV_MARKED_READY)}, 15000),
             16000);
    free(list);
    verify_clean(s);
    store_close(&s);
}

/* ---- following ---- */

/* What comes until the database has nothing more; checks the order. */
static size_t follow_all(struct store *s, struct follower *f, size_t max)
{
    struct event_list l = {0};
    size_t n = 0, i, got;
    int64_t last = f->seen;

    do {
        CHECK_OK_ERR(query_follow(s, f, max, &l, &err), &err);
        got = l.n;
        for (i = 0; i < l.n; i++) {
            CHECK(l.at[i].sequence_num > last);
            last = l.at[i].sequence_num;
        }
        CHECK(f->seen >= last);
        n += l.n;
        event_list_release(&l);
    } while (got);
    return n;
}

TEST(a_follower_sees_what_happens_from_now_on)
{
    struct store *s = fixture_store(), *reader = fixture_store();
    struct follower f = {0}, from_start = {.begun = true};

    submit(s, "before");
    CHECK_EQ(follow_all(reader, &f, 10), 0);
    submit(s, "a");
    submit(s, "b");
    CHECK_EQ(follow_all(reader, &f, 3), 4);
    CHECK_EQ(follow_all(reader, &f, 3), 0);
    CHECK_EQ(settle_ok(s, claim_job(s, 1)), 0);
    CHECK_EQ(follow_all(reader, &f, 3), 2);
    CHECK_EQ(follow_all(reader, &from_start, 3), 8);
    follower_release(&f);
    follower_release(&from_start);
    verify_clean(s);
    store_close(&s);
    store_close(&reader);
}

TEST(a_follower_of_a_tree_sees_nothing_else)
{
    struct store *s = fixture_store();
    int64_t top = submit(s, "top"), child = submit_child(s, top, "child");
    struct follower f = {.execution = child, .begun = true};

    submit(s, "another");
    CHECK_EQ(follow_all(s, &f, 100), 2);
    submit_child(s, child, "grandchild");
    submit_child(s, top, "sibling");
    CHECK_EQ(follow_all(s, &f, 100), 2);
    follower_release(&f);
    verify_clean(s);
    store_close(&s);
}

/* A turn that has written its events and is not allowed to end yet. */
struct slow_turn {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool written, may_end, other_done;
};

static void set(struct slow_turn *t, bool *flag)
{
    pthread_mutex_lock(&t->lock);
    *flag = true;
    pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&t->lock);
}

static void wait_for(struct slow_turn *t, const bool *flag, int seconds)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += seconds;
    pthread_mutex_lock(&t->lock);
    while (!*flag && !pthread_cond_timedwait(&t->changed, &t->lock, &until))
        ;
    pthread_mutex_unlock(&t->lock);
}

static int slow_body(struct turn *t, void *arg, struct err *e)
{
    struct slow_turn *slow = arg;
    struct submission sub = {.kind = KIND_EXEC, .name = "slow", .task_index = -1};
    int rc;

    if ((rc = op_submit(t, &sub, 1, e)) || (rc = door_flush(t, e)) || (rc = turn_sync(t, e)))
        return rc;
    set(slow, &slow->written);
    wait_for(slow, &slow->may_end, 50);
    return 0;
}

static void *run_slow(void *arg)
{
    struct store *s = fixture_store();
    struct err e = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, slow_body, arg, &e), &e);
    store_close(&s);
    return NULL;
}

static void *run_other(void *arg)
{
    struct slow_turn *slow = arg;
    struct store *s = fixture_store();

    submit(s, "quick");
    submit(s, "quick");
    set(slow, &slow->other_done);
    store_close(&s);
    return NULL;
}

TEST(a_follower_does_not_pass_a_turn_that_commits_late)
{
    struct slow_turn slow = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, 0};
    struct store *s = fixture_store();
    struct follower f = {0};
    pthread_t a, b;

    CHECK_EQ(follow_all(s, &f, 100), 0);
    CHECK_EQ(pthread_create(&a, NULL, run_slow, &slow), 0);
    wait_for(&slow, &slow.written, 50);
    CHECK_EQ(pthread_create(&b, NULL, run_other, &slow), 0);
    /* Whether another may commit meanwhile is the database's business; if so, it has by then. */
    wait_for(&slow, &slow.other_done, 1);
    CHECK_EQ(follow_all(s, &f, 100), 0);
    CHECK_EQ(follow_all(s, &f, 100), 0);
    set(&slow, &slow.may_end);
    CHECK_EQ(pthread_join(a, NULL), 0);
    CHECK_EQ(pthread_join(b, NULL), 0);
    /* a first look may only learn that the writers it waited for have ended */
    CHECK_EQ(follow_all(s, &f, 100) + follow_all(s, &f, 100), 6);
    follower_release(&f);
    verify_clean(s);
    store_close(&s);
}

/* ---- queues and workers ---- */

TEST(queues_tell_how_much_waits_and_for_how_long)
{
    struct store *s = fixture_store();
    int64_t first = submit(s, "a");
    struct queue_list l = {0};

    submit(s, "b");
    submit_with(s, (struct submission){.name = "c", .delay = SECOND});
    submit_with(s, (struct submission){.name = "d", .queue = "mail"});
    submit_with(s, (struct submission){.name = "e", .queue = "here:5"});
    set_limit(s, "queue:mail", 3);
    set_limit(s, "queue:unused", 1);
    clock_advance(10 * SECOND);
    CHECK_OK_ERR(query_queues(s, &l, &err), &err);
    CHECK_EQ(l.n, 4);
    CHECK_STR(l.at[0].name, "default");
    CHECK_EQ(l.at[0].ready, 2);
    CHECK_EQ(l.at[0].held, 1);
    CHECK_EQ(l.at[0].running, 0);
    CHECK_EQ(l.at[0].oldest_ready_at, get(s, first).requested_at);
    CHECK_EQ(l.at[0].limit_max, -1);
    CHECK(l.now >= l.at[0].oldest_ready_at + 10 * SECOND);
    CHECK_STR(l.at[1].name, "here:5");
    CHECK_STR(l.at[2].name, "mail");
    CHECK_EQ(l.at[2].limit_max, 3);
    CHECK_EQ(l.at[2].limit_used, 1);
    CHECK_STR(l.at[3].name, "unused");
    queue_list_release(&l);

    CHECK_EQ(claim_job(s, 1).id, first);
    CHECK_OK_ERR(query_queues(s, &l, &err), &err);
    CHECK_EQ(l.at[0].ready, 1);
    CHECK_EQ(l.at[0].running, 1);
    queue_list_release(&l);
    verify_clean(s);
    store_close(&s);
}

static int hello_body(struct turn *t, void *arg, struct err *e)
{
    return op_worker_hello(t, arg, e);
}

TEST(workers_tell_what_they_hold)
{
    struct store *s = fixture_store();
    struct worker one = {.id = 1, .host = "h", .folder = "f", .version = "0", .pid = 10, .room = 4};
    struct worker two = {.id = 2, .host = "h", .folder = "f", .version = "0", .pid = 11, .room = 4};
    struct worker_list w = {0};
    struct execution_list l = {0};
    struct held_job j[3];
    int i;

    CHECK_OK_ERR(store_turn(s, hello_body, &one, &err), &err);
    CHECK_OK_ERR(store_turn(s, hello_body, &two, &err), &err);
    for (i = 0; i < 4; i++)
        submit(s, "a");
    CHECK_EQ(claim_many(s, 2, 3, j), 3);
    CHECK_OK_ERR(query_workers(s, &w, &err), &err);
    CHECK_EQ(w.n, 2);
    CHECK_EQ(w.at[0].worker.id, 1);
    CHECK_EQ(w.at[0].leases, 0);
    CHECK_EQ(w.at[1].worker.id, 2);
    CHECK_EQ(w.at[1].worker.pid, 11);
    CHECK_EQ(w.at[1].leases, 3);
    CHECK(w.now >= w.at[1].worker.seen_at);
    worker_list_release(&w);

    CHECK_OK_ERR(query_leases(s, 2, 0, 2, &l, &err), &err);
    CHECK_EQ(l.n, 2);
    CHECK_EQ(l.at[0].id, j[0].id);
    execution_list_release(&l);
    CHECK_OK_ERR(query_leases(s, 0, j[1].id, 2, &l, &err), &err);
    CHECK_EQ(l.n, 1);
    CHECK_EQ(l.at[0].worker, 2);
    execution_list_release(&l);
    CHECK_OK_ERR(query_leases(s, 1, 0, 2, &l, &err), &err);
    CHECK_EQ(l.n, 0);
    execution_list_release(&l);
    verify_clean(s);
    store_close(&s);
}
