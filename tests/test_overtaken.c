/* test_overtaken.c - timers that are out of date when their execution is locked. A due timer is
 * read without a lock; by the time its execution is locked, another transaction may have removed it
 * and set a new one of the same kind, which is not due. On SQLite no other transaction can come in
 * between. */
#include "concurrent_turns_fixture.h"
#include "rerun_fixture.h"

#define HOUR (3600 * SECOND)

struct meeting {
    struct store *other;
    int64_t id;
};

/* Runs the timers in a watched turn. act() runs, in another connection, after the turn has read
 * which timers are due; on SQLite, before the turn. */
static void run_timers_with_race(struct watch *w, struct store *s, void (*act)(void *arg),
                                 struct meeting *m)
{
    w->env.clock_offset = fixture_env()->clock_offset;
    if (on_sqlite())
        act(m);
    else
        watch_for(w, "load", 1, act, m);
    run_timers(s);
    CHECK(on_sqlite() || w->acted);
    check_not_redone(w);
    verify_clean(s);
}

static void approve_task(void *arg)
{
    struct meeting *m = arg;

    CHECK_EQ(control_execution(m->other, CONTROL_APPROVE, m->id), 0);
}

TEST(workflow_approved_while_its_approval_times_out_keeps_its_full_timeout)
{
    static const char *const files[] = {
        "w.yaml",
        "name: w\ntasks:\n  n: {workflow: sub.yaml, timeout: 5h, approval: {timeout: 1h}}\n",
        "sub.yaml", "name: sub\ntasks: {a: {run: x}}\n", NULL};
    struct watch watch = {0};
    struct store *s = watched_store(&watch);
    struct meeting m = {.other = fixture_store()};
    int64_t w = submit_workflow_text(s, workflow_text_of_files(files), NULL);

    m.id = task_of(s, w, "n");
    clock_advance(HOUR + SECOND);
    run_timers_with_race(&watch, s, approve_task, &m);
    CHECK_EQ(status_of(s, m.id), S_RUNNING);
    CHECK_EQ(task_status(s, m.id, "a"), S_READY);
    clock_advance(4 * HOUR);
    CHECK_EQ(run_timers(m.other), 0);
    clock_advance(HOUR);
    CHECK(run_timers(m.other) > 0); /* the timeout of the workflow */
    CHECK_EQ(status_of(s, m.id), S_TIMED_OUT);
    verify_clean(s);
    store_close(&m.other);
    store_close(&s);
}

static void time_out_and_rerun(void *arg)
{
    struct meeting *m = arg;

    while (run_timers(m->other))
        ;
    CHECK_EQ(status_of(m->other, m->id), S_TIMED_OUT);
    CHECK(rerun(m->other, m->id, RERUN_WHOLE, NULL) != NULL);
}

TEST(rerun_workflow_is_not_ended_by_the_timeout_of_its_previous_run)
{
    struct watch watch = {0};
    struct store *s = watched_store(&watch);
    struct meeting m = {.other = fixture_store()};

    m.id = submit_workflow(s, "name: w\ntimeout: 1h\ntasks: {a: {run: x}}\n", NULL);
    clock_advance(HOUR + SECOND);
    run_timers_with_race(&watch, s, time_out_and_rerun, &m);
    CHECK_EQ(status_of(s, m.id), S_RUNNING);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM timers"), 1);
    run_workflows(m.other, "");
    CHECK_EQ(status_of(s, m.id), S_SUCCEEDED);
    verify_clean(s);
    store_close(&m.other);
    store_close(&s);
}
