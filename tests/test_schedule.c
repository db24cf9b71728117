/* test_schedule.c - which due times a schedule fires: catch-up, start and end, jitter. */
#include "due_fixture.h"

TEST_NO_DB;

/* One evaluation of the schedule at `now`, with all due times up to `last` done: the time of the
 * next evaluation, and how many due times fire, from the first to the newest. */
struct due_case {
    const char *last; /* NULL for where the previous case stopped */
    const char *now, *again;
    size_t n;
    const char *first, *newest; /* newest is NULL if it is the first */
    bool missed;
};

static void check_due(struct fixture *f, const struct due_case *c)
{
    const char *newest = c->newest ? c->newest : c->first;
    int64_t last = c->last ? us(c->last) : f->found.done;

    evaluate(f, last, us(c->now));
    CHECK_EQ(f->found.n, c->n);
    if (c->n) {
        CHECK_EQ(f->out[0], us(c->first));
        CHECK_EQ(f->out[c->n - 1], us(newest));
        CHECK_EQ(f->found.done, us(newest));
    } else {
        CHECK_EQ(f->found.done,
                 c->missed ? us(c->now) : last); /* a missed due time is reported once */
    }
    CHECK_EQ(f->found.missed, c->missed);
    CHECK_EQ(f->found.again, c->again ? us(c->again) : INT64_MAX);
    CHECK(!f->found.more);
}

static void check_due_cases(struct fixture f, const struct due_case *cases, size_t n)
{
    const struct due_case *c;

    for (c = cases; c < cases + n; c++)
        check_due(&f, c);
    tz_free(&f.z);
}

/* ---- no jitter ---- */

TEST(due_time_fires_once_and_not_early)
{
    static const struct due_case cases[] = {
        {noon, "2026-06-01T12:59:59Z", "2026-06-01T13:00:00Z", .n = 0},
        {NULL, "2026-06-01T13:00:00Z", "2026-06-01T14:00:00Z", 1, .first = "2026-06-01T13:00:00Z"},
        {NULL, "2026-06-01T13:00:00Z", "2026-06-01T14:00:00Z", .n = 0},
    };

    check_due_cases(schedule("@hourly"), cases, COUNT(cases));
}

TEST(new_schedule_does_not_fire_due_times_before_its_creation)
{
    static const struct due_case cases[] = {
        {"2026-06-01T12:30:00Z", "2026-06-01T12:31:00Z", "2026-06-01T13:00:00Z", .n = 0},
    };
    struct fixture f = schedule("@hourly");

    f.s.catchup = 24 * HOUR;
    check_due_cases(f, cases, COUNT(cases));
}

TEST(catchup_fires_each_missed_due_time_within_its_window)
{
    static const struct due_case cases[] = {
        {noon, "2026-06-01T15:30:00Z", "2026-06-01T16:00:00Z", 3, .first = "2026-06-01T13:00:00Z",
         .newest = "2026-06-01T15:00:00Z"},
        {noon, "2026-06-02T12:00:00Z", "2026-06-02T13:00:00Z", 7, .first = "2026-06-02T06:00:00Z",
         .newest = "2026-06-02T12:00:00Z",
         .missed = true}, /* exactly six hours ago is within the window */
        {noon, "2026-06-02T12:00:00.000001Z", "2026-06-02T13:00:00Z", 6,
         .first = "2026-06-02T07:00:00Z", .newest = "2026-06-02T12:00:00Z", .missed = true},
    };
    struct fixture f = schedule("@hourly");

    f.s.catchup = 6 * HOUR;
    check_due_cases(f, cases, COUNT(cases));
}

TEST(catchup_last_fires_only_the_newest_missed_due_time)
{
    static const struct due_case cases[] = {
        {"2020-01-01", "2026-06-01T15:30:00Z", "2026-06-01T16:00:00Z", 1,
         .first = "2026-06-01T15:00:00Z", .missed = true},
        {noon, "2026-06-01T13:30:00Z", "2026-06-01T14:00:00Z", 1, .first = "2026-06-01T13:00:00Z"},
        {noon, "2026-06-01T12:30:00Z", "2026-06-01T13:00:00Z", .n = 0},
    };
    struct fixture f = schedule("@hourly");

    f.s.catchup = CATCHUP_LAST;
    check_due_cases(f, cases, COUNT(cases));
}

TEST(missed_due_time_without_catchup_fires_only_within_the_tolerance)
{
    static const struct due_case cases[] = {
        {noon, "2026-06-01T13:01:00Z", "2026-06-01T14:00:00Z", 1, .first = "2026-06-01T13:00:00Z"},
        {noon, "2026-06-01T13:01:00.000001Z", "2026-06-01T14:00:00Z", .n = 0, .missed = true},
        {NULL, "2026-06-01T13:02:00Z", "2026-06-01T14:00:00Z", .n = 0},
        {noon, "2026-06-01T15:00:30Z", "2026-06-01T16:00:00Z", 1, .first = "2026-06-01T15:00:00Z",
         .missed = true},
    };

    CHECK_EQ(SCHEDULE_TOLERANCE, MINUTE);
    check_due_cases(schedule("@hourly"), cases, COUNT(cases));
}

TEST(catchup_window_shorter_than_the_tolerance_is_extended_to_the_tolerance)
{
    static const struct due_case cases[] = {
        {noon, "2026-06-01T13:00:30Z", "2026-06-01T14:00:00Z", 1, .first = "2026-06-01T13:00:00Z"},
    };
    struct fixture f = schedule("@hourly");

    f.s.catchup = 1;
    check_due_cases(f, cases, COUNT(cases));
}

TEST(missed_due_times_beyond_one_slice_fire_in_further_slices)
{
    struct fixture f = schedule("* * * * *");
    int64_t last = us(noon), now = us("2026-06-01T13:40:30Z"), want = last;
    size_t slices = 0, i;

    f.s.catchup = 24 * HOUR;
    do {
        evaluate(&f, last, now);
        for (i = 0; i < f.found.n; i++)
            CHECK_EQ(f.out[i], want += MINUTE);
        CHECK_EQ(f.found.again, f.found.more ? now : us("2026-06-01T13:41:00Z"));
        last = f.found.done;
        slices++;
    } while (f.found.more);
    CHECK_EQ(want, us("2026-06-01T13:40:00Z"));
    CHECK_EQ(slices, 7);
    tz_free(&f.z);
}

TEST(years_of_missed_minutes_are_evaluated_quickly)
{
    static const struct due_case years = {"1970-01-01",           "2026-06-01T12:00:30Z",
                                          "2026-06-01T12:01:00Z", 1,
                                          .first = noon,          .missed = true};
    struct fixture f = schedule("* * * * *");
    int i;

    for (i = 0; i < 1000; i++) {
        f.s.catchup = i % 2 ? CATCHUP_LAST : 0;
        check_due(&f, &years);
    }
    tz_free(&f.z);
}

TEST(clock_set_back_fires_no_due_time_again)
{
    static const struct due_case cases[] = {
        {noon, "2026-06-01T09:30:00Z", "2026-06-01T13:00:00Z", .n = 0},
    };
    struct fixture f = schedule("@hourly");

    f.s.catchup = 24 * HOUR;
    check_due_cases(f, cases, COUNT(cases));
}

TEST(paused_schedule_fires_nothing)
{
    static const struct due_case cases[] = {
        {noon, "2026-06-01T15:00:00Z", NULL, .n = 0},
    };
    struct fixture f = schedule("@hourly");

    f.s.paused = true;
    f.s.catchup = 24 * HOUR;
    check_due_cases(f, cases, COUNT(cases));
}

/* Active from 14:00 on, and before 17:00. */
static struct fixture three_hours(int64_t catchup)
{
    struct fixture f = schedule("@hourly");

    f.s.catchup = catchup;
    f.s.start = us("2026-06-01T14:00:00Z");
    f.s.end = us("2026-06-01T17:00:00Z");
    return f;
}

TEST(due_times_before_start_or_after_end_do_not_fire)
{
    static const struct due_case all[] = {
        {noon, "2026-06-01T12:30:00Z", "2026-06-01T14:00:00Z", .n = 0},
        {noon, "2026-06-01T15:30:00Z", "2026-06-01T16:00:00Z", 2, .first = "2026-06-01T14:00:00Z",
         .newest = "2026-06-01T15:00:00Z"},
        {noon, "2026-06-01T20:30:00Z", NULL, 3, .first = "2026-06-01T14:00:00Z",
         .newest = "2026-06-01T16:00:00Z"},
    };
    static const struct due_case last[] = {
        {noon, "2026-06-01T20:30:00Z", NULL, 1, .first = "2026-06-01T16:00:00Z", .missed = true},
        {noon, "2026-06-01T14:30:00Z", "2026-06-01T15:00:00Z", 1,
         .first = "2026-06-01T14:00:00Z"}, /* the first due time is also the newest */
    };
    static const struct due_case none[] = {
        /* the end passed without an evaluation */
        {noon, "2026-06-01T20:30:00Z", NULL, .n = 0, .missed = true},
        {NULL, "2026-06-01T20:31:00Z", NULL, .n = 0},
    };

    check_due_cases(three_hours(24 * HOUR), all, COUNT(all));
    check_due_cases(three_hours(CATCHUP_LAST), last, COUNT(last));
    check_due_cases(three_hours(0), none, COUNT(none));
}

TEST(due_times_follow_the_time_zone_across_a_dst_change)
{
    struct fixture f = schedule_in_berlin("30 2 * * *");

    f.s.catchup = 96 * HOUR;
    evaluate(&f, us("2026-03-27T12:00:00Z"), us("2026-03-30T12:00:00Z"));
    CHECK_EQ(f.found.n, 3);
    CHECK_EQ(f.out[0], us("2026-03-28T02:30:00+01:00"));
    CHECK_EQ(f.out[1], us("2026-03-29T03:00:00+02:00"));
    CHECK_EQ(f.out[2], us("2026-03-30T02:30:00+02:00"));
    tz_free(&f.z);
}

/* ---- jitter ---- */

/* Jitter is not stored, so it must be the same for ever and on every machine. */
TEST(jitter_depends_only_on_the_name_and_the_due_time)
{
    struct fixture f = schedule("@daily");

    f.s.jitter = HOUR;
    CHECK_EQ(schedule_fires_at(&f.s, f.z, us("2026-06-01")) - us("2026-06-01"), 1436458157);
    CHECK_EQ(schedule_fires_at(&f.s, f.z, us("2026-06-02")) - us("2026-06-02"), 2274585303);
    f.s.name = "weekly";
    CHECK_EQ(schedule_fires_at(&f.s, f.z, us("2026-06-01")) - us("2026-06-01"), 1211650251);
    f.s.jitter = 0;
    CHECK_EQ(schedule_fires_at(&f.s, f.z, us("2026-06-01")), us("2026-06-01"));
    tz_free(&f.z);
}

TEST(jitter_is_spread_evenly_over_its_span)
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
    tz_free(&f.z);
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
    tz_free(&f.z);
}

TEST(firing_delayed_by_jitter_is_not_counted_as_missed)
{
    struct fixture f = schedule("@daily");
    int64_t last = us(noon), due = us("2026-06-02"), fires;

    f.s.jitter = 12 * HOUR;
    fires = schedule_fires_at(&f.s, f.z, due);
    CHECK(fires > due + SCHEDULE_TOLERANCE);
    evaluate(&f, last, due);
    CHECK_EQ(f.found.n, 0);
    CHECK_EQ(f.found.again, fires);
    evaluate(&f, last, fires - 1);
    CHECK_EQ(f.found.n, 0);
    CHECK(!f.found.missed);
    CHECK_EQ(f.found.done, last);
    evaluate(&f, last, fires);
    CHECK_EQ(f.found.n, 1);
    CHECK_EQ(f.out[0], due);
    evaluate(&f, last, fires + SCHEDULE_TOLERANCE);
    CHECK_EQ(f.found.n, 1);
    f.s.start = due; /* now this due time is the first of the schedule */
    evaluate(&f, last, fires + SCHEDULE_TOLERANCE);
    CHECK_EQ(f.found.n, 1);
    evaluate(&f, last, fires + SCHEDULE_TOLERANCE + 1);
    CHECK_EQ(f.found.n, 0);
    CHECK(f.found.missed);
    tz_free(&f.z);
}

TEST(newest_missed_due_time_fires_while_the_next_one_is_delayed_by_jitter)
{
    struct fixture f = schedule("@daily");
    int64_t due = us("2026-06-02"), fires;

    f.s.jitter = 12 * HOUR;
    f.s.catchup = CATCHUP_LAST;
    fires = schedule_fires_at(&f.s, f.z, due);
    evaluate(&f, us("2026-05-01"), fires - 1);
    CHECK_EQ(f.found.n, 1);
    CHECK_EQ(f.out[0], us("2026-06-01"));
    CHECK(f.found.missed);
    CHECK_EQ(f.found.again, fires);
    evaluate(&f, f.found.done, fires);
    CHECK_EQ(f.found.n, 1);
    CHECK_EQ(f.out[0], due);
    CHECK(!f.found.missed);
    evaluate(&f, us("2026-05-01"),
             fires); /* the next one has reached its time: only the newest fires */
    CHECK_EQ(f.found.n, 1);
    CHECK_EQ(f.out[0], due);
    tz_free(&f.z);
}

/* ---- a straightforward model that walks every due time ---- */

static void check_against_model(struct fixture *f, int64_t last, int64_t now)
{
    int64_t due = last, kept[MAX], window, fires, again = INT64_MAX;
    size_t n = 0, i;
    bool missed = false;

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
            missed = true;
            n = 0;
        }
        if (f->s.catchup != CATCHUP_LAST && fires < now - window)
            missed = true;
        else
            kept[n++] = due;
        CHECK(n < MAX);
    }
    evaluate(f, last, now);
    CHECK_EQ(f->found.n, n);
    for (i = 0; i < n; i++)
        CHECK_EQ(f->out[i], kept[i]);
    CHECK_EQ(f->found.missed, missed);
    CHECK_EQ(f->found.again, again);
    CHECK(f->found.done >= last && (f->found.done <= now || f->found.done == last));
    if (f->found.missed || n) { /* a second evaluation fires nothing more */
        evaluate(f, f->found.done, now);
        CHECK(!f->found.n && !f->found.missed);
        CHECK_EQ(f->found.again, again);
    }
}

TEST(schedule_evaluated_at_random_times_fires_as_a_simple_model_predicts)
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
                    struct fixture f = schedule_in_berlin(patterns[p]);
                    int64_t last = us("2026-03-28T20:00:00Z"), now;

                    random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
                    last += (int64_t)(random >> 40) % 1000 * MINUTE;
                    random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
                    now = last + (int64_t)(random >> 16) % (30 * HOUR) - HOUR;
                    f.s.catchup = catchups[c];
                    f.s.jitter = jitters[j];
                    f.s.start = random & 1 ? last + 5 * HOUR : 0;
                    f.s.end = random & 2 ? last + 20 * HOUR : 0;
                    check_against_model(&f, last, now);
                    tz_free(&f.z);
                }
}
