/* test_schedule_crash.c - kill -9 at every point of firing a schedule: no due time is lost, none
 * fires twice, and a waiting due time is started by the next process. */
#include "schedule_fixture.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* Each round has its own workflow, due every hour. */
static void apply_round(struct store *s, int round, const char *schedules)
{
    char yaml[300];

    snprintf(yaml, sizeof(yaml), "name: r%d\non: {schedule: %s}\ntasks: {a: {run: x}}\n", round,
             schedules);
    apply(s, yaml);
}

static const char hourly[] = "{cron: '@hourly', catchup: 9d, overlap: queue}";

/* Ends the current run; false if there is none. */
static bool end_run(struct store *s)
{
    int64_t id = sql_number(s, "SELECT COALESCE(min(id), 0) FROM executions WHERE parent IS NULL "
                               "AND status < 4");

    return id && !cancel(s, id);
}

/* Starts at half past an hour: two due times, the second of which waits for the first run to end.
 */
static void fire_twice(struct watch *w, struct store *s, int round)
{
    apply_round(s, round, hourly);
    CHECK_EQ(fire_due(s), 0);
    w->env.clock_offset += HOUR;
    CHECK_EQ(fire_due(s), 1);
    w->env.clock_offset += HOUR;
    CHECK_EQ(fire_due(s), 0);
    CHECK(end_run(s));
    CHECK_EQ(fire_due(s), 1);
}

static bool fire_until_killed(int round, int nth)
{
    struct watch w = {0};
    pid_t pid = fork();

    CHECK(pid >= 0);
    if (pid == 0) {
        struct store *s = watched_store(&w);

        watch_for(&w, NULL, nth, die_at_once, NULL);
        fire_twice(&w, s, round);
        store_close(&s);
        _exit(0);
    }
    return was_killed(pid);
}

/* The next process continues, three due times after the start. */
static void check_next_process(int round, int nth)
{
    struct store *s = fixture_store();
    char sql[200];
    int64_t applied;

    printf("killed at point %d\n", nth);
    clock_advance(3 * HOUR);
    verify_clean(s);
    snprintf(sql, sizeof(sql), "SELECT count(*) FROM workflow_names WHERE name = 'r%d'", round);
    applied = sql_number(s, sql);
    while (fire_due(s) || end_run(s))
        ;
    snprintf(sql, sizeof(sql), "SELECT count(*) FROM executions WHERE name = 'r%d'", round);
    CHECK_EQ(sql_number(s, sql), applied * 3);
    snprintf(sql, sizeof(sql),
             "SELECT count(DISTINCT f.due_at) FROM schedule_firings f "
             "JOIN executions e ON e.id = f.execution WHERE e.name = 'r%d'",
             round);
    CHECK_EQ(sql_number(s, sql), applied * 3);
    apply_round(s, round, "[]");
    verify_clean(s);
    store_close(&s);
}

TEST_SLOW(kill_at_any_point_loses_no_due_time_and_fires_no_due_time_twice, 600)
{
    int stride = test_full() ? 1 : SANITIZED ? 10 : 4, round = 1;
    int nth = 1 + (int)(getpid() % stride);
    struct store *s;

    setenv("PGOPTIONS", "-c synchronous_commit=off", 1); /* only processes of Pawl are killed */
    s = fixture_store();
    clock_to(s, "2030-06-01T12:30:00Z");
    store_close(&s);
    for (; fire_until_killed(round, nth); nth += stride)
        check_next_process(round++, nth);
    printf("%d kills, up to point %d\n", round, nth);
    CHECK(nth > 60); /* enough points were passed */
}
