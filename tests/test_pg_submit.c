/* test_pg_submit.c - pawl_submit() as other programs see it: part of their transaction, safe to
 * repeat, usable by roles that may do nothing else. */
#include "pg_submit_fixture.h"

TEST_ONLY_DB(postgres);

/* ---- part of the caller's transaction ---- */

TEST(rolled_back_submission_is_never_taken)
{
    struct store *s = fixture_store();
    PGconn *app = session_as(NULL);
    int64_t id;

    apply(s, ONE_TASK);
    ok(app, "CREATE TABLE shop (id bigint, execution bigint)");
    ok(app, "BEGIN");
    ok(app, "INSERT INTO shop SELECT 1, pawl_submit('w')");
    CHECK_EQ(take_submissions(s), 0); /* not visible before the commit */
    ok(app, "ROLLBACK");
    CHECK_EQ(take_submissions(s), 0);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM submissions"), 0);
    ok(app, "BEGIN");
    ok(app, "INSERT INTO shop SELECT 2, pawl_submit('w', json_build_object('n', 2))");
    ok(app, "COMMIT");
    id = ok(app, "SELECT execution FROM shop WHERE id = 2");
    CHECK_EQ(take_submissions(s), 1);
    CHECK_STR(get(s, id).input, "{\"n\":2}");
    CHECK_EQ(executions(s), 1);
    pg_close(&app);
    verify_clean(s);
    store_close(&s);
}

TEST(rollback_to_a_savepoint_removes_only_later_submissions)
{
    struct store *s = fixture_store();
    PGconn *app = session_as(NULL);
    int64_t id;

    apply(s, ONE_TASK);
    ok(app, "BEGIN");
    id = ok(app, "SELECT pawl_submit('w')");
    ok(app, "SAVEPOINT a");
    ok(app, "SELECT pawl_submit('w')");
    ok(app, "ROLLBACK TO a");
    ok(app, "COMMIT");
    CHECK_EQ(take_submissions(s), 1);
    CHECK_EQ(status_of(s, id), S_RUNNING);
    CHECK_EQ(executions(s), 1);
    pg_close(&app);
    verify_clean(s);
    store_close(&s);
}

TEST(history_names_the_session_user_that_called_pawl_submit)
{
    struct store *s = fixture_store();
    PGconn *app = session_as(NULL);
    int64_t id;
    char sql[300];

    apply(s, ONE_TASK);
    id = ok(app, "SELECT pawl_submit('w')");
    take_submissions(s);
    snprintf(sql, sizeof(sql),
             "SELECT count(*) FROM execution_events WHERE execution = %lld AND seq = 1 AND "
             "data::json ->> 'by' = session_user",
             (long long)id);
    CHECK_EQ(ok(app, sql), 1);
    pg_close(&app);
    verify_clean(s);
    store_close(&s);
}

TEST(event_partition_exists_for_a_submission_whose_id_was_drawn_long_ago)
{
    struct store *s = fixture_store();
    PGconn *app = session_as(NULL);
    int64_t late, far;

    apply(s, ONE_TASK);
    ok(app, "SELECT setval('execution_id', 4500000)");
    late = ok(app, "SELECT pawl_submit('w')");
    ok(app, "SELECT setval('execution_id', 9500000)");
    submit(s, "exec::other"); /* creates partitions from its own id on */
    CHECK_EQ(take_submissions(s), 1);
    CHECK_EQ(status_of(s, late), S_RUNNING);
    ok(app, "SELECT setval('execution_id', 19500000)");
    far = ok(app, "SELECT pawl_submit('w')");
    CHECK_EQ(take_submissions(s), 1);
    CHECK_EQ(status_of(s, far), S_RUNNING);
    pg_close(&app);
    verify_clean(s);
    store_close(&s);
}

/* ---- keys ---- */

TEST(repeated_idempotency_key_returns_the_same_id_before_and_after_an_engine_takes_the_submission)
{
    struct store *s = fixture_store();
    PGconn *app = session_as(NULL);
    int64_t id;

    apply(s, ONE_TASK);
    id = ok(app, "SELECT pawl_submit('w', '{\"day\":\"x\",\"n\":1}', key => 'k')");
    CHECK_EQ(ok(app, "SELECT pawl_submit('w', '{\"n\": 1, \"day\": \"x\"}', key => 'k')"), id);
    take_submissions(s);
    CHECK_EQ(ok(app, "SELECT pawl_submit('w', '{\"day\":\"x\",\"n\":1}', 'k')"), id);
    apply(s, "name: w\nparams: {day: {type: string}, n: {type: number}}\ntasks: {b: {run: x}}\n");
    CHECK_EQ(ok(app, "SELECT pawl_submit('w', '{\"day\":\"x\",\"n\":1}', 'k')"), id);
    run(app, "SELECT pawl_submit('w', '{\"day\": \"y\"}', key => 'k')");
    CHECK_STR(state, "23505");
    CHECK(strstr(message, "the key 'k' was used for execution"));
    run(app, "SELECT pawl_submit('w', '{\"day\":\"x\",\"n\":1}', 'k', priority => 1)");
    CHECK_STR(state, "23505");
    CHECK_EQ(take_submissions(s), 0);
    CHECK_EQ(executions(s), 1);
    pg_close(&app);
    verify_clean(s);
    store_close(&s);
}

#define CALLERS 4

static int64_t *ids;

static void call_with_key(int nth)
{
    PGconn *app = session_as(NULL);
    char sql[100];
    int i;

    for (i = 0; i < 20; i++) {
        snprintf(sql, sizeof(sql), "SELECT pawl_submit('w', key => 'k%d')", i);
        ids[nth * 20 + i] = ok(app, sql);
    }
    pg_close(&app);
}

TEST(concurrent_callers_with_one_idempotency_key_get_the_same_id)
{
    struct store *s;
    int i;

    pg_server(); /* skips here if there is no server: child processes can't skip */
    s = fixture_store();
    apply(s, ONE_TASK);
    store_close(&s);
    ids = shared_memory(CALLERS * 20 * sizeof(*ids));
    run_processes(CALLERS, call_with_key);
    for (i = 0; i < CALLERS * 20; i++)
        CHECK_EQ(ids[i], ids[i % 20]);
    s = fixture_store();
    take_submissions(s);
    CHECK_EQ(executions(s), 20);
    verify_clean(s);
    store_close(&s);
}

/* ---- roles ---- */

static void create_role(PGconn *admin, const char *role)
{
    char sql[1000];

    snprintf(sql, sizeof(sql),
             "DROP ROLE IF EXISTS %s; CREATE ROLE %s; GRANT USAGE ON SCHEMA pawl_%s TO %s", role,
             role, fixture_tenant(), role);
    ok(admin, sql);
}

static void drop_role(PGconn *admin, const char *role)
{
    char sql[200];

    snprintf(sql, sizeof(sql), "DROP OWNED BY %s; DROP ROLE %s", role, role);
    ok(admin, sql);
}

static const char *test_role(void)
{
    static char role[40];

    snprintf(role, sizeof(role), "app_%d", (int)getpid());
    return role;
}

TEST(granted_role_may_submit_and_read_the_views_and_nothing_else)
{
    static const char *const no[] = {
        "SELECT * FROM executions",
        "SELECT * FROM submissions",
        "INSERT INTO submissions SELECT * FROM submissions",
        "UPDATE executions SET status = 4",
        "SELECT nextval('execution_id')",
        "DELETE FROM pawl_submissions",
    };
    struct store *s = fixture_store();
    PGconn *admin = session_as(NULL), *app;
    char sql[300];
    int64_t id;
    size_t i;

    apply(s, ONE_TASK);
    create_role(admin, test_role());
    app = session_as(test_role());
    run(app, "SELECT pawl_submit('w')");
    CHECK_STR(state, "42501");
    snprintf(sql, sizeof(sql),
             "GRANT EXECUTE ON FUNCTION pawl_submit TO %s; GRANT SELECT ON pawl_executions, "
             "pawl_submissions TO %s",
             test_role(), test_role());
    ok(admin, sql);
    id = ok(app, "SELECT pawl_submit('w')");
    take_submissions(s);
    CHECK_EQ(ok(app, "SELECT count(*) FROM pawl_executions WHERE kind = 'workflow'"), 1);
    CHECK_EQ(ok(app, "SELECT execution FROM pawl_submissions WHERE status = 'taken'"), id);
    for (i = 0; i < sizeof(no) / sizeof(*no); i++) {
        run(app, no[i]);
        CHECK_STR(state, "42501");
    }
    pg_close(&app);
    drop_role(admin, test_role());
    pg_close(&admin);
    verify_clean(s);
    store_close(&s);
}

/* A caller can't make the function use tables or functions of the caller. */
TEST(temporary_objects_of_the_caller_do_not_shadow_those_of_pawl)
{
    struct store *s = fixture_store();
    PGconn *app = session_as(NULL);

    apply(s, ONE_TASK);
    ok(app, "CREATE TEMP TABLE submissions AS SELECT * FROM submissions");
    ok(app, "CREATE TEMP TABLE workflow_names AS SELECT * FROM workflow_names WHERE false");
    ok(app, "CREATE FUNCTION pg_temp.check_params(text, json, json) RETURNS void LANGUAGE sql AS "
            "'SELECT 1/0'");
    CHECK(ok(app, "SELECT pawl_submit('w')") > 0);
    ok(app, "SET search_path = pg_temp");
    CHECK_EQ(ok(app, "SELECT count(*) FROM submissions"), 0);
    CHECK_EQ(take_submissions(s), 1);
    pg_close(&app);
    verify_clean(s);
    store_close(&s);
}

/* ---- waking ---- */

static int count_notifications(PGconn *conn, bool empty)
{
    PGnotify *n;
    int count = 0;

    ok(conn, "SELECT 1"); /* its reply comes after all earlier notifications */
    while ((n = pq.notifies(conn))) {
        count += !*n->extra == empty;
        pq.freemem(n);
    }
    return count;
}

TEST(commit_of_submissions_notifies_at_most_once_and_without_a_payload)
{
    struct store *s = fixture_store();
    PGconn *app = session_as(NULL), *listener = session_as(NULL);
    char sql[100];

    apply(s, ONE_TASK);
    snprintf(sql, sizeof(sql), "LISTEN pawl_%s", fixture_tenant());
    ok(listener, sql);
    count_notifications(listener, true);
    ok(app, "BEGIN");
    ok(app, "SELECT pawl_submit('w')");
    ok(app, "SELECT pawl_submit('w'), pawl_submit('w')");
    CHECK_EQ(count_notifications(listener, true), 0);
    ok(app, "COMMIT");
    CHECK_EQ(count_notifications(listener, true), 1);
    ok(app, "SELECT pawl_submit('w', notify => false)");
    CHECK_EQ(count_notifications(listener, true), 0);
    CHECK_EQ(take_submissions(s), 4);
    pg_close(&app);
    pg_close(&listener);
    verify_clean(s);
    store_close(&s);
}

/* ---- the engine's own session is lost ---- */

static struct {
    PGconn *admin;
    int pid;
} victim;

static void end_session(void *arg)
{
    char sql[100];

    (void)arg;
    snprintf(sql, sizeof(sql), "SELECT pg_terminate_backend(%d, 10000)", victim.pid);
    ok(victim.admin, sql);
}

TEST_SLOW(each_submission_is_taken_once_even_if_the_engine_loses_its_session_at_any_statement, 600)
{
    static struct watch w;
    struct store *s = fixture_store(), *engine = watched_store(&w);
    int nth = 0, rounds = 0;
    bool lost;

    victim.admin = session_as(NULL);
    apply(s, ONE_TASK);
    do {
        sql_submit(s, (struct sql_call){0});
        rounds++;
        victim.pid = (int)sql_number(engine, "SELECT pg_backend_pid()");
        watch_for(&w, NULL, ++nth, end_session, NULL);
        take_submissions(engine);
        lost = w.acted;
        watch_for(&w, NULL, 0, NULL, NULL);
        take_submissions(engine);
        CHECK_EQ(executions(s), rounds);
    } while (lost);
    printf("%d sessions were lost\n", nth - 1);
    CHECK(nth > 5);
    verify_clean(s);
    pg_close(&victim.admin);
    store_close(&engine);
    store_close(&s);
}
