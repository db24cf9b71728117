/* test_list_filters.c - the filters of pawl_list by worker, host, requester, param and time. */
#include "control_fixture.h"
#include "cost.h"

static struct pawl *p;
static struct store *s;

static void open_both(void)
{
    s = fixture_store();
    p = open_pawl();
}

static int add_name(void *arg, const char *json)
{
    json_t *o = json_loads(json, JSON_ALLOW_NUL, NULL);
    char *text = arg;
    size_t used = strlen(text);

    snprintf(text + used, 1000 - used, "%s%s", used ? " " : "", text_in(o, "name"));
    json_decref(o);
    return 0;
}

/* The names of the listed executions, newest first, of all pages. */
static const char *listed(struct pawl_list_query q)
{
    static char text[1000];

    text[0] = '\0';
    do
        OK(pawl_list(p, &q, add_name, text, &q.before, &api_err));
    while (q.before);
    return text;
}

#define LISTED(...) listed((struct pawl_list_query){__VA_ARGS__})

static void refuses(struct pawl_list_query q, const char *sentence)
{
    char text[1000] = "";

    FAILS(pawl_list(p, &q, add_name, text, NULL, &api_err), PAWL_E_INVALID);
    CHECK_STR(api_err.message, sentence);
}

/* ---- worker and host ---- */

TEST(list_by_worker_or_host_has_the_executions_whose_last_attempt_ran_there)
{
    struct held_job j;

    open_both();
    register_worker_on(s, 0x1a, "red");
    register_worker_on(s, 0x2b, "blue");
    submit(s, "ended");
    CHECK_EQ(settle_ok(s, claim_job(s, 0x1a)), 0);
    submit_with(s, (struct submission){.name = "again", .max_attempts = 2});
    j = claim_job(s, 0x1a);
    CHECK_EQ(settle_as(s, j, OUTCOME_FAILED, 0), 0);
    claim_job(s, 0x2b);
    submit(s, "waits");
    CHECK_STR(LISTED(.worker = "000000000000001a"), "ended");
    CHECK_STR(LISTED(.worker = "000000000000002b"), "again");
    CHECK_STR(LISTED(.worker = "000000000000002b", .status = "succeeded"), "");
    CHECK_STR(LISTED(.host = "red"), "ended");
    CHECK_STR(LISTED(.host = "blue"), "again");
    CHECK_STR(LISTED(.host = "r*"), "");
    refuses((struct pawl_list_query){.worker = "1a"},
            "'1a' is not a worker: write its 16 hexadecimal digits, as `pawl workers` shows them");
    refuses((struct pawl_list_query){.host = "\xff"}, "the host is not valid UTF-8");
    close_both(p, s);
}

/* ---- requester ---- */

TEST(list_by_requester_matches_users_and_schedules)
{
    open_both();
    submit_with(s, (struct submission){.name = "a", .by = "ada@red"});
    submit_with(s, (struct submission){.name = "b", .by = "bob@red"});
    submit_with(s, (struct submission){.name = "c", .origin = "{\"schedule\":\"nightly/1\"}"});
    submit_with(s, (struct submission){.name = "d", .by = "a[1]%_\\"});
    submit(s, "nobody");
    CHECK_STR(LISTED(.by = "ada@red"), "a");
    CHECK_STR(LISTED(.by = "ada"), "");
    CHECK_STR(LISTED(.by = "*@red"), "b a");
    CHECK_STR(LISTED(.by = "?da@*"), "a");
    CHECK_STR(LISTED(.by = "schedule *"), "c");
    CHECK_STR(LISTED(.by = "a[1]%_\\"), "d");
    CHECK_STR(LISTED(.by = "*"), "d c b a");
    CHECK_STR(LISTED(.by = "*", .name = "?", .limit = 2), "d c b a");
    close_both(p, s);
}

/* ---- params ---- */

static void submit_input(const char *name, const char *input)
{
    submit_with(s, (struct submission){.name = name, .input = input});
}

TEST(list_by_param_compares_values_as_text_and_as_json)
{
    open_both();
    submit_input("text", "{\"day\":\"2026-01-31\",\"n\":\"5\"}");
    submit_input("number", "{\"n\": 5, \"deep\": {\"list\": [1, true, null]}}");
    submit_input("real", "{\"n\":5.0,\"yes\":true,\"none\":null}");
    submit_input("escaped", "{\"\\u006e\":\"\\u0035\",\"nul\":\"a\\u0000b\"}");
    submit_input("list", "[\"n\", 5]");
    submit_input("other", "{\"n\":50,\"m\":5}");
    submit(s, "without");
    CHECK_STR(LISTED(.params = PAWL_LIST("n=5")), "escaped real number text");
    CHECK_STR(LISTED(.params = PAWL_LIST("n=5.0")), "real number");
    CHECK_STR(LISTED(.params = PAWL_LIST("n=\"5\"")), "escaped text");
    CHECK_STR(LISTED(.params = PAWL_LIST("day=2026-01-31")), "text");
    CHECK_STR(LISTED(.params = PAWL_LIST("n=5", "day=2026-01-31")), "text");
    CHECK_STR(LISTED(.params = PAWL_LIST("n=5", "day=2026-02-01")), "");
    CHECK_STR(LISTED(.params = PAWL_LIST("deep={\"list\":[1,true,null]}")), "number");
    CHECK_STR(LISTED(.params = PAWL_LIST("yes=true", "none=null")), "real");
    CHECK_STR(LISTED(.params = PAWL_LIST("none=")), "");
    CHECK_STR(LISTED(.params = PAWL_LIST("nul=a")), "");
    refuses((struct pawl_list_query){.params = PAWL_LIST("n")},
            "'n' is not a param: write NAME=VALUE");
    refuses((struct pawl_list_query){.params = PAWL_LIST("=5")},
            "'=5' is not a param: write NAME=VALUE");
    close_both(p, s);
}

/* More executions than are read at once together with their inputs. */
TEST(list_by_param_finds_every_match_in_pages_of_any_size)
{
    enum { MANY = 450 };
    struct pawl_list_query q = {.params = PAWL_LIST("n=1"), .limit = 7};
    struct pawl_job *jobs = calloc(MANY, sizeof(*jobs));
    char text[1000];
    int i, pages = 0, matches = 0;

    open_both();
    for (i = 0; i < MANY; i++)
        jobs[i] = (struct pawl_job){
            .name = "j", .lane = "function:j", .input = i % 9 ? "{\"n\":2}" : "{\"n\":1}"};
    OK(pawl_submit(p, jobs, MANY, &api_err));
    free(jobs);
    do {
        text[0] = '\0';
        OK(pawl_list(p, &q, add_name, text, &q.before, &api_err));
        matches += (int)(strlen(text) + 1) / 2;
        pages++;
    } while (q.before);
    CHECK_EQ(matches, MANY / 9);
    CHECK_EQ(pages, 8); /* seven full ones, and the last */
    close_both(p, s);
}

/* ---- time ---- */

TEST(list_of_a_period_has_the_executions_requested_in_it)
{
    int64_t at[5];
    char name[2] = "a";
    int i;

    open_both();
    CHECK_STR(LISTED(.since = 1, .until = 2), "");
    for (i = 0; i < 5; i++, name[0]++) {
        at[i] = get(s, submit(s, name)).requested_at;
        clock_advance(600 * SECOND);
    }
    CHECK_STR(LISTED(.since = at[1]), "e d c b");
    CHECK_STR(LISTED(.since = at[1] + 1), "e d c");
    CHECK_STR(LISTED(.until = at[1]), "a");
    CHECK_STR(LISTED(.until = at[1] + 1), "b a");
    CHECK_STR(LISTED(.since = at[1], .until = at[3]), "c b");
    CHECK_STR(LISTED(.since = at[1], .until = at[3], .limit = 1), "c b");
    CHECK_STR(LISTED(.since = at[4] + 1), "");
    CHECK_STR(LISTED(.until = at[0]), "");
    CHECK_STR(LISTED(.since = at[3], .until = at[1]), "");
    close_both(p, s);
}

static void set_requested(int64_t id, int64_t at)
{
    bool sqlite = !strcmp(test_db(), "sqlite");
    char *sql = mem_printf("UPDATE executions SET requested_at = %s%lld%s WHERE id = %lld",
                           sqlite ? "" : "timestamptz '1970-01-01Z' + ", (long long)at,
                           sqlite ? "" : " * interval '1 microsecond'", (long long)id);

    sql_run(s, sql);
    free(sql);
}

/* Concurrent turns take their ids and their times in different orders. */
TEST(list_of_a_period_is_exact_if_times_within_a_minute_are_not_in_the_order_of_ids)
{
    int64_t id[6], at[6];
    char name[2] = "a";
    int i;

    open_both();
    for (i = 0; i < 6; i++, name[0]++) {
        id[i] = submit(s, name);
        at[i] = get(s, id[i]).requested_at;
        clock_advance(25 * SECOND);
    }
    for (i = 0; i < 6; i++) /* a, b, c get the times of c, b, a; so do d, e, f */
        set_requested(id[i], at[i + 2 - 2 * (i % 3)]);
    CHECK_STR(LISTED(.since = at[2], .until = at[3] + 1), "f a");
    CHECK_STR(LISTED(.since = at[1], .until = at[3]), "b a");
    CHECK_STR(LISTED(.until = at[0] + 1), "c");
    CHECK_STR(LISTED(.since = at[5]), "d");
    close_both(p, s);
}

static void insert_many(int from, int to)
{
    bool sqlite = !strcmp(test_db(), "sqlite");
    char *sql = mem_printf(
        "WITH RECURSIVE n(i) AS (SELECT %d UNION ALL SELECT i + 1 FROM n WHERE i < %d)"
        " INSERT INTO executions (id, root, requested_at, updated_at, priority, attempts,"
        " max_attempts, epoch, seq, needs_left, needs_succeeded, depth, kind, status, held, "
        "deferred,"
        " flags, cancel_requested, name, queue)"
        " SELECT 1000000 + n.i, 1000000 + n.i, e.requested_at + n.i * %s, e.updated_at, 0, 0, 1, "
        "0, 0, 0, 0, 0, 2, 4, 0, 0, 0, 0, 'other', 'default' FROM n, executions e WHERE e.id = 1",
        from, to, sqlite ? "30000000" : "interval '30 seconds'");

    sql_run(s, sql);
    free(sql);
    sql_analyze(s);
}

/* The cost of a list of one minute that begins ten minutes after the first of many executions. */
static double cost_of_minute(int64_t first)
{
    struct list_filter f = {.since = first + 600 * SECOND, .until = first + 660 * SECOND};
    struct execution_list l = {0};
    struct err err = ERR_INIT;
    int64_t before = 0;

    spy_on(s);
    for (rehearsing = true;; rehearsing = false) {
        before = 0;
        MEASURE(s, CHECK_OK_ERR(query_list(s, &f, &before, 20, &l, &err), &err));
        CHECK_EQ(l.n, 2);
        CHECK_EQ(l.at[0].id, 1000021);
        CHECK_EQ(before, 0);
        execution_list_release(&l);
        if (!rehearsing)
            return measured;
    }
}

TEST(list_of_an_old_period_reads_only_rows_near_the_period)
{
    double few, many;
    int64_t first;

    open_both();
    first = get(s, submit(s, "first")).requested_at;
    insert_many(1, 6000);
    few = cost_of_minute(first);
    insert_many(6001, 24000);
    many = cost_of_minute(first);
    printf("cost with 6,000 executions: %.0f, with 24,000: %.0f\n", few, many);
    CHECK(few > 0);
    CHECK(many < few * 1.5 + 300);
    CHECK(many < 6000);
    sql_run(s, "DELETE FROM executions WHERE name = 'other'");
    close_both(p, s);
    arena_release(&spied);
}

/* ---- counts ---- */

static json_t *counts(struct pawl_list_query q)
{
    char *json = NULL;

    OK(pawl_counts(p, &q, &json, &api_err));
    return json_parse_and_free(json);
}

static void check_counts(struct pawl_list_query q, int64_t total, int64_t succeeded, bool more)
{
    json_t *o = counts(q);

    CHECK_EQ(json_integer_value(json_object_get(o, "total")), total);
    CHECK_EQ(json_integer_value(json_object_get(o, "succeeded")), succeeded);
    CHECK_EQ(json_integer_value(json_object_get(o, "ready")), total - succeeded);
    CHECK_EQ(json_is_true(json_object_get(o, "more")), more);
    json_decref(o);
}

TEST(counts_by_status_are_exact_up_to_their_bound)
{
    open_both();
    check_counts((struct pawl_list_query){0}, 0, 0, false);
    submit(s, "first");
    insert_many(1, 21000); /* they have succeeded */
    submit(s, "first");
    check_counts((struct pawl_list_query){0}, 10000, 10000, true);
    check_counts((struct pawl_list_query){.limit = 1500}, 1500, 1500, true);
    check_counts((struct pawl_list_query){.limit = 2000, .before = 1001001}, 1002, 1000, false);
    check_counts((struct pawl_list_query){.name = "first"}, 2, 0, false);
    check_counts((struct pawl_list_query){.status = "succeeded", .before = 1001001}, 1000, 1000,
                 false);
    FAILS(pawl_counts(p, &(struct pawl_list_query){.tasks = 1}, NULL, &api_err), PAWL_E_INVALID);
    sql_run(s, "DELETE FROM executions WHERE name = 'other'");
    close_both(p, s);
}

/* ---- tasks ---- */

TEST(task_list_of_a_workflow_accepts_the_filters_of_the_list_of_executions)
{
    struct pawl_job job = {.yaml = "name: w\ntasks:\n  a: {run: x}\n  b: {run: y}\n"};
    int64_t at;

    open_both();
    register_worker_on(s, 0x1a, "red");
    OK(pawl_submit(p, &job, 1, &api_err));
    claim_job(s, 0x1a);
    at = get(s, job.id).requested_at;
    CHECK_STR(LISTED(.tasks = job.id), "w::a w::b");
    CHECK_STR(LISTED(.tasks = job.id, .worker = "000000000000001a"), "w::a");
    CHECK_STR(LISTED(.tasks = job.id, .host = "red", .since = at), "w::a");
    CHECK_STR(LISTED(.tasks = job.id, .since = at, .until = at + SECOND * 3600), "w::a w::b");
    CHECK_STR(LISTED(.tasks = job.id, .until = at), "");
    CHECK_STR(LISTED(.tasks = job.id, .by = "*"), "");
    CHECK_STR(LISTED(.tasks = job.id, .params = PAWL_LIST("n=1")), "");
    close_both(p, s);
}
