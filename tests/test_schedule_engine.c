/* test_schedule_engine.c - engines evaluate schedules on their own: they sleep until the earliest
 * due time, wake up when a schedule changes, and start a waiting due time when a run ends. */
#include "engine_fixture.h"
#include "refusal_fixture.h"
#include "schedule_fixture.h"

static const struct kit_function functions[] = {{"f", kit_noop, NULL}, {NULL, NULL, NULL}};

static void apply_function(struct store *s, const char *schedules)
{
    char yaml[500];

    snprintf(yaml, sizeof(yaml), "name: w\non: {schedule: %s}\ntasks: {a: {function: f}}\n",
             schedules);
    apply(s, yaml);
}

static int64_t ended_runs(struct store *s)
{
    return sql_number(s, "SELECT count(*) FROM executions WHERE parent IS NULL AND status = 4");
}

static void step_both(struct worker_kit *a, struct worker_kit *b)
{
    kit_step(a);
    kit_step(b);
}

TEST(due_schedule_evaluated_by_two_engines_fires_once_and_its_run_ends)
{
    atomic_int calls = 0;
    const struct kit_function list[] = {{"f", kit_noop, &calls}, {NULL, NULL, NULL}};
    struct worker_kit a = {.list = list}, b = {.list = list};
    struct store *s = fixture_store();
    int64_t due;

    clock_to(s, "2030-06-01T12:59:00Z");
    kit_open_with(&a,
                  (struct engine_options){.lease = 9 * HOUR,
                                          .host_grace = 99 * HOUR}); /* the clock jumps by hours */
    kit_open_with(&b, (struct engine_options){.lease = 9 * HOUR, .host_grace = 99 * HOUR});
    apply_function(s, "'@hourly'");
    KIT_UNTIL(&a, schedule_named(s, "w/1").row.next == schedule_time("2030-06-01T13:00:00Z"));
    due = engine_timeout(a.engine);
    CHECK(due > 0 && due <= 61 * SECOND); /* the engine sleeps until the due time at the latest */
    clock_to(s, "2030-06-01T13:00:00Z");
    while (ended_runs(s) < 1)
        step_both(&a, &b);
    clock_to(s, "2030-06-01T14:00:00Z");
    while (ended_runs(s) < 2)
        step_both(&a, &b);
    step_both(&a, &b);
    CHECK_EQ(firings(s), 2);
    CHECK_EQ(calls, 2);
    engine_close(&a.engine);
    engine_close(&b.engine);
    verify_clean(s);
    store_close(&s);
}

/* The clock of the database is a day ahead for a while. */
static void check_fires_after_clock_was_ahead(bool restart)
{
    const struct engine_options o = {.lease = 9 * HOUR, .host_grace = 99 * HOUR};
    struct worker_kit k = {.list = functions};
    struct store *s = fixture_store();

    clock_to(s, "2030-06-01T12:59:00Z");
    kit_open_with(&k, o);
    apply_function(s, "'@hourly'");
    KIT_UNTIL(&k, schedule_named(s, "w/1").row.next == schedule_time("2030-06-01T13:00:00Z"));
    clock_set(24 * HOUR);
    clock_advance(4 * HOUR); /* the next heartbeat is due */
    KIT_UNTIL(&k, schedule_named(s, "w/1").row.next > schedule_time("2030-06-02T12:00:00Z"));
    if (restart)
        engine_close(&k.engine);
    clock_set(-24 * HOUR);
    if (restart)
        kit_open_with(&k, o);
    clock_advance(4 * HOUR);
    KIT_UNTIL(&k, schedule_named(s, "w/1").row.next < schedule_time("2030-06-02T00:00:00Z"));
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}

TEST(running_engine_fires_on_time_after_the_clock_was_ahead_for_a_while)
{
    check_fires_after_clock_was_ahead(false);
}

TEST(engine_started_after_the_clock_was_ahead_fires_on_time)
{
    check_fires_after_clock_was_ahead(true);
}

/* Runs until the test opens the gate. */
static int gated(struct function_call *c, void *arg)
{
    while (!__atomic_load_n((int *)arg, __ATOMIC_ACQUIRE) && !c->ops->cancelled(c))
        clock_sleep_us(1000);
    return 0;
}

TEST(end_of_a_run_starts_the_run_of_the_due_time_that_waits)
{
    int gate = 0;
    const struct kit_function list[] = {{"f", gated, &gate}, {NULL, NULL, NULL}};
    struct worker_kit k = {.list = list};
    struct store *s = fixture_store();

    clock_to(s, "2030-06-01T12:59:59Z");
    kit_open_with(&k,
                  (struct engine_options){.lease = 9 * HOUR,
                                          .host_grace = 99 * HOUR}); /* the clock jumps by hours */
    apply_function(s, "{cron: '@hourly', overlap: queue}");
    clock_to(s, "2030-06-01T13:00:00Z");
    KIT_UNTIL(&k, running_runs(s) == 1);
    clock_to(s, "2030-06-01T14:00:00Z");
    KIT_UNTIL(&k, schedule_named(s, "w/1").row.waiting != 0);
    CHECK_EQ(firings(s), 1);
    __atomic_store_n(&gate, 1, __ATOMIC_RELEASE);
    KIT_UNTIL(&k, ended_runs(s) == 2); /* long before 15:00, and before the next heartbeat */
    CHECK_EQ(firings(s), 2);
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}

static void count_note(void *arg, const char *sentence)
{
    if (strstr(sentence, "Nowhere/Gone"))
        ++*(int *)arg;
}

TEST(schedule_that_cannot_fire_is_reported_once_and_other_schedules_fire)
{
    struct worker_kit k = {.list = functions};
    struct store *s = fixture_store();
    int notes = 0;

    clock_to(s, "2030-06-01T12:59:00Z");
    apply_function(s, "['@hourly', '@hourly']");
    sql_run(s, "UPDATE schedules SET tz = 'Nowhere/Gone' WHERE name = '1'");
    fixture_env()->note = count_note;
    fixture_env()->arg = &notes;
    kit_open(&k);
    clock_to(s, "2030-06-01T13:00:00Z");
    KIT_UNTIL(&k, ended_runs(s) == 1);
    kit_step(&k);
    CHECK_EQ(notes, 1);
    fixture_env()->note = NULL;
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}

TEST(foreground_engine_does_not_fire_schedules)
{
    struct worker_kit k = {.list = functions};
    struct store *s = fixture_store();
    int i;

    clock_to(s, "2030-06-01T12:59:00Z");
    apply_function(s, "'@hourly'");
    kit_open_with(&k, (struct engine_options){.foreground = true});
    clock_to(s, "2030-06-01T13:00:00Z");
    for (i = 0; i < 5; i++)
        kit_step(&k);
    CHECK(engine_timeout(k.engine) > 0); /* the engine does not spin */
    CHECK_EQ(firings(s), 0);
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}

static void keep_note(void *arg, const char *sentence)
{
    snprintf(arg, 1000, "%s", sentence);
}

TEST(schedule_whose_run_cannot_be_stored_keeps_the_reason_and_other_schedules_fire)
{
    struct worker_kit k = {.list = functions};
    struct store *s = fixture_store();
    char notes[1000] = "";

    clock_to(s, "2030-06-01T12:59:00Z");
    kit_open_with(&k,
                  (struct engine_options){.lease = 9 * HOUR,
                                          .host_grace = 99 * HOUR}); /* the clock jumps by hours */
    apply_function(s, "['@hourly', '@hourly', '@hourly']");
    apply(s,
          "name: bad\non: {schedule: {cron: '@hourly', catchup: 1h}}\ntasks: {a: {function: f}}\n");
    KIT_UNTIL(&k, schedule_named(s, "bad/1").row.next == schedule_time("2030-06-01T13:00:00Z"));
    refuse_write(s, "INSERT ON executions", "NEW.name = 'bad'");
    fixture_env()->note = keep_note;
    fixture_env()->arg = notes;
    clock_to(s, "2030-06-01T13:00:00Z");
    KIT_UNTIL(&k, ended_runs(s) == 3 && *notes);
    fixture_env()->note = NULL;
    CHECK(strstr(notes, "firing the schedule bad/1 failed"));
    CHECK(strstr(notes, "not today"));
    CHECK_EQ(firings(s), 3);
    CHECK(strstr(schedule_named(s, "bad/1").row.problem, "not today"));
    verify_clean(s);
    allow_write(s, "executions");
    clock_to(s, "2030-06-01T13:06:00Z"); /* the missed due time is caught up */
    KIT_UNTIL(&k, ended_runs(s) == 4);
    CHECK(!schedule_named(s, "bad/1").row.problem);
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}
