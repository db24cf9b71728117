/* test_schedule_plan.c - what a look at a schedule makes of its due times while runs of it go on.
 */
#include "due_fixture.h"

TEST_NO_DB;

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
    tz_free(&f.z);
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
    tz_free(&f.z);
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
        tz_free(&f.z);
    }
}
