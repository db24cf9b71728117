/* test_durations.c - how long an execution ran, after reruns in place: its attempts and the waits
 * between them count, the time between an end and the start of the next run does not. */
#include "api_fixture.h"
#include "rerun_fixture.h"
#include "workflow_fixture.h"

#include <string.h>

/* The tests advance the clock by whole units. Their own work takes far less time, so a figure
 * rounded to units is exact. */
#define UNIT (1000 * SECOND)

static int64_t units(const json_t *o)
{
    json_t *us = json_object_get(o, "duration_us");

    return json_is_integer(us) ? (json_integer_value(us) + UNIT / 2) / UNIT : -1;
}

/* Claims the only task that is ready and settles it after n units. */
static void run_one(struct store *s, const char *name, int n, enum outcome_kind kind)
{
    static struct task_claim k;

    CHECK_EQ(claim_tasks(s, &k), 1);
    CHECK_STR(k.names[0], name);
    clock_advance(n * UNIT);
    settle_task(s, k.held[0], kind, NULL);
}

static int64_t submit_two_tasks(struct store *s)
{
    return submit_workflow(s, "name: w\ntasks:\n  a: {run: x}\n  b: {run: x, needs: a}\n", NULL);
}

static int64_t shown(struct pawl *p, int64_t id)
{
    char *text = NULL;
    json_t *o;
    int64_t n;

    OK(pawl_show(p, id, &text, &api_err));
    o = json_parse_and_free(text);
    n = units(o);
    json_decref(o);
    return n;
}

/* The durations of some executions, as "4 3", by name. */
struct durations {
    char text[200];
};

static int add_duration(void *arg, const char *line)
{
    struct durations *d = arg;
    json_t *o = json_parse_and_free(strdup(line));
    size_t used = strlen(d->text);

    snprintf(d->text + used, sizeof(d->text) - used, "%s%s %lld", used ? ", " : "",
             text_in(o, "name"), (long long)units(o));
    json_decref(o);
    return 0;
}

/* a runs for 3 units, b fails after 2; 3,600 units later, b runs again: it waits 1 unit in its
 * queue and runs for 5. Returns the workflow. */
static int64_t run_with_a_pause(struct store *s)
{
    int64_t w = submit_two_tasks(s);

    run_one(s, "a", 3, OUTCOME_OK);
    run_one(s, "b", 2, OUTCOME_FAILED);
    clock_advance(3600 * UNIT);
    CHECK_STR(rerun(s, w, RERUN_ONLY_FAILED, NULL), "w b");
    clock_advance(UNIT);
    run_one(s, "b", 5, OUTCOME_OK);
    return w;
}

TEST(duration_after_a_rerun_counts_all_attempts_and_not_the_idle_time)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    int64_t w = run_with_a_pause(s), b = task_of(s, w, "b");
    struct durations lines = {0}, listed = {0};
    struct pawl_list_query all = {.all = true, .limit = 10};
    int64_t before, now;

    CHECK_EQ(shown(p, w), 3 + 2 + 1 + 5);
    CHECK_EQ(shown(p, b), 2 + 5);
    OK(pawl_outline(p, w, add_duration, &lines, &now, &api_err));
    CHECK_STR(lines.text, "w 11, w::a 3, w::b 7");
    OK(pawl_list(p, &all, add_duration, &listed, &before, &api_err));
    CHECK_STR(listed.text, "w::b 7, w::a 3, w 11");
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM execution_events WHERE type = 14 + 32 "
                           "AND data LIKE '%\"duration_us\":11000%'"),
             1);
    pawl_close(p);
    verify_clean(s);
    store_close(&s);
}

TEST(diff_of_a_rerun_and_a_clean_run_does_not_report_the_idle_time)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    int64_t a = run_with_a_pause(s), b = submit_two_tasks(s);
    char *text = NULL;
    json_t *o, *outcome;

    run_one(s, "a", 3, OUTCOME_OK);
    run_one(s, "b", 7, OUTCOME_OK);
    OK(pawl_diff(p, a, b, &text, NULL, &api_err));
    o = json_parse_and_free(text);
    outcome = json_object_get(o, "outcome");
    CHECK_EQ(units(json_object_get(outcome, "a")), 11);
    CHECK_EQ(units(json_object_get(outcome, "b")), 10);
    CHECK_EQ(json_array_size(json_object_get(outcome, "differs")), 0);
    json_decref(o);
    pawl_close(p);
    verify_clean(s);
    store_close(&s);
}

TEST(duration_of_a_rerun_that_waits_for_its_needs_does_not_grow)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    int64_t w = submit_two_tasks(s), b = task_of(s, w, "b");
    struct pawl_moment past;
    char *text = NULL;
    json_t *o;

    run_one(s, "a", 3, OUTCOME_OK);
    run_one(s, "b", 2, OUTCOME_FAILED);
    clock_advance(100 * UNIT);
    CHECK_STR(rerun(s, w, RERUN_WHOLE, NULL), "w");
    CHECK_EQ(shown(p, w), -1); /* the workflow runs again */
    CHECK_EQ(shown(p, b), 2);
    past = (struct pawl_moment){
        .event = sql_number(s, "SELECT max(sequence_num) FROM execution_events")};
    run_one(s, "a", 40, OUTCOME_FAILED); /* b is skipped because of it */
    CHECK_EQ(shown(p, w), 5 + 40);
    CHECK_EQ(shown(p, b), 2);
    clock_advance(100 * UNIT);
    CHECK_STR(rerun(s, w, RERUN_ONLY_FAILED, NULL), "w a b");
    run_one(s, "a", 1, OUTCOME_OK);
    run_one(s, "b", 1, OUTCOME_OK);
    CHECK_EQ(shown(p, w), 5 + 40 + 2);
    CHECK_EQ(shown(p, b), 2 + 1);
    OK(pawl_show_at(p, b, &past, &text, &api_err));
    o = json_parse_and_free(text);
    CHECK_EQ(units(o), 2);
    json_decref(o);
    pawl_close(p);
    verify_clean(s);
    store_close(&s);
}

static const char *migration_named(const char *name, enum dialect d)
{
    for (int i = 0; i < migration_count; i++)
        if (!strcmp(migrations[i].name, name))
            return migrations[i].sql[d];
    test_fail(__FILE__, __LINE__, "there is no migration %s", name);
    return NULL;
}

/* The reruns of older versions: the migration computes what the events say. */
TEST(durations_of_reruns_from_before_the_upgrade_do_not_count_the_idle_time)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    int64_t w = run_with_a_pause(s), b = task_of(s, w, "b"), running = run_with_a_pause(s);
    enum dialect d = strcmp(test_db(), "sqlite") ? DIALECT_POSTGRES : DIALECT_SQLITE;
    const char *from = strstr(migration_named("idle_and_jobs", d), "WITH runs");
    char *sql = strndup(from, (size_t)(strchr(from, ';') - from)); /* one statement of it */

    CHECK_STR(rerun(s, running, RERUN_WHOLE, NULL), "w");
    clock_advance(UNIT);
    CHECK_STR(rerun(s, w, RERUN_FROM_TASK, "b"), "w b");
    sql_run(s, "UPDATE executions SET idle = NULL");
    sql_run(s, sql);
    free(sql);
    CHECK_EQ(shown(p, b), 7);
    CHECK_EQ(shown(p, task_of(s, running, "b")), 7);
    run_workflows(s, "");
    CHECK_EQ(shown(p, w), 11);
    CHECK_EQ(shown(p, running), 11 + 1);
    CHECK_EQ(shown(p, b), 7);
    pawl_close(p);
    verify_clean(s);
    store_close(&s);
}
