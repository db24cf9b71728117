/* test_query_list.c - the contract of query.h: lists of executions, queues and workers. */
#include "fixture.h"

#include "store/query/query.h"

#include <stdio.h>

static struct err err;

/* ---- executions ---- */

TEST(root_executions_are_listed_newest_first_in_pages)
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

/* The names of the listed executions, newest first. */
static const char *listed_names(struct store *s, struct list_filter f)
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

TEST(filtered_list_has_exactly_the_executions_that_match)
{
    struct store *s = fixture_store();
    int64_t top = submit(s, "a_b"), other = submit(s, "aXb");

    submit_child(s, top, "a::[1]");
    submit_child(s, top, "a::1");
    submit_child(s, other, "100%\\");
    submit_with(s, (struct submission){.name = "mail", .queue = "mail"});
    CHECK_EQ(claim_job(s, 1).id, top);
    CHECK_STR(listed_names(s, (struct list_filter){0}), "mail aXb a_b");
    CHECK_STR(listed_names(s, (struct list_filter){.parent = top}), "a::1 a::[1]");
    CHECK_STR(listed_names(s, (struct list_filter){.all = true}),
              "mail 100%\\ a::1 a::[1] aXb a_b");
    CHECK_STR(listed_names(s, (struct list_filter){.all = true, .name = "a*"}),
              "a::1 a::[1] aXb a_b");
    CHECK_STR(listed_names(s, (struct list_filter){.all = true, .name = "A*"}), "");
    CHECK_STR(listed_names(s, (struct list_filter){.name = "a_b"}), "a_b");
    CHECK_STR(listed_names(s, (struct list_filter){.name = "a?b"}), "aXb a_b");
    CHECK_STR(listed_names(s, (struct list_filter){.all = true, .name = "a::[1]"}), "a::[1]");
    CHECK_STR(listed_names(s, (struct list_filter){.all = true, .name = "*%\\"}), "100%\\");
    CHECK_STR(listed_names(s, (struct list_filter){.queue = "mail"}), "mail");
    CHECK_STR(listed_names(s, (struct list_filter){.kind = KIND_WORKFLOW, .all = true}), "");
    CHECK_STR(listed_names(s, (struct list_filter){.kind = KIND_EXEC, .statuses = 1 << S_RUNNING}),
              "a_b");
    CHECK_STR(listed_names(s, (struct list_filter){.all = true,
                                                   .name = "a?b",
                                                   .statuses = 1 << S_RUNNING | 1 << S_READY}),
              "aXb a_b");
    verify_clean(s);
    store_close(&s);
}

/* A hundred thousand newer executions, inserted and deleted by SQL, come before the wanted one. */
TEST(filtered_list_reads_a_bounded_number_of_rows_and_returns_where_to_continue)
{
    struct store *s = fixture_store();
    struct list_filter f = {.name = "wanted"};
    int64_t wanted = submit(s, "wanted"), before = 0;
    struct execution_list l = {0};

    sql_run(
        s,
        "WITH RECURSIVE n(i) AS (SELECT 1000001 UNION ALL SELECT i + 1 FROM n WHERE i < 1100000)"
        " INSERT INTO executions (id, root, requested_at, updated_at, priority, attempts,"
        " max_attempts, epoch, seq, needs_left, needs_succeeded, depth, kind, status, held, deferred,"
        " flags, cancel_requested, name, queue)"
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

/* ---- queues and workers ---- */

TEST(queues_show_how_many_jobs_wait_and_since_when)
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

static int register_body(struct turn *t, void *arg, struct err *e)
{
    return op_worker_register(t, arg, e);
}

TEST(workers_show_their_leases)
{
    struct store *s = fixture_store();
    struct worker one = {
        .id = 1, .host = "h", .folder = "f", .version = "0", .pid = 10, .capacity = 4};
    struct worker two = {
        .id = 2, .host = "h", .folder = "f", .version = "0", .pid = 11, .capacity = 4};
    struct worker_list w = {0};
    struct execution_list l = {0};
    struct held_job j[3];
    int i;

    CHECK_OK_ERR(store_turn(s, register_body, &one, &err), &err);
    CHECK_OK_ERR(store_turn(s, register_body, &two, &err), &err);
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
