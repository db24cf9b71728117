/* test_retention_setting.c - how long executions are kept is a setting of the database, which all
 * workers follow, whatever their configuration files say. */
#include "engine_fixture.h"
#include "log_fixture.h"
#include "settings_fixture.h"

#define DAY (86400 * 1000000LL)

TEST_THREADED;

static void set_retention(int execution_days, int log_days)
{
    struct pawl *p = open_pawl();

    OK(pawl_retention_set(p, &(struct pawl_retention){execution_days, log_days}, "ann", "audit",
                          &api_err));
    pawl_close(p);
}

static json_t *retention_of(struct pawl *p)
{
    char *json;

    OK(pawl_retention_get(p, &json, &api_err));
    return json_parse_and_free(json);
}

static void check_retention(struct pawl *p, int execution_days, int log_days, const char *source)
{
    json_auto_t *r = retention_of(p);

    CHECK_EQ(json_integer_value(json_object_get(r, "execution_days")), execution_days);
    CHECK_EQ(json_integer_value(json_object_get(r, "log_days")), log_days);
    CHECK_STR(text_in(r, "source"), source);
}

static void end_jobs(struct store *s, int n)
{
    for (int i = 0; i < n; i++) {
        submit(s, "x");
        CHECK_EQ(settle_ok(s, claim_job(s, 1)), 0);
    }
}

static int64_t executions(struct store *s)
{
    return sql_number(s, "SELECT count(*) FROM executions");
}

static int64_t last_run(struct store *s)
{
    return sql_number(s, "SELECT CAST(value AS bigint) FROM settings WHERE name = 'retained_at'");
}

/* Lets the daily retention of the engine run to its end. */
static void run_retention(struct worker_kit *k, struct store *s)
{
    int64_t before = last_run(s);

    KIT_UNTIL(k, last_run(s) > before);
    for (int i = 0; i < 10; i++)
        kit_step(k);
}

static void close_all(struct worker_kit *k, struct store **s)
{
    engine_close(&k->engine);
    verify_clean(*s);
    store_close(s);
}

TEST(worker_whose_config_file_has_a_shorter_retention_follows_that_of_the_database)
{
    struct store *s = fixture_store();
    struct worker_kit k = {0};

    end_jobs(s, 3);
    set_retention(3650, 0);
    clock_advance(100 * DAY);
    kit_open_with(&k, (struct engine_options){.retention = &(struct retention_policy){30, 0},
                                              .host_grace = 400 * DAY});
    run_retention(&k, s);
    CHECK_EQ(executions(s), 3);
    set_retention(99, 0);
    clock_advance(DAY);
    run_retention(&k, s);
    CHECK_EQ(executions(s), 0);
    close_all(&k, &s);
}

TEST(worker_whose_config_file_keeps_everything_follows_the_retention_of_the_database)
{
    struct store *s = fixture_store();
    struct worker_kit k = {0};

    end_jobs(s, 3);
    set_retention(30, 0);
    clock_advance(31 * DAY);
    kit_open_with(&k, (struct engine_options){.retention = &(struct retention_policy){0, 0},
                                              .host_grace = 400 * DAY});
    run_retention(&k, s);
    CHECK_EQ(executions(s), 0);
    close_all(&k, &s);
}

TEST(logs_are_removed_although_executions_are_kept_forever)
{
    struct store *s = fixture_store();
    struct worker_kit k = {0};
    struct held_job job = running(s);

    CHECK_EQ(send_text(s, job, 0, "old"), 0);
    CHECK_EQ(settle_ok(s, job), 0);
    set_retention(0, 7);
    clock_advance(3000 * DAY);
    kit_open_with(&k, (struct engine_options){.retention = &(struct retention_policy){90, 0},
                                              .host_grace = 4000 * DAY});
    run_retention(&k, s);
    CHECK_EQ(executions(s), 1);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM attempt_logs"), 0);
    close_all(&k, &s);
}

/* 250 trees are removed in slices of 100. */
TEST(retention_stops_between_slices_when_an_operator_raises_its_period)
{
    struct store *s = fixture_store();
    struct worker_kit k = {0};
    int64_t left;

    end_jobs(s, 250);
    clock_advance(100 * DAY);
    kit_open_with(&k, (struct engine_options){.retention = &(struct retention_policy){30, 0},
                                              .host_grace = 400 * DAY});
    KIT_UNTIL(&k, executions(s) < 250);
    left = executions(s);
    CHECK(left > 0);
    set_retention(0, 0);
    for (int i = 0; i < 20; i++)
        kit_step(&k);
    CHECK_EQ(executions(s), left);
    close_all(&k, &s);
}

TEST(config_file_provides_the_retention_only_if_the_database_has_none)
{
    struct store *s = fixture_store();
    struct pawl *none = open_with("none", ""), *long_kept, *other;

    start_engine(none);
    check_retention(none, 90, 0, "default");
    long_kept = open_with("long", "execution_events: {retention_days: 3650}\n"
                                  "logs: {retention_days: 30}");
    check_retention(long_kept, 3650, 30, "file");
    start_engine(long_kept);
    check_retention(none, 3650, 30, "database");
    CHECK_EQ(count_notes("differ"), 0);

    other = open_with("other", "execution_events: {retention_days: 7}");
    start_engine(other);
    CHECK_EQ(count_notes("other.yaml: the keys execution_events.cleanup, "), 1);
    CHECK_EQ(count_notes("differ from the database's setting, which applies: see "
                         "`pawl admin retention`"),
             1);
    check_retention(other, 3650, 30, "database");
    start_engine(long_kept);
    CHECK_EQ(count_notes("differ"), 1);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM operator_orders "
                           "WHERE subject = 'setting:retention' AND action = 4"),
             1);
    pawl_close(none);
    pawl_close(long_kept);
    pawl_close(other);
    verify_clean(s);
    store_close(&s);
}

TEST(config_file_that_turns_cleanup_off_makes_the_database_keep_executions_forever)
{
    struct pawl *p = open_with("off", "execution_events: {cleanup: false}");

    start_engine(p);
    check_retention(p, 0, 0, "database");
    pawl_close(p);
}

TEST(changed_retention_is_recorded_with_its_requester_and_reason)
{
    struct pawl *p = open_pawl();
    json_auto_t *r = NULL;
    const json_t *last;

    set_retention(365, 365);
    r = retention_of(p);
    last = json_object_get(r, "last_order");
    CHECK_STR(text_in(last, "action"), "changed");
    CHECK_STR(text_in(last, "by"), "ann");
    CHECK_STR(text_in(last, "reason"), "audit");
    CHECK_EQ(json_integer_value(json_object_get(json_object_get(last, "data"), "execution_days")),
             365);
    CHECK(json_is_null(json_object_get(r, "log_days"))); /* equal: as long as the execution */
    pawl_close(p);
}

TEST(retention_out_of_range_or_shorter_than_that_of_logs_is_refused)
{
    static const struct pawl_retention bad[] = {{-1, 0}, {36501, 0}, {0, -1}, {7, 8}};
    struct pawl *p = open_pawl();

    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        FAILS(pawl_retention_set(p, &bad[i], NULL, NULL, &api_err), PAWL_E_INVALID);
    check_retention(p, 90, 0, "default");
    pawl_close(p);
}
