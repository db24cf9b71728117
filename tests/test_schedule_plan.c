/* test_schedule_plan.c - the decision about due times while earlier runs of the schedule are still
 * running. */
#include "due_fixture.h"

TEST_NO_DB;

/* ---- overlap ---- */

TEST(due_time_during_a_run_is_skipped_or_waits_or_fires_as_the_key_overlap_says)
{
    CHECK_EQ(schedule_firing(OVERLAP_SKIP, false, false), FIRING_RUN);
    CHECK_EQ(schedule_firing(OVERLAP_SKIP, true, false), FIRING_SKIP);
    CHECK_EQ(schedule_firing(OVERLAP_QUEUE, false, false), FIRING_RUN);
    CHECK_EQ(schedule_firing(OVERLAP_QUEUE, true, false), FIRING_WAIT);
    CHECK_EQ(schedule_firing(OVERLAP_QUEUE, true, true), FIRING_SKIP);
    CHECK_EQ(schedule_firing(OVERLAP_QUEUE, false, true), FIRING_SKIP);
    CHECK_EQ(schedule_firing(OVERLAP_ALLOW, true, true), FIRING_RUN);
}

/* ---- a whole evaluation ---- */

static struct schedule_plan plan(struct fixture *f, const struct schedule_state *is,
                                 const char *now)
{
    struct schedule_plan p;

    schedule_plan(&f->s, f->z, is, us(now), &p);
    return p;
}

TEST(next_missed_due_time_waits_for_the_run_and_later_ones_are_decided_after_it)
{
    struct fixture f = schedule("@hourly");
    struct schedule_state is = {.done = us(noon)};
    struct schedule_plan p;

    f.s.catchup = 24 * HOUR;
    p = plan(&f, &is, "2026-06-01T15:30:00Z");
    CHECK_EQ(p.n, 1);
    CHECK_EQ(p.due[0], us("2026-06-01T13:00:00Z"));
    CHECK_EQ(p.waiting, us("2026-06-01T14:00:00Z"));
    CHECK_EQ(p.done, p.waiting);
    CHECK_EQ(p.next, 0); /* nothing to do before the run has ended */
    is = (struct schedule_state){.done = p.done, .waiting = p.waiting, .running = true};
    p = plan(&f, &is, "2026-06-01T15:31:00Z");
    CHECK_EQ(p.n, 0);
    CHECK_EQ(p.skipped, 0);
    is.running = false;
    p = plan(&f, &is, "2026-06-01T15:32:00Z");
    CHECK_EQ(p.n, 1);
    CHECK_EQ(p.due[0], us("2026-06-01T14:00:00Z"));
    CHECK_EQ(p.waiting, us("2026-06-01T15:00:00Z"));
    CHECK_EQ(p.next, us("2026-06-01T16:00:00Z"));
    tz_free(&f.z);
}

TEST(due_times_of_a_paused_schedule_are_ignored)
{
    struct fixture f = schedule("@hourly");
    struct schedule_state is = {.done = us(noon)};
    struct schedule_plan p;

    f.s.paused = true;
    p = plan(&f, &is, "2026-06-01T15:30:00Z");
    CHECK_EQ(p.n, 0);
    CHECK_EQ(p.next, 0);
    CHECK_EQ(p.done, us(noon));
    tz_free(&f.z);
}

/* Evaluations at random times, with runs that end at random: no due time is started twice or before
 * it is due, and with full catch-up and overlap none is left out. */
TEST(due_time_fires_once_however_evaluations_and_ends_of_runs_interleave)
{
    unsigned seed = 1, round;

    for (round = 0; round < 300; round++) {
        struct fixture f = schedule(round % 2 ? "*/10 * * * *" : "7,9,30 * * * *");
        struct schedule_state is = {.done = us(noon)};
        int64_t now = us(noon), newest = us(noon), first_due;
        size_t started = 0, expected = 0, i;
        int step;

        f.s.overlap = (enum overlap)(round % 3);
        f.s.catchup = 365 * 24 * HOUR;
        f.s.jitter = round % 5 ? 0 : 3 * MINUTE;
        for (step = 0; step < 60; step++) {
            struct schedule_plan p;

            now += (int64_t)(seed = seed * 1103515245 + 12345) % (40 * MINUTE);
            schedule_plan(&f.s, f.z, &is, now, &p);
            for (i = 0; i < p.n; i++) {
                CHECK(p.due[i] > newest);
                CHECK(schedule_fires_at(&f.s, f.z, p.due[i]) <= now);
                newest = p.due[i];
            }
            started += p.n;
            CHECK(p.done >= is.done && p.done <= now);
            CHECK(f.s.overlap == OVERLAP_ALLOW || p.n <= 1);
            CHECK(!p.waiting || p.waiting <= p.done);
            CHECK(p.next || p.waiting); /* another evaluation will follow */
            is = (struct schedule_state){
                .done = p.done, .waiting = p.waiting, .running = p.n || is.running};
            if ((seed >> 16) % 3)
                is.running = false;
        }
        if (f.s.overlap == OVERLAP_ALLOW) {
            for (first_due = us(noon);
                 cron_next(&f.s.cron, f.z, first_due, &first_due) && first_due <= is.done;)
                expected++;
            CHECK_EQ(started, expected);
        }
        tz_free(&f.z);
    }
}
