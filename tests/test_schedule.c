/* test_schedule.c - which due times a schedule fires: catch-up, jitter, start and end, overlap. */
#include "zone_fixture.h"

#include "core/schedule.h"

TEST_NO_DB;

#define COUNT(list) (sizeof(list) / sizeof(*(list)))
#define SECOND      INT64_C(1000000)
#define MINUTE      (60 * SECOND)
#define HOUR        (60 * MINUTE)
#define MAX         16

static const char noon[] = "2026-06-01T12:00:00Z";

struct fixture {
    struct schedule s;
    struct zone *z;
    struct schedule_look look;
    int64_t out[MAX];
};

static struct fixture schedule(const char *cron)
{
    struct fixture f = {.s = {.name = "nightly"}, .z = zone_of_rule("UTC0")};
    struct err err = ERR_INIT;

    CHECK_OK_ERR(cron_parse(cron, &f.s.cron, &err), &err);
    return f;
}

static int64_t us(const char *text)
{
    return at(text) * SECOND;
}

static void look(struct fixture *f, int64_t last, int64_t now)
{
    schedule_due(&f->s, f->z, last, now, MAX, f->out, &f->look);
}

static void check_look(const struct fixture *f, size_t n, const char *first, const char *newest,
                       bool dropped, const char *again)
{
    CHECK_EQ(f->look.n, n);
    if (n) {
        CHECK_EQ(f->out[0], us(first));
        CHECK_EQ(f->out[n - 1], us(newest));
        CHECK_EQ(f->look.done, us(newest));
    }
    CHECK_EQ(f->look.dropped, dropped);
    CHECK_EQ(f->look.again, us(again));
    CHECK(!f->look.more);
}

/* ---- no jitter ---- */

TEST(nothing_is_fired_before_it_is_due_and_each_due_time_once)
{
    struct fixture f = schedule("@hourly");

    look(&f, us(noon), us("2026-06-01T12:59:59Z"));
    check_look(&f, 0, NULL, NULL, false, "2026-06-01T13:00:00Z");
    CHECK_EQ(f.look.done, us(noon));
    look(&f, f.look.done, us("2026-06-01T13:00:00Z"));
    check_look(&f, 1, "2026-06-01T13:00:00Z", "2026-06-01T13:00:00Z", false,
               "2026-06-01T14:00:00Z");
    look(&f, f.look.done, us("2026-06-01T13:00:00Z"));
    check_look(&f, 0, NULL, NULL, false, "2026-06-01T14:00:00Z");
    zone_free(&f.z);
}

TEST(a_schedule_fires_nothing_from_before_it_came_to_be)
{
    struct fixture f = schedule("@hourly");

    f.s.catchup = 24 * HOUR;
    look(&f, us("2026-06-01T12:30:00Z"), us("2026-06-01T12:31:00Z"));
    check_look(&f, 0, NULL, NULL, false, "2026-06-01T13:00:00Z");
    zone_free(&f.z);
}

TEST(catch_up_fires_each_missed_due_time_within_the_window)
{
    struct fixture f = schedule("@hourly");

    f.s.catchup = 6 * HOUR;
    look(&f, us(noon), us("2026-06-01T15:30:00Z"));
    check_look(&f, 3, "2026-06-01T13:00:00Z", "2026-06-01T15:00:00Z", false,
               "2026-06-01T16:00:00Z");
    look(&f, us(noon), us("2026-06-02T12:00:00Z")); /* six hours ago to the microsecond counts */
    check_look(&f, 7, "2026-06-02T06:00:00Z", "2026-06-02T12:00:00Z", true, "2026-06-02T13:00:00Z");
    look(&f, us(noon), us("2026-06-02T12:00:00Z") + 1);
    check_look(&f, 6, "2026-06-02T07:00:00Z", "2026-06-02T12:00:00Z", true, "2026-06-02T13:00:00Z");
    zone_free(&f.z);
}

TEST(catch_up_of_the_last_fires_the_newest_alone)
{
    struct fixture f = schedule("@hourly");

    f.s.catchup = CATCHUP_LAST;
    look(&f, us("2020-01-01"), us("2026-06-01T15:30:00Z"));
    check_look(&f, 1, "2026-06-01T15:00:00Z", "2026-06-01T15:00:00Z", true, "2026-06-01T16:00:00Z");
    look(&f, us(noon), us("2026-06-01T13:30:00Z"));
    check_look(&f, 1, "2026-06-01T13:00:00Z", "2026-06-01T13:00:00Z", false,
               "2026-06-01T14:00:00Z");
    look(&f, us(noon), us("2026-06-01T12:30:00Z"));
    check_look(&f, 0, NULL, NULL, false, "2026-06-01T13:00:00Z");
    zone_free(&f.z);
}

TEST(without_catch_up_only_what_is_late_by_less_than_the_tolerance_is_fired)
{
    struct fixture f = schedule("@hourly");
    int64_t due = us("2026-06-01T13:00:00Z");

    look(&f, us(noon), due + SCHEDULE_TOLERANCE);
    check_look(&f, 1, "2026-06-01T13:00:00Z", "2026-06-01T13:00:00Z", false,
               "2026-06-01T14:00:00Z");
    look(&f, us(noon), due + SCHEDULE_TOLERANCE + 1);
    check_look(&f, 0, NULL, NULL, true, "2026-06-01T14:00:00Z");
    CHECK_EQ(f.look.done, due + SCHEDULE_TOLERANCE + 1); /* said once, not at each look */
    look(&f, f.look.done, due + 2 * SCHEDULE_TOLERANCE);
    check_look(&f, 0, NULL, NULL, false, "2026-06-01T14:00:00Z");
    look(&f, us(noon), us("2026-06-01T15:00:30Z"));
    check_look(&f, 1, "2026-06-01T15:00:00Z", "2026-06-01T15:00:00Z", true, "2026-06-01T16:00:00Z");
    zone_free(&f.z);
}

TEST(a_catch_up_shorter_than_the_tolerance_is_the_tolerance)
{
    struct fixture f = schedule("@hourly");

    f.s.catchup = 1;
    look(&f, us(noon), us("2026-06-01T13:00:30Z"));
    check_look(&f, 1, "2026-06-01T13:00:00Z", "2026-06-01T13:00:00Z", false,
               "2026-06-01T14:00:00Z");
    zone_free(&f.z);
}

TEST(more_than_there_is_room_for_comes_in_slices_and_is_complete)
{
    struct fixture f = schedule("* * * * *");
    int64_t last = us(noon), now = us("2026-06-01T13:40:30Z"), want = last;
    size_t slices = 0, i;

    f.s.catchup = 24 * HOUR;
    do {
        look(&f, last, now);
        for (i = 0; i < f.look.n; i++)
            CHECK_EQ(f.out[i], want += MINUTE);
        CHECK_EQ(f.look.again, f.look.more ? now : us("2026-06-01T13:41:00Z"));
        last = f.look.done;
        slices++;
    } while (f.look.more);
    CHECK_EQ(want, us("2026-06-01T13:40:00Z"));
    CHECK_EQ(slices, 7);
    zone_free(&f.z);
}

TEST(years_of_missed_minutes_cost_no_time)
{
    struct fixture f = schedule("* * * * *");
    int i;

    for (i = 0; i < 1000; i++) {
        f.s.catchup = i % 2 ? CATCHUP_LAST : 0;
        look(&f, 0, us("2026-06-01T12:00:30Z"));
        check_look(&f, 1, noon, noon, true, "2026-06-01T12:01:00Z");
    }
    zone_free(&f.z);
}

TEST(a_clock_that_goes_back_fires_nothing_again)
{
    struct fixture f = schedule("@hourly");

    f.s.catchup = 24 * HOUR;
    look(&f, us(noon), us("2026-06-01T09:30:00Z"));
    check_look(&f, 0, NULL, NULL, false, "2026-06-01T13:00:00Z");
    CHECK_EQ(f.look.done, us(noon));
    zone_free(&f.z);
}

TEST(a_paused_schedule_fires_nothing)
{
    struct fixture f = schedule("@hourly");

    f.s.paused = true;
    f.s.catchup = 24 * HOUR;
    look(&f, us(noon), us("2026-06-01T15:00:00Z"));
    CHECK_EQ(f.look.n, 0);
    CHECK(!f.look.dropped);
    CHECK_EQ(f.look.again, INT64_MAX);
    CHECK_EQ(f.look.done, us(noon));
    zone_free(&f.z);
}

TEST(due_times_before_the_start_and_from_the_end_on_do_not_count)
{
    struct fixture f = schedule("@hourly");

    f.s.catchup = 24 * HOUR;
    f.s.start = us("2026-06-01T14:00:00Z");
    f.s.end = us("2026-06-01T17:00:00Z");
    look(&f, us(noon), us("2026-06-01T12:30:00Z"));
    check_look(&f, 0, NULL, NULL, false, "2026-06-01T14:00:00Z");
    look(&f, us(noon), us("2026-06-01T15:30:00Z"));
    check_look(&f, 2, "2026-06-01T14:00:00Z", "2026-06-01T15:00:00Z", false,
               "2026-06-01T16:00:00Z");
    look(&f, us(noon), us("2026-06-01T20:30:00Z"));
    CHECK_EQ(f.look.n, 3);
    CHECK_EQ(f.out[2], us("2026-06-01T16:00:00Z"));
    CHECK_EQ(f.look.again, INT64_MAX);

    f.s.catchup = CATCHUP_LAST;
    look(&f, us(noon), us("2026-06-01T20:30:00Z"));
    CHECK_EQ(f.look.n, 1);
    CHECK_EQ(f.out[0], us("2026-06-01T16:00:00Z"));

    look(&f, us(noon), us("2026-06-01T14:30:00Z")); /* the first of all is the newest */
    check_look(&f, 1, "2026-06-01T14:00:00Z", "2026-06-01T14:00:00Z", false,
               "2026-06-01T15:00:00Z");

    f.s.catchup = 0; /* the end passed while nobody looked */
    look(&f, us(noon), us("2026-06-01T20:30:00Z"));
    CHECK_EQ(f.look.n, 0);
    CHECK(f.look.dropped);
    CHECK_EQ(f.look.again, INT64_MAX);
    look(&f, f.look.done, us("2026-06-01T20:31:00Z"));
    CHECK(!f.look.dropped);
    zone_free(&f.z);
}

TEST(due_times_follow_the_zone_through_a_change_of_clocks)
{
    struct fixture f = schedule("30 2 * * *");

    zone_free(&f.z);
    f.z = zone_of_rule(berlin_rule);
    f.s.catchup = 96 * HOUR;
    look(&f, us("2026-03-27T12:00:00Z"), us("2026-03-30T12:00:00Z"));
    CHECK_EQ(f.look.n, 3);
    CHECK_EQ(f.out[0], us("2026-03-28T02:30:00+01:00"));
    CHECK_EQ(f.out[1], us("2026-03-29T03:00:00+02:00"));
    CHECK_EQ(f.out[2], us("2026-03-30T02:30:00+02:00"));
    zone_free(&f.z);
}

/* ---- jitter ---- */

/* Stored nowhere, so it must be the same for ever and on every machine. */
TEST(jitter_is_known_from_the_name_and_the_due_time_alone)
{
    struct fixture f = schedule("@daily");

    f.s.jitter = HOUR;
    CHECK_EQ(schedule_fires_at(&f.s, f.z, us("2026-06-01")) - us("2026-06-01"), 1436458157);
    CHECK_EQ(schedule_fires_at(&f.s, f.z, us("2026-06-02")) - us("2026-06-02"), 2274585303);
    f.s.name = "weekly";
    CHECK_EQ(schedule_fires_at(&f.s, f.z, us("2026-06-01")) - us("2026-06-01"), 1211650251);
    f.s.jitter = 0;
    CHECK_EQ(schedule_fires_at(&f.s, f.z, us("2026-06-01")), us("2026-06-01"));
    zone_free(&f.z);
}

TEST(jitter_spreads_evenly_over_its_span)
{
    struct fixture f = schedule("@hourly");
    int64_t due = us("2026-06-01T00:00:00Z"), late;
    int tenth[10] = {0}, i;

    f.s.jitter = 10 * MINUTE;
    for (i = 0; i < 10000; i++, due += HOUR) {
        late = schedule_fires_at(&f.s, f.z, due) - due;
        CHECK(late >= 0 && late < f.s.jitter);
        tenth[late / MINUTE]++;
    }
    for (i = 0; i < 10; i++)
        CHECK(tenth[i] > 850 && tenth[i] < 1150);
    zone_free(&f.z);
}

TEST(jitter_never_reaches_the_next_due_time)
{
    struct fixture f = schedule("*/10 * * * *");
    int64_t due = us(noon), next;
    int i;

    f.s.jitter = 24 * HOUR;
    for (i = 0; i < 1000; i++, due = next) {
        CHECK(cron_next(&f.s.cron, f.z, due, &next));
        CHECK(schedule_fires_at(&f.s, f.z, due) < next);
    }
    zone_free(&f.z);
}

TEST(a_firing_waits_for_its_jitter_and_is_not_missed_because_of_it)
{
    struct fixture f = schedule("@daily");
    int64_t last = us(noon), due = us("2026-06-02"), fires;

    f.s.jitter = 12 * HOUR;
    fires = schedule_fires_at(&f.s, f.z, due);
    CHECK(fires > due + SCHEDULE_TOLERANCE);
    look(&f, last, due);
    CHECK_EQ(f.look.n, 0);
    CHECK_EQ(f.look.again, fires);
    look(&f, last, fires - 1);
    CHECK_EQ(f.look.n, 0);
    CHECK(!f.look.dropped);
    CHECK_EQ(f.look.done, last);
    look(&f, last, fires);
    CHECK_EQ(f.look.n, 1);
    CHECK_EQ(f.out[0], due);
    look(&f, last, fires + SCHEDULE_TOLERANCE);
    CHECK_EQ(f.look.n, 1);
    f.s.start = due; /* as the first of all, too */
    look(&f, last, fires + SCHEDULE_TOLERANCE);
    CHECK_EQ(f.look.n, 1);
    look(&f, last, fires + SCHEDULE_TOLERANCE + 1);
    CHECK_EQ(f.look.n, 0);
    CHECK(f.look.dropped);
    zone_free(&f.z);
}

TEST(the_newest_missed_one_is_fired_while_the_next_waits_for_its_jitter)
{
    struct fixture f = schedule("@daily");
    int64_t due = us("2026-06-02"), fires;

    f.s.jitter = 12 * HOUR;
    f.s.catchup = CATCHUP_LAST;
    fires = schedule_fires_at(&f.s, f.z, due);
    look(&f, us("2026-05-01"), fires - 1);
    CHECK_EQ(f.look.n, 1);
    CHECK_EQ(f.out[0], us("2026-06-01"));
    CHECK(f.look.dropped);
    CHECK_EQ(f.look.again, fires);
    look(&f, f.look.done, fires);
    CHECK_EQ(f.look.n, 1);
    CHECK_EQ(f.out[0], due);
    CHECK(!f.look.dropped);
    look(&f, us("2026-05-01"), fires); /* its own time has come: only the newest */
    CHECK_EQ(f.look.n, 1);
    CHECK_EQ(f.out[0], due);
    zone_free(&f.z);
}

/* ---- a plain reading of the rules, due time by due time ---- */

static void check_plainly(struct fixture *f, int64_t last, int64_t now)
{
    int64_t due = last, kept[MAX], window, fires, again = INT64_MAX;
    size_t n = 0, i;
    bool dropped = false;

    window = f->s.catchup > SCHEDULE_TOLERANCE ? f->s.catchup : SCHEDULE_TOLERANCE;
    while (cron_next(&f->s.cron, f->z, due, &due)) {
        if (f->s.start && due < f->s.start)
            continue;
        if (f->s.end && due >= f->s.end)
            break;
        fires = schedule_fires_at(&f->s, f->z, due);
        if (fires > now) {
            again = fires;
            break;
        }
        if (f->s.catchup == CATCHUP_LAST && n) {
            dropped = true;
            n = 0;
        }
        if (f->s.catchup != CATCHUP_LAST && fires < now - window)
            dropped = true;
        else
            kept[n++] = due;
        CHECK(n < MAX);
    }
    look(f, last, now);
    CHECK_EQ(f->look.n, n);
    for (i = 0; i < n; i++)
        CHECK_EQ(f->out[i], kept[i]);
    CHECK_EQ(f->look.dropped, dropped);
    CHECK_EQ(f->look.again, again);
    CHECK(f->look.done >= last && (f->look.done <= now || f->look.done == last));
    if (f->look.dropped || n) { /* what is done stays done */
        look(f, f->look.done, now);
        CHECK(!f->look.n && !f->look.dropped);
        CHECK_EQ(f->look.again, again);
    }
}

TEST(every_look_agrees_with_a_plain_reading_of_the_rules)
{
    static const char *const patterns[] = {"0,7,31 * * * *", "*/20 6-9 * * *", "30 2 * * *",
                                           "0 0 1 * *"};
    static const int64_t catchups[] = {0, CATCHUP_LAST, 90 * SECOND, HOUR, 3 * HOUR};
    static const int64_t jitters[] = {0, 1, 30 * SECOND, 10 * MINUTE, 48 * HOUR};
    uint64_t random = 7;
    size_t p, c, j, i;

    for (p = 0; p < COUNT(patterns); p++)
        for (c = 0; c < COUNT(catchups); c++)
            for (j = 0; j < COUNT(jitters); j++)
                for (i = 0; i < (test_full() ? 2000 : 100); i++) {
                    struct fixture f = schedule(patterns[p]);
                    int64_t last = us("2026-03-28T20:00:00Z"), now;

                    zone_free(&f.z);
                    f.z = zone_of_rule(berlin_rule);
                    random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
                    last += (int64_t)(random >> 40) % 1000 * MINUTE;
                    random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
                    now = last + (int64_t)(random >> 16) % (30 * HOUR) - HOUR;
                    f.s.catchup = catchups[c];
                    f.s.jitter = jitters[j];
                    f.s.start = random & 1 ? last + 5 * HOUR : 0;
                    f.s.end = random & 2 ? last + 20 * HOUR : 0;
                    check_plainly(&f, last, now);
                    zone_free(&f.z);
                }
}

/* ---- overlap ---- */

TEST(a_firing_while_another_runs_is_skipped_waits_or_runs)
{
    CHECK_EQ(schedule_firing(OVERLAP_SKIP, false, false), FIRING_RUN);
    CHECK_EQ(schedule_firing(OVERLAP_SKIP, true, false), FIRING_SKIP);
    CHECK_EQ(schedule_firing(OVERLAP_QUEUE, false, false), FIRING_RUN);
    CHECK_EQ(schedule_firing(OVERLAP_QUEUE, true, false), FIRING_WAIT);
    CHECK_EQ(schedule_firing(OVERLAP_QUEUE, true, true), FIRING_SKIP);
    CHECK_EQ(schedule_firing(OVERLAP_QUEUE, false, true), FIRING_SKIP);
    CHECK_EQ(schedule_firing(OVERLAP_ALLOW, true, true), FIRING_RUN);
}

/* ---- a look as a whole ---- */

static struct schedule_plan plan(struct fixture *f, const struct schedule_state *is,
                                 const char *now)
{
    struct schedule_plan p;

    schedule_plan(&f->s, f->z, is, us(now), &p);
    return p;
}

TEST(what_is_made_up_for_waits_for_what_runs_and_what_comes_behind_is_decided_later)
{
    struct fixture f = schedule("@hourly");
    struct schedule_state is = {.done = us(noon)};
    struct schedule_plan p;

    f.s.catchup = 24 * HOUR;
    p = plan(&f, &is, "2026-06-01T15:30:00Z");
    CHECK_EQ(p.n, 1);
    CHECK_EQ(p.begin[0], us("2026-06-01T13:00:00Z"));
    CHECK_EQ(p.waiting, us("2026-06-01T14:00:00Z"));
    CHECK_EQ(p.done, p.waiting);
    CHECK_EQ(p.next, 0); /* not before the run has ended */
    is = (struct schedule_state){p.done, p.waiting, true};
    p = plan(&f, &is, "2026-06-01T15:31:00Z");
    CHECK_EQ(p.n, 0);
    CHECK_EQ(p.skipped, 0);
    is.running = false;
    p = plan(&f, &is, "2026-06-01T15:32:00Z");
    CHECK_EQ(p.n, 1);
    CHECK_EQ(p.begin[0], us("2026-06-01T14:00:00Z"));
    CHECK_EQ(p.waiting, us("2026-06-01T15:00:00Z"));
    CHECK_EQ(p.next, us("2026-06-01T16:00:00Z"));
    zone_free(&f.z);
}

TEST(what_comes_while_one_is_paused_is_nothing)
{
    struct fixture f = schedule("@hourly");
    struct schedule_state is = {.done = us(noon)};
    struct schedule_plan p;

    f.s.paused = true;
    p = plan(&f, &is, "2026-06-01T15:30:00Z");
    CHECK_EQ(p.n, 0);
    CHECK_EQ(p.next, 0);
    CHECK_EQ(p.done, us(noon));
    zone_free(&f.z);
}

/* Looks at random times, with runs that end at random: no due time is begun twice, none before it
 * is due, and where everything is made up for and may overlap, none is left out. */
TEST(however_it_is_looked_at_each_due_time_is_begun_once)
{
    unsigned seed = 1, round;

    for (round = 0; round < 300; round++) {
        struct fixture f = schedule(round % 2 ? "*/10 * * * *" : "7,9,30 * * * *");
        struct schedule_state is = {.done = us(noon)};
        int64_t now = us(noon), newest = us(noon), first_due;
        size_t begun = 0, expected = 0, i;
        int step;

        f.s.overlap = (enum overlap)(round % 3);
        f.s.catchup = 365 * 24 * HOUR;
        f.s.jitter = round % 5 ? 0 : 3 * MINUTE;
        for (step = 0; step < 60; step++) {
            struct schedule_plan p;

            now += (int64_t)(seed = seed * 1103515245 + 12345) % (40 * MINUTE);
            schedule_plan(&f.s, f.z, &is, now, &p);
            for (i = 0; i < p.n; i++) {
                CHECK(p.begin[i] > newest);
                CHECK(schedule_fires_at(&f.s, f.z, p.begin[i]) <= now);
                newest = p.begin[i];
            }
            begun += p.n;
            CHECK(p.done >= is.done && p.done <= now);
            CHECK(f.s.overlap == OVERLAP_ALLOW || p.n <= 1);
            CHECK(!p.waiting || p.waiting <= p.done);
            CHECK(p.next || p.waiting); /* somebody will look again */
            is = (struct schedule_state){p.done, p.waiting, p.n || is.running};
            if ((seed >> 16) % 3)
                is.running = false;
        }
        if (f.s.overlap == OVERLAP_ALLOW) {
            for (first_due = us(noon);
                 cron_next(&f.s.cron, f.z, first_due, &first_due) && first_due <= is.done;)
                expected++;
            CHECK_EQ(begun, expected);
        }
        zone_free(&f.z);
    }
}
