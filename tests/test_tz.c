/* test_tz.c - time zones: offsets compared with libc's, and local times that a clock change skips
 * or repeats. */
#include "tz_fixture.h"

#include <stdlib.h>
#include <time.h>

TEST_NO_DB;

#define HOUR 3600
#define YEAR (365 * 86400)

static const char *const names[] = {
    "Europe/Berlin",
    "Europe/Dublin",
    "Europe/London",
    "America/New_York",
    "America/St_Johns",
    "America/Sao_Paulo",
    "America/Santiago",
    "America/Nuuk",
    "America/Caracas",
    "Africa/Casablanca",
    "Africa/Monrovia",
    "Asia/Gaza",
    "Asia/Kathmandu",
    "Asia/Tehran",
    "Asia/Pyongyang",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "Pacific/Chatham",
    "Pacific/Kwajalein",
    "Antarctica/Troll",
    "Etc/GMT+12",
    "EST5EDT",
    "America/Argentina/Buenos_Aires",
};

TEST(utc_needs_no_zone_file_and_has_no_changes)
{
    struct err err = ERR_INIT;
    struct tz *z = NULL;
    struct tz_period p;

    CHECK_OK_ERR(tz_load("UTC", &z, &err), &err);
    p = tz_period(z, 0);
    CHECK_EQ(p.offset, 0);
    CHECK(p.from == -TZ_FOREVER && p.until == TZ_FOREVER);
    CHECK_EQ(tz_to_local(z, 12345), 12345);
    CHECK_EQ(tz_from_local(z, 12345), 12345);
    tz_free(&z);
    tz_free(&z);
}

/* ---- offsets, compared with libc ---- */

static void check_against_libc(const struct tz *z, int64_t t)
{
    time_t when = (time_t)t;
    struct tm tm;

    CHECK(localtime_r(&when, &tm));
    if (tz_period(z, t).offset != tm.tm_gmtoff)
        test_fail(__FILE__, __LINE__, "%s at %lld: offset %d, libc has %ld", getenv("TZ"),
                  (long long)t, tz_period(z, t).offset, tm.tm_gmtoff);
}

/* Each test runs in its own process, so TZ may be set here. */
TEST(zone_offsets_match_libc_from_1850_to_2150)
{
    int64_t from = at("1850-01-01"), until = at("2150-01-01"), t;
    int step = test_full() ? 5 * HOUR + 7 : 83 * HOUR + 7;
    struct tz_period p;
    size_t i;

    for (i = 0; i < COUNT(names); i++) {
        struct tz *z = tz_by_name(names[i]);

        CHECK_OK(setenv("TZ", names[i], 1));
        tzset();
        for (t = from; t < until; t += step)
            check_against_libc(z, t);
        for (p = tz_period(z, from); p.until < until; p = tz_period(z, p.until)) {
            check_against_libc(z, p.until - 1);
            check_against_libc(z, p.until);
        }
        tz_free(&z);
    }
}

/* Rules that no current zone uses, covering the whole notation. */
TEST(posix_tz_rules_match_libc)
{
    static const char *const rules[] = {
        "CET-1CEST,M3.5.0,M10.5.0/3",
        "EST5EDT,M3.2.0,M11.1.0",
        "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0",
        "IST-1GMT0,M10.5.0,M3.5.0/1",
        "<-02>2<-01>,M3.5.0/-1,M10.5.0/0",
        "EET-2EEST,M3.4.4/50,M10.4.4/50",
        "AAA-3:04:05BBB-4:05:06,J59/1:02:03,J60/2",
        "AAA4BBB,59/0,300/24",
        "AAA10",
        "AAA0BBB,J1/0,J365/23",
    };
    int64_t t;
    size_t i;

    for (i = 0; i < COUNT(rules); i++) {
        struct tz *z = tz_of_rule(rules[i]);

        CHECK_OK(setenv("TZ", rules[i], 1));
        tzset();
        for (t = at("1971-01-01"); t < at("2110-01-01"); t += 17 * HOUR + 1801)
            check_against_libc(z, t);
        tz_free(&z);
    }
}

TEST(periods_of_a_zone_are_contiguous)
{
    static const int64_t far = INT64_C(100000) * YEAR;
    size_t i, n;

    for (i = 0; i < COUNT(names); i++) {
        struct tz *z = tz_by_name(names[i]);
        struct tz_period p = tz_period(z, -far), next;

        for (n = 0; p.until < TZ_FOREVER && n < 2000; n++, p = next) {
            next = tz_period(z, p.until);
            CHECK_EQ(next.from, p.until);
            CHECK(next.until > next.from);
            CHECK_EQ(tz_period(z, next.until - 1).from, next.from);
            CHECK(next.offset < TZ_MAX_OFFSET && next.offset > -TZ_MAX_OFFSET);
        }
        CHECK(tz_period(z, far).until > far);
        tz_free(&z);
    }
}

TEST(dst_rule_applies_in_years_beyond_the_table)
{
    struct tz *z = tz_by_name("Europe/Berlin");

    CHECK_EQ(tz_to_local(z, at("2999-07-01T12:00:00Z")), at("2999-07-01T14:00:00Z"));
    CHECK_EQ(tz_to_local(z, at("2999-01-01T12:00:00Z")), at("2999-01-01T13:00:00Z"));
    CHECK_EQ(tz_period(z, at("2500-07-01")).from, at("2500-03-28T01:00:00Z"));
    CHECK_EQ(tz_period(z, at("2500-07-01")).until, at("2500-10-31T01:00:00Z"));
    tz_free(&z);
}

/* RFC 8536 expresses this by a summer time that ends at the moment at which it starts again. */
TEST(dst_that_lasts_all_year_never_ends)
{
    struct tz *ahead = tz_of_rule("AAA3BBB,0/0,J365/25");
    struct tz *behind = tz_of_rule("XXX3EDT4,0/0,J365/23");
    int64_t t;

    for (t = at("2019-12-20"); t < at("2025-01-10"); t += 900) {
        CHECK_EQ(tz_period(ahead, t).offset, -2 * HOUR);
        CHECK_EQ(tz_period(behind, t).offset, -4 * HOUR);
    }
    CHECK_EQ(tz_to_local(ahead, tz_from_local(ahead, at("2021-01-01"))), at("2021-01-01"));
    tz_free(&ahead);
    tz_free(&behind);
}

/* The change may even fall into another year. libc does not handle this case. */
TEST(dst_rule_may_place_a_change_on_another_day)
{
    struct tz *z = tz_of_rule("AAA0BBB,M1.1.6/-24,M11.5.6/167");

    /* 2022-01-01 was a Saturday, so was 2022-11-26; 167 hours are seven days less one hour. */
    CHECK_EQ(tz_period(z, at("2022-06-01")).from, at("2021-12-31T00:00:00Z"));
    CHECK_EQ(tz_period(z, at("2022-06-01")).until, at("2022-12-02T22:00:00Z"));
    CHECK_EQ(tz_period(z, at("2021-12-30T23:59:59Z")).offset, 0);
    CHECK_EQ(tz_period(z, at("2021-12-31T00:00:00Z")).offset, HOUR);
    tz_free(&z);
}

TEST(dst_rule_may_place_all_changes_in_the_next_or_previous_year)
{
    struct tz *late = tz_of_rule("AAA0BBB,J364/167,J365/167");
    struct tz *early = tz_of_rule("AAA0BBB,J1/-100,J2/-100");
    struct tz_period p = tz_period(late, at("2022-01-02"));

    CHECK_EQ(p.offset, 0);
    CHECK_EQ(p.from, at("2021-01-06T22:00:00Z"));
    CHECK_EQ(p.until, at("2022-01-05T23:00:00Z"));
    p = tz_period(early, at("2022-12-30"));
    CHECK_EQ(p.offset, 0);
    CHECK_EQ(p.from, at("2022-12-28T19:00:00Z"));
    CHECK_EQ(p.until, at("2023-12-27T20:00:00Z"));
    tz_free(&late);
    tz_free(&early);
}

TEST(zone_table_applies_until_its_last_transition_and_the_rule_afterwards)
{
    static const struct tzif_step steps[] = {{1000, HOUR}, {2000, 2 * HOUR}, {3000, 3 * HOUR}};
    struct tz *z = tz_of_steps(-HOUR, steps, COUNT(steps), "AAA-3"), *fixed;
    struct tz_period p = tz_period(z, 2500);

    CHECK_EQ(tz_period(z, -5).offset, -HOUR);
    CHECK_EQ(tz_period(z, 999).offset, -HOUR);
    CHECK_EQ(tz_period(z, 1000).offset, HOUR);
    CHECK(p.from == 2000 && p.until == 3000 && p.offset == 2 * HOUR);
    CHECK_EQ(tz_period(z, 3000).offset, 3 * HOUR);
    CHECK_EQ(tz_period(z, 1 << 30).from, 3000);
    tz_free(&z);

    fixed = tz_of_steps(-HOUR, steps, COUNT(steps), ""); /* without a rule the last offset stays */
    CHECK_EQ(tz_period(fixed, 1 << 30).offset, 3 * HOUR);
    tz_free(&fixed);
}

/* ---- local times ---- */

/* How often the clocks show a local time. */
enum fit { ONCE, GAP, TWICE };

/* A local time and its first moment in UTC; `last` is its second moment if it is shown twice. */
struct local_case {
    const char *local;
    enum fit fit;
    const char *first, *last;
};

static void check_locals(struct tz *z, const struct local_case *cases, size_t n)
{
    const struct local_case *c;

    for (c = cases; c < cases + n; c++) {
        int64_t local = at(c->local), first = tz_from_local(z, local);

        if (first != at(c->first) || (c->fit == GAP) != (tz_to_local(z, first) > local) ||
            (c->fit == TWICE && tz_to_local(z, at(c->last)) != local))
            test_fail(__FILE__, __LINE__, "%s: first %lld", c->local, (long long)first);
    }
    tz_free(&z);
}

TEST(local_time_during_a_dst_change_is_reported_as_skipped_or_repeated)
{
    static const struct local_case cases[] = {
        {"2026-03-29T01:59:59Z", ONCE, .first = "2026-03-29T00:59:59Z"},
        {"2026-03-29T02:00:00Z", GAP, .first = "2026-03-29T01:00:00Z"},
        {"2026-03-29T02:59:59Z", GAP, .first = "2026-03-29T01:00:00Z"},
        {"2026-03-29T03:00:00Z", ONCE, .first = "2026-03-29T01:00:00Z"},
        {"2026-10-25T01:59:59Z", ONCE, .first = "2026-10-24T23:59:59Z"},
        {"2026-10-25T02:00:00Z", TWICE, "2026-10-25T00:00:00Z", "2026-10-25T01:00:00Z"},
        {"2026-10-25T02:59:59Z", TWICE, "2026-10-25T00:59:59Z", "2026-10-25T01:59:59Z"},
        {"2026-10-25T03:00:00Z", ONCE, .first = "2026-10-25T02:00:00Z"},
    };

    check_locals(tz_of_rule(berlin_rule), cases, COUNT(cases));
}

TEST(day_that_a_zone_skips_is_a_gap_of_one_day)
{
    static const struct local_case cases[] = {
        {"2011-12-29T23:59:59Z", ONCE, .first = "2011-12-30T09:59:59Z"},
        {"2011-12-30T00:00:00Z", GAP, .first = "2011-12-30T10:00:00Z"},
        {"2011-12-30T23:59:59Z", GAP, .first = "2011-12-30T10:00:00Z"},
        {"2011-12-31T00:00:00Z", ONCE, .first = "2011-12-30T10:00:00Z"},
    };

    check_locals(tz_by_name("Pacific/Apia"), cases, COUNT(cases));
}

TEST(dst_of_half_an_hour_makes_a_gap_of_half_an_hour)
{
    static const struct local_case cases[] = {
        {"2026-10-04T02:00:00Z", GAP, .first = "2026-10-03T15:30:00Z"},
        {"2026-10-04T02:30:00Z", ONCE, .first = "2026-10-03T15:30:00Z"},
        {"2026-04-05T01:29:00Z", ONCE, .first = "2026-04-04T14:29:00Z"},
        {"2026-04-05T01:30:00Z", TWICE, "2026-04-04T14:30:00Z", "2026-04-04T15:00:00Z"},
        {"2026-04-05T02:00:00Z", ONCE, .first = "2026-04-04T15:30:00Z"},
    };

    check_locals(tz_by_name("Australia/Lord_Howe"), cases, COUNT(cases));
}

/* Computes the expected values around a change by stepping a clock minute by minute. */
static void check_around(const struct tz *z, int64_t change)
{
    int64_t low = change - 2 * HOUR + tz_period(z, change - 1).offset, local, t;

    for (local = low; local < low + 4 * HOUR; local += 300) {
        for (t = change - 30 * HOUR; tz_to_local(z, t) < local; t += 60)
            ;
        CHECK_EQ(tz_from_local(z, local), t);
    }
}

TEST(local_times_around_every_dst_change_match_a_clock_moved_minute_by_minute)
{
    static const char *const some[] = {"Europe/Berlin", "Australia/Lord_Howe", "America/Sao_Paulo"};
    int64_t from = at("1990-01-01"), until = at("2020-01-01");
    struct tz_period p;
    size_t i;

    for (i = 0; i < COUNT(some); i++) {
        struct tz *z = tz_by_name(some[i]);

        for (p = tz_period(z, from); p.until < until; p = tz_period(z, p.until))
            check_around(z, p.until);
        tz_free(&z);
    }
}

TEST(first_moment_of_a_local_time_never_decreases_as_local_time_increases)
{
    static const struct tzif_step wild[] = {{100000, 25 * HOUR},
                                            {103000, -25 * HOUR + 1},
                                            {103001, 0},
                                            {150000, 20 * HOUR},
                                            {230000, -20 * HOUR}};
    struct tz *z = tz_of_steps(0, wild, COUNT(wild), "");
    int64_t local, last = INT64_MIN;

    for (local = -200000; local < 500000; local++) {
        int64_t first = tz_from_local(z, local);

        CHECK(first >= last);
        CHECK(tz_to_local(z, first) >= local);
        CHECK(tz_to_local(z, first - 1) < local);
        last = first;
    }
    tz_free(&z);
}
