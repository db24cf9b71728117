/* test_schedule_fire.c - schedules in the store: each due time fires once, whoever looks; missed
 * ones, overlapping ones, clocks that change, and what an operator does. */
#include "schedule_fixture.h"

#include "base/zone.h"

#include <unistd.h>

#define MINUTE (60 * SECOND)
#define HOUR   (60 * MINUTE)

static void needs_tzdata(void)
{
    if (access(ZONE_DIR "/Europe/Berlin", R_OK))
        SKIP("tzdata is not installed");
}

/* The workflow w with these schedules, applied at that time. */
static struct store *applied_at(const char *time, const char *list)
{
    struct store *s = fixture_store();

    clock_to(s, time);
    apply_schedules(s, list);
    CHECK_EQ(look(s), 0);
    return s;
}

static void done(struct store *s)
{
    verify_clean(s);
    store_close(&s);
}

/* ---- once ---- */

TEST(nothing_fires_before_it_is_due_and_then_once)
{
    struct store *s = applied_at("2030-06-01T12:30:00Z", "'@hourly'");
    struct schedule_round r;
    int64_t id;

    look_out(s, &r);
    CHECK_EQ(r.next, schedule_time("2030-06-01T13:00:00Z"));
    CHECK_EQ(firings(s), 0);
    clock_to(s, "2030-06-01T13:00:00Z");
    CHECK_EQ(look(s), 1);
    CHECK_EQ(look(s), 0);
    CHECK_STR(firing(s, 0), "2030-06-01T13:00:00");
    id = sql_number(s, "SELECT execution FROM schedule_firings");
    CHECK_EQ(status_of(s, id), S_RUNNING);
    CHECK_STR(get(s, id).name, "w");
    CHECK_EQ(schedule_named(s, "w/1").row.last_run, id);
    flow_play(s, "");
    CHECK_EQ(status_of(s, id), S_SUCCEEDED);
    done(s);
}

TEST(a_run_tells_which_schedule_began_it_and_gets_its_values)
{
    struct store *s = fixture_store();
    struct event_list events = {0};
    struct err err = ERR_INIT;
    int64_t id;

    clock_to(s, "2030-06-01T12:30:00Z");
    apply(
        s,
        "name: w\nparams: {day: x}\n"
        "on: {schedule: [{name: mine, cron: '@hourly', with: {day: y}}]}\n"
        "tasks: {a: {argv: ['${{ params.day }}', '${{ default(execution.due_at, \"never\") }}']}}\n");
    clock_to(s, "2030-06-01T13:00:00Z");
    CHECK_EQ(look(s), 1);
    id = sql_number(s, "SELECT execution FROM schedule_firings");
    CHECK_OK_ERR(query_events_of(s, id, 0, 1, &events, &err), &err);
    CHECK_STR(events.at[0].data,
              "{\"schedule\":\"w/mine\",\"due_at\":\"2030-06-01T13:00:00.000000Z\"}");
    event_list_release(&events);
    CHECK(strstr(get(s, flow_task(s, id, "a")).spec, "[\"y\",\"2030-06-01T13:00:00.000000Z\"]"));
    CHECK_EQ(order(s, SCHEDULE_RUN, "w/mine", &id), 0);
    CHECK(strstr(get(s, flow_task(s, id, "a")).spec, "[\"y\",\"never\"]"));
    done(s);
}

TEST(two_engines_fire_a_due_time_once)
{
    struct store *a = applied_at("2030-06-01T12:30:00Z", "'@hourly'"), *b = fixture_store();

    clock_to(a, "2030-06-01T13:00:00Z");
    CHECK_EQ(look(a) + look(b), 1);
    clock_to(a, "2030-06-01T14:00:00Z");
    flow_play(a, "");
    CHECK_EQ(look(b) + look(a), 1);
    CHECK_EQ(firings(a), 2);
    store_close(&b);
    done(a);
}

static int64_t shared_offset;

static void look_for_a_while(int nth)
{
    struct store *s;
    int i;

    (void)nth;
    fixture_env()->clock_offset = shared_offset;
    s = fixture_store();
    for (i = 0; i < 30; i++) {
        look(s);
        clock_advance(10 * MINUTE);
    }
    store_close(&s);
}

TEST_SLOW(many_processes_that_look_at_once_fire_each_due_time_once, 120)
{
    struct store *s =
        applied_at("2030-06-01T12:30:00Z", "[{cron: '@hourly', overlap: allow, catchup: 1d}, "
                                           "{cron: '*/20 * * * *', overlap: allow, catchup: 1d}]");

    store_close(&s);
    shared_offset = fixture_env()->clock_offset;
    run_processes(4, look_for_a_while);
    s = fixture_store();
    clock_to(s, "2030-06-01T18:30:01Z");
    look(s);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM schedule_firings"), 6 + 18);
    CHECK_EQ(sql_number(s, "SELECT count(DISTINCT execution) FROM schedule_firings"), 6 + 18);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE parent IS NULL"), 6 + 18);
    done(s);
}

/* On PostgreSQL another one comes in the middle of our turn; SQLite excludes it. */
struct other {
    struct store *s;
    size_t begun;
};

static void look_between(void *arg)
{
    struct other *o = arg;

    o->begun = look(o->s);
}

TEST(one_who_looks_in_the_middle_of_anothers_turn_passes_on)
{
    static const char *const points[] = {"schedules_lock", "schedule_facts", "take_ids",
                                         "firing_insert", "commit"};
    struct watch w = {0};
    struct other o;
    size_t i, n = 0;

    if (!strcmp(test_db(), "sqlite"))
        SKIP("a turn excludes all others");
    o.s = applied_at("2030-06-01T12:30:00Z", "[{cron: '@hourly', overlap: allow, catchup: 1d}]");
    for (i = 0; i < sizeof(points) / sizeof(*points); i++) {
        struct store *s = watched_store(&w);

        clock_advance(HOUR);
        w.env.clock_offset = fixture_env()->clock_offset;
        o.begun = 0;
        watch_for(&w, points[i], 1, look_between, &o);
        n += look(s) + o.begun;
        CHECK(w.acted);
        CHECK_EQ(n, i + 1);
        CHECK_EQ(firings(o.s), (int64_t)i + 1);
        store_close(&s);
    }
    done(o.s);
}

/* ---- clocks ---- */

TEST(a_local_time_that_is_left_out_fires_at_the_jump)
{
    struct store *s;

    needs_tzdata();
    s = applied_at("2030-03-30T12:00:00Z", "{cron: '30 2 * * *', tz: Europe/Berlin}");
    clock_to(s, "2030-03-31T00:59:59Z");
    CHECK_EQ(look(s), 0);
    clock_to(s, "2030-03-31T01:00:00Z"); /* 02:00 becomes 03:00 */
    CHECK_EQ(look(s), 1);
    flow_play(s, "");
    clock_to(s, "2030-03-31T01:30:01Z");
    CHECK_EQ(look(s), 0);
    clock_to(s, "2030-04-01T00:30:00Z");
    CHECK_EQ(look(s), 1);
    CHECK_STR(firing(s, 0), "2030-03-31T01:00:00");
    CHECK_STR(firing(s, 1), "2030-04-01T00:30:00");
    CHECK_EQ(firings(s), 2);
    flow_play(s, "");
    done(s);
}

TEST(a_local_time_that_comes_twice_fires_once)
{
    struct store *s;

    needs_tzdata();
    s = applied_at("2030-10-26T12:00:00Z", "{cron: '30 2 * * *', tz: Europe/Berlin}");
    clock_to(s, "2030-10-27T00:30:00Z");
    CHECK_EQ(look(s), 1);
    flow_play(s, "");
    clock_to(s, "2030-10-27T01:30:01Z"); /* 02:30 again */
    CHECK_EQ(look(s), 0);
    CHECK_EQ(firings(s), 1);
    clock_to(s, "2030-10-28T01:30:00Z");
    CHECK_EQ(look(s), 1);
    flow_play(s, "");
    done(s);
}

TEST(a_clock_that_was_set_back_fires_nothing_twice_and_does_not_fall_silent)
{
    struct store *s = applied_at("2030-06-01T12:30:00Z", "{cron: '@hourly', catchup: 1d}");

    clock_to(s, "2030-06-01T14:00:10Z");
    CHECK_EQ(look(s), 1);
    flow_play(s, "");
    CHECK_EQ(look(s), 1); /* the two that were missed, one after the other */
    flow_play(s, "");
    clock_advance(-2 * HOUR);
    apply_schedules(s, "{cron: '@hourly', catchup: 1d}"); /* has it looked at now */
    CHECK_EQ(look(s), 0);
    CHECK(schedule_named(s, "w/1").row.done < schedule_time("2030-06-01T13:00:00Z"));
    clock_advance(HOUR);
    CHECK_EQ(look(s), 0);
    clock_advance(HOUR);
    CHECK_EQ(look(s), 0);
    clock_advance(HOUR);
    CHECK_EQ(look(s), 1);
    CHECK_STR(firing(s, 2), "2030-06-01T15:00:00");
    CHECK_EQ(firings(s), 3);
    clock_advance(HOUR);
    flow_play(s, "");
    done(s);
}

/* ---- missed ---- */

TEST(catch_up_begins_each_that_was_missed_within_the_window)
{
    struct store *s =
        applied_at("2030-06-01T12:30:00Z", "{cron: '@hourly', catchup: 3h, overlap: allow}");

    clock_to(s, "2030-06-01T20:30:00Z");
    CHECK_EQ(look(s), 3);
    CHECK_STR(firing(s, 0), "2030-06-01T18:00:00");
    CHECK_STR(firing(s, 2), "2030-06-01T20:00:00");
    CHECK(schedule_named(s, "w/1").row.missed_at > 0);
    CHECK_EQ(running_runs(s), 3);
    flow_play(s, "");
    done(s);
}

TEST(more_than_fit_into_one_turn_are_begun_in_several)
{
    struct store *s =
        applied_at("2030-06-01T12:30:00Z", "{cron: '@hourly', catchup: 30d, overlap: allow}");

    clock_to(s, "2030-06-03T12:30:00Z");
    CHECK_EQ(look(s), 48);
    CHECK_EQ(firings(s), 48);
    done(s);
}

TEST(what_is_made_up_for_is_begun_one_after_the_other_where_runs_may_not_overlap)
{
    struct store *s = applied_at("2030-06-01T12:30:00Z", "{cron: '@hourly', catchup: 6h}");
    int i;

    clock_to(s, "2030-06-01T16:30:00Z");
    for (i = 0; i < 4; i++) {
        CHECK_EQ(look(s), 1);
        CHECK_EQ(look(s), 0);
        CHECK_EQ(running_runs(s), 1);
        flow_play(s, "");
    }
    CHECK_EQ(look(s), 0);
    CHECK_STR(firing(s, 3), "2030-06-01T16:00:00");
    CHECK_EQ(schedule_named(s, "w/1").row.skipped, 0);
    done(s);
}

TEST(catch_up_of_the_last_begins_the_newest_alone)
{
    struct store *s = applied_at("2030-06-01T12:30:00Z", "{cron: '@hourly', catchup: last}");

    clock_to(s, "2030-07-15T20:30:00Z");
    CHECK_EQ(look(s), 1);
    CHECK_STR(firing(s, 0), "2030-07-15T20:00:00");
    flow_play(s, "");
    CHECK_EQ(look(s), 0);
    done(s);
}

TEST(without_catch_up_what_was_missed_is_said_and_left_out)
{
    struct store *s = applied_at("2030-06-01T12:30:00Z", "'@hourly'");
    struct schedule_round r;

    clock_to(s, "2030-06-01T20:30:00Z");
    CHECK_EQ(look_out(s, &r), 0);
    CHECK_EQ(r.nsaid, 1);
    CHECK(strstr(r.said[0], "w/1 missed due times"));
    CHECK_EQ(firings(s), 0);
    CHECK_EQ(r.next, schedule_time("2030-06-01T21:00:00Z"));
    done(s);
}

/* ---- overlap ---- */

TEST(a_due_time_during_the_last_run_is_left_out)
{
    struct store *s = applied_at("2030-06-01T12:30:00Z", "'@hourly'");

    clock_to(s, "2030-06-01T13:00:00Z");
    CHECK_EQ(look(s), 1);
    clock_to(s, "2030-06-01T14:00:00Z");
    CHECK_EQ(look(s), 0);
    CHECK_EQ(schedule_named(s, "w/1").row.skipped, 1);
    CHECK_EQ(schedule_named(s, "w/1").row.skipped_at, schedule_time("2030-06-01T14:00:00Z"));
    flow_play(s, "");
    CHECK_EQ(look(s), 0);
    clock_to(s, "2030-06-01T15:00:00Z");
    CHECK_EQ(look(s), 1);
    CHECK_EQ(firings(s), 2);
    flow_play(s, "");
    done(s);
}

TEST(one_may_wait_for_the_end_of_the_last_run)
{
    struct store *s = applied_at("2030-06-01T12:30:00Z", "{cron: '@hourly', overlap: queue}");
    struct schedule_round r;
    struct next_due due;
    struct err err = ERR_INIT;

    clock_to(s, "2030-06-01T13:00:00Z");
    CHECK_EQ(look(s), 1);
    clock_to(s, "2030-06-01T14:00:00Z");
    CHECK_EQ(look_out(s, &r), 0);
    CHECK_EQ(r.next, schedule_time("2030-06-01T15:00:00Z")); /* it waits, nobody looks meanwhile */
    CHECK_EQ(schedule_named(s, "w/1").row.waiting, schedule_time("2030-06-01T14:00:00Z"));
    clock_to(s, "2030-06-01T15:00:00Z");
    CHECK_EQ(look(s), 0); /* one, not two */
    CHECK_EQ(schedule_named(s, "w/1").row.skipped, 1);
    CHECK_EQ(firings(s), 1);
    flow_play(s, "a"); /* a failed run is a run that ended */
    CHECK_OK_ERR(store_next_due(s, &due, &err), &err);
    CHECK(due.schedule && due.schedule < due.wall); /* now */
    CHECK_EQ(look(s), 1);
    CHECK_STR(firing(s, 1), "2030-06-01T14:00:00");
    CHECK_EQ(look(s), 0);
    flow_play(s, "");
    done(s);
}

TEST(the_end_of_a_run_wakes_those_who_look)
{
    struct store *s = applied_at("2030-06-01T12:30:00Z", "{cron: '@hourly', overlap: queue}");
    struct flow_claiming k = {0};

    clock_to(s, "2030-06-01T13:00:00Z");
    CHECK_EQ(look(s), 1);
    CHECK_EQ(flow_claim(s, &k), 1);
    flow_settle(s, k.held[0], OUTCOME_OK, NULL);
    CHECK(store_woke(s) & WAKE_TIMERS);
    done(s);
}

/* Each of the two has not seen the other's change: whoever commits last must have looked at again.
 */
static void end_between(void *arg)
{
    struct other *o = arg;

    CHECK_EQ(cancel(o->s, schedule_named(o->s, "w/1").row.last_run), 0);
}

TEST(a_run_that_ends_while_a_due_time_is_made_to_wait_for_it_is_noticed)
{
    struct watch w = {0};
    struct next_due due;
    struct store *s;
    struct other o;
    struct err err = ERR_INIT;

    if (!strcmp(test_db(), "sqlite"))
        SKIP("a turn excludes all others");
    o.s = applied_at("2030-06-01T12:30:00Z", "{cron: '@hourly', overlap: queue}");
    clock_to(o.s, "2030-06-01T13:00:00Z");
    CHECK_EQ(look(o.s), 1);
    clock_to(o.s, "2030-06-01T14:00:00Z");
    s = watched_store(&w);
    watch_for(&w, "commit", 1, end_between, &o);
    CHECK_EQ(look(s), 0);
    CHECK(w.acted);
    CHECK(store_woke(s) & WAKE_TIMERS);
    CHECK_OK_ERR(store_next_due(s, &due, &err), &err);
    CHECK(due.schedule && due.schedule < due.wall);
    CHECK_EQ(look(s), 1);
    flow_play(s, "");
    store_close(&s);
    done(o.s);
}

TEST(all_may_run_at_once)
{
    struct store *s = applied_at("2030-06-01T12:30:00Z", "{cron: '@hourly', overlap: allow}");

    clock_to(s, "2030-06-01T13:00:00Z");
    CHECK_EQ(look(s), 1);
    clock_to(s, "2030-06-01T14:00:00Z");
    CHECK_EQ(look(s), 1);
    CHECK_EQ(running_runs(s), 2);
    flow_play(s, "");
    done(s);
}

TEST(a_cancelled_run_has_ended)
{
    struct store *s = applied_at("2030-06-01T12:30:00Z", "{cron: '@hourly', overlap: queue}");

    clock_to(s, "2030-06-01T13:00:00Z");
    CHECK_EQ(look(s), 1);
    clock_to(s, "2030-06-01T14:00:00Z");
    CHECK_EQ(look(s), 0);
    CHECK_EQ(cancel(s, schedule_named(s, "w/1").row.last_run), 0);
    CHECK_EQ(look(s), 1);
    flow_play(s, "");
    done(s);
}

/* ---- when ---- */

TEST(jitter_comes_after_the_due_time_and_is_the_same_for_all_who_look)
{
    struct store *s = applied_at("2030-06-01T12:30:00Z", "{cron: '@hourly', jitter: 30m}");
    int64_t due = schedule_time("2030-06-01T13:00:00Z"), fires;
    struct schedule_listed l = schedule_named(s, "w");
    struct schedule_round r;
    struct err err = ERR_INIT;
    struct zone *z = NULL;
    struct schedule c;

    CHECK_OK_ERR(schedule_of_row(&l.row, "w/1", &c, &z, &err), &err);
    fires = schedule_fires_at(&c, z, due);
    zone_free(&z);
    CHECK(fires > due && fires < due + 30 * MINUTE);
    look_out(s, &r);
    CHECK_EQ(r.next, fires);
    clock_to(s, "2030-06-01T13:00:00Z");
    CHECK_EQ(look(s), 0);
    clock_advance(fires - due);
    CHECK_EQ(look(s), 1);
    CHECK_STR(firing(s, 0), "2030-06-01T13:00:00");
    done(s);
}

TEST(a_schedule_has_a_first_and_a_last_day)
{
    struct store *s =
        applied_at("2030-06-01T12:30:00Z",
                   "{cron: '@daily', start: 2030-06-03, end: 2030-06-05, catchup: 9d}");
    struct schedule_round r;

    look_out(s, &r);
    CHECK_EQ(r.next, schedule_time("2030-06-03"));
    clock_to(s, "2030-06-03T00:00:00Z");
    CHECK_EQ(look(s), 1);
    flow_play(s, "");
    clock_to(s, "2030-06-08T00:00:00Z");
    CHECK_EQ(look_out(s, &r), 1);
    CHECK_STR(firing(s, 1), "2030-06-04T00:00:00");
    flow_play(s, "");
    CHECK_EQ(look_out(s, &r), 0);
    CHECK_EQ(r.next, 0);
    done(s);
}

/* ---- an operator's hand ---- */

TEST(a_pause_is_not_made_up_for)
{
    struct store *s =
        applied_at("2030-06-01T12:30:00Z", "{cron: '@hourly', catchup: 9d, overlap: queue}");
    struct schedule_listed l;

    clock_to(s, "2030-06-01T13:00:00Z");
    CHECK_EQ(look(s), 1);
    clock_to(s, "2030-06-01T14:00:00Z");
    CHECK_EQ(look(s), 0); /* one waits */
    CHECK_EQ(order(s, SCHEDULE_PAUSE, "w/1", NULL), 0);
    l = schedule_named(s, "w/1");
    CHECK(l.row.paused_at);
    CHECK_STR(l.row.paused_by, "me");
    CHECK_STR(l.row.pause_reason, "why not");
    flow_play(s, "");
    clock_to(s, "2030-06-01T18:30:00Z");
    CHECK_EQ(look(s), 0);
    CHECK_EQ(order(s, SCHEDULE_PAUSE, "w", NULL), 0); /* again: it stays as it was */
    CHECK_EQ(schedule_named(s, "w/1").row.paused_at, l.row.paused_at);
    CHECK_EQ(order(s, SCHEDULE_RESUME, "w/1", NULL), 0);
    CHECK_EQ(look(s), 0);
    clock_to(s, "2030-06-01T19:00:00Z");
    CHECK_EQ(look(s), 1);
    CHECK_EQ(firings(s), 2);
    CHECK_EQ(order(s, SCHEDULE_RESUME, "w/1", NULL), -E_INVALID);
    CHECK_EQ(order(s, SCHEDULE_PAUSE, "v", NULL), -E_NOT_FOUND);
    CHECK_EQ(order(s, SCHEDULE_PAUSE, "w/2", NULL), -E_NOT_FOUND);
    CHECK_EQ(order(s, SCHEDULE_PAUSE, "/", NULL), -E_INVALID);
    flow_play(s, "");
    done(s);
}

TEST(a_run_by_hand_is_no_firing_but_counts_as_the_last_run)
{
    struct store *s = applied_at("2030-06-01T12:30:00Z", "['@hourly', '@daily']");
    struct event_list events = {0};
    struct err err = ERR_INIT;
    int64_t id;

    CHECK_EQ(order(s, SCHEDULE_RUN, "w", NULL), -E_INVALID); /* which? */
    CHECK_EQ(order(s, SCHEDULE_RUN, "w/1", &id), 0);
    CHECK_EQ(status_of(s, id), S_RUNNING);
    CHECK_OK_ERR(query_events_of(s, id, 0, 1, &events, &err), &err);
    CHECK_STR(events.at[0].data, "{\"schedule\":\"w/1\",\"by\":\"me\",\"reason\":\"why not\"}");
    event_list_release(&events);
    CHECK_EQ(firings(s), 0);
    clock_to(s, "2030-06-01T13:00:00Z");
    CHECK_EQ(look(s), 0);
    flow_play(s, "");
    done(s);
}

/* ---- applied again ---- */

TEST(a_definition_that_is_applied_again_is_what_fires_next)
{
    struct store *s = applied_at("2030-06-01T12:30:00Z", "'@hourly'");
    struct application a;

    a = apply_schedules(s, "'@hourly'");
    CHECK(a.unchanged);
    a = apply(s, "name: w\non: {schedule: '@hourly'}\ntasks: {b: {run: y}}\n");
    CHECK(!a.unchanged);
    CHECK_EQ(a.kept, 1);
    CHECK_EQ(a.removed, 0);
    clock_to(s, "2030-06-01T13:00:00Z");
    CHECK_EQ(look(s), 1);
    CHECK(flow_task(s, schedule_named(s, "w/1").row.last_run, "b") > 0);
    flow_play(s, "");
    done(s);
}

TEST(what_keeps_its_pattern_goes_on_where_it_stood_wherever_it_stands_now)
{
    struct store *s = applied_at("2030-06-01T12:30:00Z", "['@hourly', {cron: '@daily'}]");
    struct application a;

    CHECK_EQ(order(s, SCHEDULE_PAUSE, "w/2", NULL), 0);
    clock_to(s, "2030-06-01T13:00:30Z"); /* due, and nobody has looked yet */
    a = apply_schedules(s, "['@daily', {cron: '@hourly', with: {}, overlap: allow}]");
    CHECK_EQ(a.kept, 2);
    CHECK(schedule_named(s, "w/1").row.paused_at);
    CHECK(!schedule_named(s, "w/2").row.paused_at);
    CHECK_EQ(look(s), 1);
    CHECK_STR(firing(s, 0), "2030-06-01T13:00:00");
    a = apply_schedules(s, "['@hourly', '@daily']");
    CHECK_EQ(look(s), 0); /* the same due time, under another name */
    CHECK_EQ(firings(s), 1);
    flow_play(s, "");
    done(s);
}

TEST(what_changes_its_pattern_begins_anew_but_stays_paused)
{
    struct store *s =
        applied_at("2030-06-01T12:30:00Z", "[{name: a, cron: '@hourly', catchup: 9d}, '@hourly']");
    struct application a;

    CHECK_EQ(order(s, SCHEDULE_PAUSE, "w/2", NULL), 0);
    clock_to(s, "2030-06-01T15:30:00Z");
    a = apply_schedules(s, "[{name: a, cron: '15 * * * *', catchup: 9d}, '20 * * * *']");
    CHECK_EQ(a.kept, 0);
    CHECK_EQ(a.removed, 0);
    CHECK(schedule_named(s, "w/2").row.paused_at);
    CHECK_EQ(look(s), 0); /* nothing from before */
    clock_to(s, "2030-06-01T16:15:00Z");
    CHECK_EQ(look(s), 1);
    flow_play(s, "");
    done(s);
}

TEST(what_is_no_longer_there_fires_no_more_and_its_history_stays)
{
    struct store *s = applied_at("2030-06-01T12:30:00Z", "['@hourly', '@daily']");
    struct application a;
    struct schedule_round r;

    clock_to(s, "2030-06-01T13:00:00Z");
    CHECK_EQ(look(s), 1);
    a = apply_schedules(s, "[]");
    CHECK_EQ(a.schedules, 0);
    CHECK_EQ(a.removed, 2);
    clock_to(s, "2030-06-01T14:00:00Z");
    CHECK_EQ(look_out(s, &r), 0);
    CHECK_EQ(r.next, 0);
    CHECK_EQ(firings(s), 1);
    flow_play(s, "");
    done(s);
}

TEST(what_is_no_definition_is_not_applied)
{
    struct store *s = fixture_store();
    struct application a = {.definition = "{}"};
    struct err err = ERR_INIT;

    CHECK_EQ(store_turn(s, apply_body, &a, &err), -E_INVALID);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM workflow_names"), 0);
    done(s);
}

/* ---- what can't be fired ---- */

TEST(one_whose_zone_is_gone_says_so_once_and_stops_no_other)
{
    struct store *s = applied_at("2030-06-01T12:30:00Z", "['@hourly', '@hourly']");
    struct schedule_round r;

    sql_run(s, "UPDATE schedules SET tz = 'Nowhere/Gone' WHERE name = '1'");
    clock_to(s, "2030-06-01T13:00:00Z");
    CHECK_EQ(look_out(s, &r), 1);
    CHECK_EQ(r.nsaid, 1);
    CHECK(strstr(r.said[0], "w/1 can't be fired"));
    CHECK(strstr(r.said[0], "Nowhere/Gone"));
    CHECK(strstr(schedule_named(s, "w/1").row.problem, "Nowhere/Gone"));
    CHECK(!schedule_named(s, "w/2").row.problem);
    CHECK(r.next > r.now); /* nobody turns in circles */
    clock_advance(6 * MINUTE);
    CHECK_EQ(look_out(s, &r), 0);
    CHECK_EQ(r.nsaid, 0);
    sql_run(s, "UPDATE schedules SET tz = NULL");
    flow_play(s, "");
    clock_to(s, "2030-06-01T14:00:00Z");
    CHECK_EQ(look(s), 2); /* it is there again */
    CHECK(!schedule_named(s, "w/1").row.problem);
    flow_play(s, "");
    done(s);
}

TEST(one_whose_definition_is_gone_says_so_and_is_made_up_for_later)
{
    struct store *s = applied_at("2030-06-01T12:30:00Z", "{cron: '@hourly', catchup: 1h}");
    struct schedule_round r;

    apply(s, "name: v\non: {schedule: '@hourly'}\ntasks: {b: {run: y}}\n");
    sql_run(s, "DELETE FROM workflow_definitions WHERE name = 'w'");
    store_close(&s);
    s = fixture_store(); /* which has not read it yet */
    clock_to(s, "2030-06-01T13:00:00Z");
    CHECK_EQ(look_out(s, &r), 1);
    CHECK_EQ(r.nsaid, 1);
    CHECK(strstr(r.said[0], "is not stored"));
    CHECK_EQ(firings(s), 1);
    apply_schedules(s, "{cron: '@hourly', catchup: 1h}");
    CHECK_EQ(look(s), 1);
    CHECK_EQ(firings(s), 2);
    flow_play(s, "");
    done(s);
}

TEST(one_that_waits_and_can_not_be_begun_does_not_turn_in_circles)
{
    struct store *s = applied_at("2030-06-01T12:30:00Z", "{cron: '@hourly', overlap: queue}");
    struct schedule_round r;

    clock_to(s, "2030-06-01T13:00:00Z");
    CHECK_EQ(look(s), 1);
    clock_to(s, "2030-06-01T14:00:00Z");
    CHECK_EQ(look(s), 0);
    flow_play(s, "");
    sql_run(s, "UPDATE schedules SET tz = 'Nowhere/Gone'");
    CHECK_EQ(look_out(s, &r), 0);
    CHECK_EQ(look_out(s, &r), 0);
    CHECK(r.next > r.now);
    sql_run(s, "UPDATE schedules SET tz = NULL");
    clock_advance(6 * MINUTE);
    CHECK_EQ(look(s), 1);
    flow_play(s, "");
    done(s);
}

TEST(a_run_whose_values_are_wrong_fails_and_is_a_firing_all_the_same)
{
    struct store *s = fixture_store();

    clock_to(s, "2030-06-01T12:30:00Z");
    apply(s, "name: w\nparams: {n: {type: integer, default: 1}}\n"
             "on: {schedule: {cron: '@hourly', with: {n: 2}}}\n"
             "tasks: {a: {run: x}}\n");
    sql_run(s, "UPDATE schedules SET params = '{\"n\":\"x\"}'");
    clock_to(s, "2030-06-01T13:00:00Z");
    CHECK_EQ(look(s), 1);
    CHECK_EQ(firings(s), 1);
    CHECK_EQ(status_of(s, schedule_named(s, "w/1").row.last_run), S_FAILED);
    done(s);
}

/* ---- retention ---- */

static int retain_body(struct turn *t, void *arg, struct err *err)
{
    struct retention from = {.older_than = HOUR, .max_trees = 100}, to;

    (void)arg;
    return op_retain(t, &from, &to, err);
}

TEST(firings_go_with_their_runs)
{
    struct store *s = applied_at("2030-06-01T12:30:00Z", "'@hourly'");
    struct err err = ERR_INIT;

    clock_to(s, "2030-06-01T13:00:00Z");
    CHECK_EQ(look(s), 1);
    flow_play(s, "");
    clock_to(s, "2030-06-01T14:30:00Z");
    CHECK_OK_ERR(store_turn(s, retain_body, NULL, &err), &err);
    CHECK_EQ(firings(s), 0);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions"), 0);
    clock_to(s, "2030-06-01T15:00:00Z");
    CHECK_EQ(look(s), 1); /* the last run is not there any more: it has ended */
    flow_play(s, "");
    done(s);
}
