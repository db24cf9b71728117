/* test_cron_clock.c - when cron patterns are due while clocks change: selected cases, and random
 * patterns, each generated with the values that its fields match, compared with a reference clock
 * that advances minute by minute. */
#include "cron_fixture.h"

#include <stdio.h>
#include <time.h>

TEST_NO_DB;

/* ---- when clocks change ---- */

TEST(local_time_skipped_in_berlin_is_due_at_the_dst_change)
{
    static const struct due_case cases[] = {
        {"30 2 * * *",
         "2026-03-28T00:00:00+01:00",
         {"2026-03-28T02:30:00+01:00", "2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"}},
        {"*/10 2 * * *",
         "2026-03-28T02:50:00+01:00",
         {"2026-03-29T03:00:00+02:00",
          "2026-03-30T02:00:00+02:00"}}, /* six skipped times are due once */
        {"0,30 2,3 * * *",
         "2026-03-29T00:00:00+01:00",
         {"2026-03-29T03:00:00+02:00", "2026-03-29T03:30:00+02:00", "2026-03-30T02:00:00+02:00"}},
        {"30 2 29 3 *", "2025-12-01", {"2026-03-29T03:00:00+02:00", "2027-03-29T02:30:00+02:00"}},
        {"0 */2 * * *",
         "2026-03-29T00:00:00+01:00",
         {"2026-03-29T03:00:00+02:00", "2026-03-29T04:00:00+02:00", "2026-03-29T06:00:00+02:00"}},
    };

    check_cases(tz_by_name("Europe/Berlin"), cases, COUNT(cases));
}

TEST(local_time_repeated_in_berlin_is_due_only_the_first_time)
{
    static const struct due_case cases[] = {
        {"30 2 * * *",
         "2026-10-24T12:00:00+02:00",
         {"2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"}},
        {"0 3 * * *",
         "2026-10-24T12:00:00+02:00",
         {"2026-10-25T03:00:00+01:00", "2026-10-26T03:00:00+01:00"}},
        {"*/30 2,3 * * *",
         "2026-10-25T00:00:00+02:00",
         {"2026-10-25T02:00:00+02:00", "2026-10-25T02:30:00+02:00", "2026-10-25T03:00:00+01:00",
          "2026-10-25T03:30:00+01:00"}},
        /* starting in the second of the two hours */
        {"30 2 * * *", "2026-10-25T02:10:00+01:00", {"2026-10-26T02:30:00+01:00"}},
    };

    check_cases(tz_by_name("Europe/Berlin"), cases, COUNT(cases));
}

TEST(hourly_pattern_in_berlin_is_due_every_elapsed_hour)
{
    static const struct due_case cases[] = {
        {"30 * * * *",
         "2026-03-29T01:00:00+01:00",
         {"2026-03-29T01:30:00+01:00", "2026-03-29T03:30:00+02:00", "2026-03-29T04:30:00+02:00"}},
        {"30 * * * *",
         "2026-10-25T01:00:00+02:00",
         {"2026-10-25T01:30:00+02:00", "2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00",
          "2026-10-25T03:30:00+01:00"}},
        {"*/30 0-23 * * *",
         "2026-10-25T02:00:00+02:00",
         {"2026-10-25T02:30:00+02:00", "2026-10-25T02:00:00+01:00", "2026-10-25T02:30:00+01:00",
          "2026-10-25T03:00:00+01:00"}},
        {"59 * 25 10 *",
         "2026-10-25T02:30:00+02:00",
         {"2026-10-25T02:59:00+02:00", "2026-10-25T02:59:00+01:00", "2026-10-25T03:59:00+01:00"}},
    };

    check_cases(tz_by_name("Europe/Berlin"), cases, COUNT(cases));
}

TEST(daily_pattern_in_new_york_is_due_once_a_day_across_both_dst_changes)
{
    static const struct due_case cases[] = {
        {"15 2 * * *",
         "2026-03-07T12:00:00-05:00",
         {"2026-03-08T03:00:00-04:00", "2026-03-09T02:15:00-04:00"}},
        {"15 1 * * *",
         "2026-10-31T12:00:00-04:00",
         {"2026-11-01T01:15:00-04:00", "2026-11-02T01:15:00-05:00"}},
        {"@daily",
         "2026-03-07T12:00:00-05:00",
         {"2026-03-08T00:00:00-05:00", "2026-03-09T00:00:00-04:00"}},
    };

    check_cases(tz_by_name("America/New_York"), cases, COUNT(cases));
}

TEST(due_times_follow_the_half_hour_dst_change_of_lord_howe)
{
    static const struct due_case cases[] = {
        {"15 2 * * *",
         "2026-10-03T12:00:00+10:30",
         {"2026-10-04T02:30:00+11:00", "2026-10-05T02:15:00+11:00"}},
        {"45 1 * * *",
         "2026-04-04T12:00:00+11:00",
         {"2026-04-05T01:45:00+11:00", "2026-04-06T01:45:00+10:30"}},
        {"@hourly",
         "2026-10-04T00:30:00+10:30",
         {"2026-10-04T01:00:00+10:30", "2026-10-04T03:00:00+11:00"}},
        {"45 * * * *",
         "2026-04-05T01:00:00+11:00",
         {"2026-04-05T01:45:00+11:00", "2026-04-05T01:45:00+10:30", "2026-04-05T02:45:00+10:30"}},
    };

    check_cases(tz_by_name("Australia/Lord_Howe"), cases, COUNT(cases));
}

TEST(due_times_follow_the_midnight_dst_change_of_sao_paulo)
{
    static const struct due_case cases[] = {
        {"@daily",
         "2018-11-03T12:00:00-03:00",
         {"2018-11-04T01:00:00-02:00", "2018-11-05T00:00:00-02:00"}},
        {"30 23 * * *",
         "2018-02-17T12:00:00-02:00",
         {"2018-02-17T23:30:00-02:00", "2018-02-18T23:30:00-03:00"}},
        {"@daily",
         "2018-02-17T12:00:00-02:00",
         {"2018-02-18T00:00:00-03:00", "2018-02-19T00:00:00-03:00"}},
        {"@daily", "2026-11-03T12:00:00-03:00", {"2026-11-04T00:00:00-03:00"}},
    };

    check_cases(tz_by_name("America/Sao_Paulo"), cases, COUNT(cases));
}

TEST(time_on_the_day_that_apia_skipped_is_due_at_the_date_change)
{
    static const struct due_case cases[] = {
        {"0 12 * * *",
         "2011-12-28T12:00:00-10:00",
         {"2011-12-29T12:00:00-10:00", "2011-12-31T00:00:00+14:00", "2011-12-31T12:00:00+14:00"}},
        {"0 12 30 12 *", "2011-12-01", {"2011-12-31T00:00:00+14:00", "2012-12-30T12:00:00+14:00"}},
        {"0 9 * * fri", "2011-12-24", {"2011-12-31T00:00:00+14:00", "2012-01-06T09:00:00+14:00"}},
        {"@hourly",
         "2011-12-29T22:30:00-10:00",
         {"2011-12-29T23:00:00-10:00", "2011-12-31T00:00:00+14:00", "2011-12-31T01:00:00+14:00"}},
    };

    check_cases(tz_by_name("Pacific/Apia"), cases, COUNT(cases));
}

TEST(pattern_in_utc_is_not_affected_by_dst_changes)
{
    static const struct due_case cases[] = {
        {"30 2 * * *", "2026-03-28T12:00:00Z", {"2026-03-29T02:30:00Z", "2026-03-30T02:30:00Z"}},
    };
    struct err err = ERR_INIT;
    struct tz *z = NULL;

    CHECK_OK_ERR(tz_load("UTC", &z, &err), &err);
    check_cases(z, cases, COUNT(cases));
}

/* ---- reference clock ---- */

static uint64_t random_state;

static int random_below(int n)
{
    random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (int)((random_state >> 33) % (uint64_t)n);
}

/* A random pattern, and the values that each of its fields matches. */
struct random_pattern {
    char text[256];
    bool set[5][64];
    bool star[5];
};

static void make_field(struct random_pattern *m, int field, int low, int high)
{
    size_t len = strlen(m->text);
    int items = 1 + random_below(3), a, b, step, n, i;

    m->star[field] = random_below(3) == 0;
    for (i = 0; i < items; i++) {
        step = 1 + random_below(random_below(2) ? 4 : high - low + 1);
        a = low + random_below(high - low + 1);
        b = a + random_below(high - a + 1);
        if (i == 0 && m->star[field]) {
            a = low, b = high;
            step = random_below(2) ? 1 : step;
            n = snprintf(m->text + len, sizeof(m->text) - len, step == 1 ? "*" : "*/%d", step);
        } else if (random_below(2)) {
            b = a;
            n = snprintf(m->text + len, sizeof(m->text) - len, "%s%d", i ? "," : "", a);
        } else {
            n = snprintf(m->text + len, sizeof(m->text) - len, "%s%d-%d/%d", i ? "," : "", a, b,
                         step);
        }
        len += (size_t)n;
        for (; a <= b; a += step)
            m->set[field][a] = true;
    }
    snprintf(m->text + len, sizeof(m->text) - len, " ");
}

static struct random_pattern make_pattern(void)
{
    struct random_pattern m = {0};

    make_field(&m, 0, 0, 59);
    if (random_below(3)) {
        make_field(&m, 1, 0, 23);
    } else { /* every hour */
        strncat(m.text, "* ", 3);
        memset(m.set[1], true, 24);
    }
    make_field(&m, 2, 1, 31);
    make_field(&m, 3, 1, 12);
    make_field(&m, 4, 0, 6);
    return m;
}

static bool matches_local_time(const struct random_pattern *m, int64_t local)
{
    time_t t = (time_t)local;
    struct tm tm;
    bool day, weekday;

    gmtime_r(&t, &tm);
    day = m->set[2][tm.tm_mday];
    weekday = m->set[4][tm.tm_wday];
    return m->set[0][tm.tm_min] && m->set[1][tm.tm_hour] && m->set[3][tm.tm_mon + 1] &&
           (m->star[2] || m->star[4] ? day && weekday : day || weekday);
}

static bool every_hour(const struct random_pattern *m)
{
    int hour;

    for (hour = 0; hour < 24; hour++)
        if (!m->set[1][hour])
            return false;
    return true;
}

/* Runs the reference clock from `from` to `until`, and expects the same due times from cron_next().
 * Returns how many there were. */
static size_t compare_with_reference_clock(const struct tz *z, const struct random_pattern *m,
                                           const struct cron *c, int64_t from, int64_t until)
{
    bool by_time = every_hour(m), due;
    int64_t furthest = INT64_MIN, t, local, next = 0;
    size_t n = 0;

    for (t = from - 3 * DAY; t < until; t += 60) {
        local = tz_to_local(z, t);
        due = false;
        if (by_time)
            due = matches_local_time(m, local);
        else if (furthest != INT64_MIN)
            for (; furthest < local; furthest += 60)
                due = due || matches_local_time(m, furthest + 60);
        if (furthest < local)
            furthest = local;
        if (t <= from || !due)
            continue;
        if (!cron_next(c, z, n++ ? next : from * SECOND, &next) || next != t * SECOND)
            test_fail(__FILE__, __LINE__, "'%s' from %lld: %lld, not %lld", m->text,
                      (long long)from, (long long)(next / SECOND), (long long)t);
    }
    if (cron_next(c, z, n ? next : from * SECOND, &next) && next < until * SECOND)
        test_fail(__FILE__, __LINE__, "'%s' is also due at %lld", m->text,
                  (long long)(next / SECOND));
    return n;
}

static void compare_around_changes(const char *name, const char *from, int patterns)
{
    struct tz *z = tz_by_name(name);
    struct tz_period p;
    size_t due = 0;
    int i;

    for (p = tz_period(z, at(from)); p.until < at("2030-01-01"); p = tz_period(z, p.until)) {
        for (i = 0; i < patterns; i++) {
            struct random_pattern m = make_pattern();
            struct err err = ERR_INIT;
            struct cron c;

            if (!cron_parse(m.text, &c, &err))
                due += compare_with_reference_clock(
                    z, &m, &c, p.until - DAY - 60 * random_below(600), p.until + 2 * DAY);
            else if (!strstr(err.msg, "never due"))
                test_fail(__FILE__, __LINE__, "%s", err.msg);
        }
    }
    CHECK(due > 100);
    tz_free(&z);
}

TEST_SLOW(random_patterns_around_dst_changes_match_the_reference_clock, 600)
{
    int n = test_full() ? 40 : SANITIZED ? 3 : 8;

    random_state = 1;
    compare_around_changes("Europe/Berlin", "2005-01-01", n);
    compare_around_changes("America/New_York", "2005-01-01", n);
    compare_around_changes("Australia/Lord_Howe", "2005-01-01", n);
    compare_around_changes("America/Sao_Paulo", "2000-01-01", n);
    compare_around_changes("Pacific/Apia", "2005-01-01", n * 2);
    compare_around_changes("Africa/Casablanca", "2015-01-01", n);
    compare_around_changes("Asia/Pyongyang", "2010-01-01", n * 10);
    compare_around_changes("Antarctica/Troll", "2010-01-01", n);
}

TEST_SLOW(random_patterns_over_years_match_the_reference_clock, 600)
{
    struct tz *z = tz_of_rule("EST5EDT,M3.2.0,M11.1.0");
    int64_t from = at("2023-05-05");
    size_t due = 0;
    int i;

    random_state = 2;
    for (i = 0; i < (test_full() ? 40 : SANITIZED ? 2 : 5); i++) {
        struct random_pattern m = make_pattern();
        struct err err = ERR_INIT;
        struct cron c;

        if (!cron_parse(m.text, &c, &err))
            due += compare_with_reference_clock(z, &m, &c, from,
                                                from + (2 * 365 + random_below(9)) * DAY);
    }
    CHECK(due > 100);
    tz_free(&z);
}
