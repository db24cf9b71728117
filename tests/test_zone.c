/* test_zone.c - time zones: names, files, offsets compared with libc's, and local times that are
 * left out or come twice. */
#include "zone_fixture.h"

#include "base/date.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

TEST_NO_DB;

#define COUNT(list) (sizeof(list) / sizeof(*(list)))
#define HOUR        3600
#define YEAR        (365 * 86400)

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

/* ---- the calendar ---- */

TEST(days_become_the_dates_that_libc_says_and_come_back)
{
    int64_t days;

    for (days = -800000; days < 3000000; days += 1 + (days & 7) * 5) {
        time_t t = (time_t)(days * 86400);
        struct date d = date_from_days(days);
        struct tm tm;

        gmtime_r(&t, &tm);
        CHECK_EQ(d.year, tm.tm_year + 1900);
        CHECK_EQ(d.month, tm.tm_mon + 1);
        CHECK_EQ(d.day, tm.tm_mday);
        CHECK_EQ(date_weekday(days), tm.tm_wday);
        CHECK_EQ(date_to_days(d.year, d.month, d.day), days);
        CHECK(d.day <= date_month_days(d.year, d.month));
    }
}

TEST(every_day_of_four_hundred_years_follows_the_one_before)
{
    struct date d = date_from_days(date_to_days(1900, 1, 1)), next;
    int64_t days;

    for (days = date_to_days(1900, 1, 2); d.year < 2301; days++, d = next) {
        next = date_from_days(days);
        if (d.day < date_month_days(d.year, d.month))
            CHECK(next.day == d.day + 1 && next.month == d.month && next.year == d.year);
        else
            CHECK(next.day == 1 && next.month == d.month % 12 + 1 &&
                  next.year == d.year + (d.month == 12));
    }
}

/* ---- names ---- */

TEST(a_name_can_not_leave_the_folder)
{
    static const char *const bad[] = {
        "",
        ".",
        "..",
        "../passwd",
        "/etc",
        "Europe/",
        "Europe//Rome",
        "Europe/../Etc/UTC",
        "a.b",
        "zone.tab",
        "Europe/Ber lin",
        "Europe\\Berlin",
        "Berlin\n",
        "Z\xc3\xbcrich",
        "~",
        "$TZ",
        "a234567890123456789012345678901234567890123456789012345678901234"};
    struct zone *z = NULL;
    size_t i;

    for (i = 0; i < COUNT(bad); i++) {
        struct err err = ERR_INIT;

        CHECK_EQ(zone_load(bad[i], &z, &err), -E_INVALID);
        CHECK(strstr(err.msg, "Europe/Berlin"));
        CHECK(!z);
    }
}

TEST(the_machines_own_zone_is_no_name_for_all_machines)
{
    struct err err = ERR_INIT;
    struct zone *z = NULL;

    CHECK_EQ(zone_load("localtime", &z, &err), -E_INVALID);
    CHECK(strstr(err.msg, "another machine"));
}

TEST(a_name_that_is_not_there_says_where_the_names_are)
{
    struct zone *berlin = zone_by_name("Europe/Berlin"), *z = NULL;
    struct err err = ERR_INIT;

    CHECK_STR(zone_name(berlin), "Europe/Berlin");
    CHECK_EQ(zone_load("Europe/Berln", &z, &err), -E_NOT_FOUND);
    CHECK(strstr(err.msg, ZONE_DIR));
    CHECK_EQ(zone_load("Europe", &z, &err), -E_NOT_FOUND);
    CHECK_EQ(zone_load("Europe/Berlin/Mitte", &z, &err), -E_NOT_FOUND);
    CHECK(!z);
    zone_free(&berlin);
}

TEST(a_file_that_is_no_zone_or_counts_leap_seconds_is_refused)
{
    struct zone *berlin = zone_by_name("Europe/Berlin"), *z = NULL;
    struct err err = ERR_INIT;

    zone_free(&berlin);
    if (!access(ZONE_DIR "/leapseconds", R_OK)) {
        CHECK_EQ(zone_load("leapseconds", &z, &err), -E_INVALID);
        CHECK(strstr(err.msg, "no TZif file"));
    }
    if (!access(ZONE_DIR "/right/Europe/Berlin", R_OK)) {
        CHECK_EQ(zone_load("right/Europe/Berlin", &z, &err), -E_INVALID);
        CHECK(strstr(err.msg, "leap seconds"));
    }
    CHECK(!z);
}

TEST(utc_needs_no_file_and_never_changes)
{
    struct err err = ERR_INIT;
    struct zone *z = NULL;
    struct zone_period p;

    CHECK_OK_ERR(zone_load("UTC", &z, &err), &err);
    p = zone_period(z, 0);
    CHECK_EQ(p.offset, 0);
    CHECK(p.from == -ZONE_FOREVER && p.until == ZONE_FOREVER);
    CHECK_EQ(zone_to_local(z, 12345), 12345);
    CHECK_EQ(zone_from_local(z, 12345).first, 12345);
    CHECK_EQ(zone_from_local(z, 12345).fit, ZONE_ONCE);
    zone_free(&z);
    zone_free(&z);
}

/* ---- offsets: libc is the judge ---- */

static void same_as_libc(const struct zone *z, int64_t t)
{
    time_t when = (time_t)t;
    struct tm tm;

    CHECK(localtime_r(&when, &tm));
    if (zone_period(z, t).offset != tm.tm_gmtoff)
        test_fail(__FILE__, __LINE__, "%s at %lld: offset %d, libc says %ld", zone_name(z),
                  (long long)t, zone_period(z, t).offset, tm.tm_gmtoff);
}

/* A test has a process of its own, so TZ may be set here. */
TEST(offsets_are_those_of_libc_from_1850_to_2150)
{
    int64_t from = at("1850-01-01"), until = at("2150-01-01"), t;
    int step = test_full() ? 5 * HOUR + 7 : 83 * HOUR + 7;
    struct zone_period p;
    size_t i;

    for (i = 0; i < COUNT(names); i++) {
        struct zone *z = zone_by_name(names[i]);

        CHECK_OK(setenv("TZ", names[i], 1));
        tzset();
        for (t = from; t < until; t += step)
            same_as_libc(z, t);
        for (p = zone_period(z, from); p.until < until; p = zone_period(z, p.until)) {
            same_as_libc(z, p.until - 1);
            same_as_libc(z, p.until);
        }
        zone_free(&z);
    }
}

/* Rules that no zone of today has: all of the notation. */
TEST(rules_mean_what_libc_takes_them_for)
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
        struct zone *z = zone_of_rule(rules[i]);

        CHECK_OK(setenv("TZ", rules[i], 1));
        tzset();
        for (t = at("1971-01-01"); t < at("2110-01-01"); t += 17 * HOUR + 1801)
            same_as_libc(z, t);
        zone_free(&z);
    }
}

TEST(stretches_of_time_follow_each_other_without_a_hole)
{
    static const int64_t far = INT64_C(100000) * YEAR;
    size_t i, n;

    for (i = 0; i < COUNT(names); i++) {
        struct zone *z = zone_by_name(names[i]);
        struct zone_period p = zone_period(z, -far), next;

        for (n = 0; p.until < ZONE_FOREVER && n < 2000; n++, p = next) {
            next = zone_period(z, p.until);
            CHECK_EQ(next.from, p.until);
            CHECK(next.until > next.from);
            CHECK_EQ(zone_period(z, next.until - 1).from, next.from);
            CHECK(next.offset < ZONE_MAX_OFFSET && next.offset > -ZONE_MAX_OFFSET);
        }
        CHECK(zone_period(z, far).until > far);
        zone_free(&z);
    }
}

TEST(summer_time_goes_on_in_years_that_no_table_has)
{
    struct zone *z = zone_by_name("Europe/Berlin");

    CHECK_EQ(zone_to_local(z, at("2999-07-01T12:00:00Z")), at("2999-07-01T14:00:00Z"));
    CHECK_EQ(zone_to_local(z, at("2999-01-01T12:00:00Z")), at("2999-01-01T13:00:00Z"));
    CHECK_EQ(zone_period(z, at("2500-07-01")).from, at("2500-03-28T01:00:00Z"));
    CHECK_EQ(zone_period(z, at("2500-07-01")).until, at("2500-10-31T01:00:00Z"));
    zone_free(&z);
}

/* RFC 8536's way to say so: it ends at the moment at which it begins again. */
TEST(summer_time_that_lasts_all_year_never_stops)
{
    struct zone *ahead = zone_of_rule("AAA3BBB,0/0,J365/25");
    struct zone *behind = zone_of_rule("XXX3EDT4,0/0,J365/23");
    int64_t t;

    for (t = at("2019-12-20"); t < at("2025-01-10"); t += 900) {
        CHECK_EQ(zone_period(ahead, t).offset, -2 * HOUR);
        CHECK_EQ(zone_period(behind, t).offset, -4 * HOUR);
    }
    CHECK_EQ(zone_from_local(ahead, at("2021-01-01")).fit, ZONE_ONCE);
    zone_free(&ahead);
    zone_free(&behind);
}

/* Also into another year. libc does not know that one. */
TEST(a_change_may_be_noted_on_another_day_than_it_is_made)
{
    struct zone *z = zone_of_rule("AAA0BBB,M1.1.6/-24,M11.5.6/167");

    /* 2022-01-01 was a Saturday, so was 2022-11-26; 167 hours are seven days less one hour. */
    CHECK_EQ(zone_period(z, at("2022-06-01")).from, at("2021-12-31T00:00:00Z"));
    CHECK_EQ(zone_period(z, at("2022-06-01")).until, at("2022-12-02T22:00:00Z"));
    CHECK_EQ(zone_period(z, at("2021-12-30T23:59:59Z")).offset, 0);
    CHECK_EQ(zone_period(z, at("2021-12-31T00:00:00Z")).offset, HOUR);
    zone_free(&z);
}

TEST(all_changes_of_a_year_may_lie_in_the_next_or_in_the_one_before)
{
    struct zone *late = zone_of_rule("AAA0BBB,J364/167,J365/167");
    struct zone *early = zone_of_rule("AAA0BBB,J1/-100,J2/-100");
    struct zone_period p = zone_period(late, at("2022-01-02"));

    CHECK_EQ(p.offset, 0);
    CHECK_EQ(p.from, at("2021-01-06T22:00:00Z"));
    CHECK_EQ(p.until, at("2022-01-05T23:00:00Z"));
    p = zone_period(early, at("2022-12-30"));
    CHECK_EQ(p.offset, 0);
    CHECK_EQ(p.from, at("2022-12-28T19:00:00Z"));
    CHECK_EQ(p.until, at("2023-12-27T20:00:00Z"));
    zone_free(&late);
    zone_free(&early);
}

TEST(a_table_holds_until_its_last_step_and_the_rule_from_there_on)
{
    static const struct tzif_step steps[] = {{1000, HOUR}, {2000, 2 * HOUR}, {3000, 3 * HOUR}};
    struct zone *z = zone_of_steps(-HOUR, steps, COUNT(steps), "AAA-3"), *fixed;
    struct zone_period p = zone_period(z, 2500);

    CHECK_EQ(zone_period(z, -5).offset, -HOUR);
    CHECK_EQ(zone_period(z, 999).offset, -HOUR);
    CHECK_EQ(zone_period(z, 1000).offset, HOUR);
    CHECK(p.from == 2000 && p.until == 3000 && p.offset == 2 * HOUR);
    CHECK_EQ(zone_period(z, 3000).offset, 3 * HOUR);
    CHECK_EQ(zone_period(z, 1 << 30).from, 3000);
    zone_free(&z);

    fixed = zone_of_steps(-HOUR, steps, COUNT(steps), ""); /* without a rule the last one stays */
    CHECK_EQ(zone_period(fixed, 1 << 30).offset, 3 * HOUR);
    zone_free(&fixed);
}

/* ---- local times ---- */

static void check_local(const struct zone *z, const char *local, enum zone_fit fit,
                        const char *first, const char *last)
{
    struct zone_moment m = zone_from_local(z, at(local));

    if (m.fit != fit || m.first != at(first) || m.last != at(last))
        test_fail(__FILE__, __LINE__, "%s in %s: fit %d, first %lld, last %lld", local,
                  zone_name(z), m.fit, (long long)m.first, (long long)m.last);
}

TEST(local_times_say_whether_they_are_left_out_or_come_twice)
{
    struct zone *z = zone_of_rule(berlin_rule);

    check_local(z, "2026-03-29T01:59:59Z", ZONE_ONCE, "2026-03-29T00:59:59Z",
                "2026-03-29T00:59:59Z");
    check_local(z, "2026-03-29T02:00:00Z", ZONE_GAP, "2026-03-29T01:00:00Z",
                "2026-03-29T01:00:00Z");
    check_local(z, "2026-03-29T02:59:59Z", ZONE_GAP, "2026-03-29T01:00:00Z",
                "2026-03-29T01:00:00Z");
    check_local(z, "2026-03-29T03:00:00Z", ZONE_ONCE, "2026-03-29T01:00:00Z",
                "2026-03-29T01:00:00Z");
    check_local(z, "2026-10-25T01:59:59Z", ZONE_ONCE, "2026-10-24T23:59:59Z",
                "2026-10-24T23:59:59Z");
    check_local(z, "2026-10-25T02:00:00Z", ZONE_TWICE, "2026-10-25T00:00:00Z",
                "2026-10-25T01:00:00Z");
    check_local(z, "2026-10-25T02:59:59Z", ZONE_TWICE, "2026-10-25T00:59:59Z",
                "2026-10-25T01:59:59Z");
    check_local(z, "2026-10-25T03:00:00Z", ZONE_ONCE, "2026-10-25T02:00:00Z",
                "2026-10-25T02:00:00Z");
    zone_free(&z);
}

TEST(a_day_that_was_left_out_is_a_gap_of_a_day)
{
    struct zone *z = zone_by_name("Pacific/Apia");

    check_local(z, "2011-12-29T23:59:59Z", ZONE_ONCE, "2011-12-30T09:59:59Z",
                "2011-12-30T09:59:59Z");
    check_local(z, "2011-12-30T00:00:00Z", ZONE_GAP, "2011-12-30T10:00:00Z",
                "2011-12-30T10:00:00Z");
    check_local(z, "2011-12-30T23:59:59Z", ZONE_GAP, "2011-12-30T10:00:00Z",
                "2011-12-30T10:00:00Z");
    check_local(z, "2011-12-31T00:00:00Z", ZONE_ONCE, "2011-12-30T10:00:00Z",
                "2011-12-30T10:00:00Z");
    zone_free(&z);
}

TEST(half_an_hour_of_summer_time_is_a_gap_of_half_an_hour)
{
    struct zone *z = zone_by_name("Australia/Lord_Howe");

    check_local(z, "2026-10-04T02:00:00Z", ZONE_GAP, "2026-10-03T15:30:00Z",
                "2026-10-03T15:30:00Z");
    check_local(z, "2026-10-04T02:30:00Z", ZONE_ONCE, "2026-10-03T15:30:00Z",
                "2026-10-03T15:30:00Z");
    check_local(z, "2026-04-05T01:29:00Z", ZONE_ONCE, "2026-04-04T14:29:00Z",
                "2026-04-04T14:29:00Z");
    check_local(z, "2026-04-05T01:30:00Z", ZONE_TWICE, "2026-04-04T14:30:00Z",
                "2026-04-04T15:00:00Z");
    check_local(z, "2026-04-05T02:00:00Z", ZONE_ONCE, "2026-04-04T15:30:00Z",
                "2026-04-04T15:30:00Z");
    zone_free(&z);
}

/* What clocks show around a change, found by letting them run, minute by minute. */
static void check_around(const struct zone *z, int64_t change)
{
    int64_t low = change - 2 * HOUR + zone_period(z, change - 1).offset, local, t, first, last;

    for (local = low; local < low + 4 * HOUR; local += 300) {
        struct zone_moment m = zone_from_local(z, local);

        first = last = INT64_MIN;
        for (t = change - 30 * HOUR; t < change + 30 * HOUR; t += 60) {
            int64_t shown = zone_to_local(z, t);

            if (first == INT64_MIN && shown >= local)
                first = t;
            if (shown == local)
                last = t;
        }
        CHECK_EQ(m.first, first);
        CHECK_EQ(m.last, last == INT64_MIN ? first : last);
        CHECK_EQ(m.fit, last == INT64_MIN ? ZONE_GAP : last != first ? ZONE_TWICE : ZONE_ONCE);
    }
}

TEST(local_times_around_every_change_are_what_running_clocks_show)
{
    static const char *const some[] = {"Europe/Berlin", "Australia/Lord_Howe", "America/Sao_Paulo"};
    int64_t from = at("1990-01-01"), until = at("2020-01-01");
    struct zone_period p;
    size_t i;

    for (i = 0; i < COUNT(some); i++) {
        struct zone *z = zone_by_name(some[i]);

        for (p = zone_period(z, from); p.until < until; p = zone_period(z, p.until))
            check_around(z, p.until);
        zone_free(&z);
    }
}

TEST(the_first_moment_of_a_local_time_never_falls)
{
    static const struct tzif_step wild[] = {{100000, 25 * HOUR},
                                            {103000, -25 * HOUR + 1},
                                            {103001, 0},
                                            {150000, 20 * HOUR},
                                            {230000, -20 * HOUR}};
    struct zone *z = zone_of_steps(0, wild, COUNT(wild), "");
    int64_t local, last = INT64_MIN;

    for (local = -200000; local < 500000; local++) {
        struct zone_moment m = zone_from_local(z, local);

        CHECK(m.first >= last);
        CHECK(m.first <= m.last);
        CHECK(zone_to_local(z, m.first) >= local);
        CHECK(zone_to_local(z, m.first - 1) < local);
        CHECK_EQ(m.fit == ZONE_TWICE, m.first != m.last);
        CHECK_EQ(m.fit == ZONE_GAP, zone_to_local(z, m.first) > local);
        CHECK(m.fit == ZONE_GAP || zone_to_local(z, m.last) == local);
        last = m.first;
    }
    zone_free(&z);
}

/* ---- files that are not as they should be ---- */

static int parse(const char *bytes, size_t len, struct err *err)
{
    char *copy = malloc(len + 1); /* its own block, so that a sanitizer sees a step too far */
    struct zone *z = NULL;
    int rc;

    CHECK(copy);
    memcpy(copy, bytes, len);
    rc = zone_parse("Test/Zone", copy, len, &z, err);
    CHECK_EQ(!rc, z != NULL);
    if (z) {
        (void)zone_from_local(z, 1000000000);
        (void)zone_period(z, -ZONE_FOREVER);
        (void)zone_period(z, ZONE_FOREVER - 1);
    }
    zone_free(&z);
    free(copy);
    return rc;
}

TEST(a_file_cut_short_anywhere_is_refused)
{
    static const struct tzif_step steps[] = {{1000, HOUR}, {2000, 2 * HOUR}};
    struct buf b = BUF_INIT;
    size_t len;

    make_tzif(&b, 0, steps, COUNT(steps), berlin_rule);
    for (len = 0; len < b.len; len++) {
        struct err err = ERR_INIT;

        CHECK_EQ(parse(b.ptr, len, &err), -E_INVALID);
        CHECK(strstr(err.msg, "Test/Zone"));
    }
    buf_release(&b);
}

TEST(a_file_with_any_byte_changed_is_refused_or_still_a_zone)
{
    static const struct tzif_step steps[] = {{1000, HOUR}, {2000, 2 * HOUR}};
    static const unsigned char values[] = {0, 1, 0x7f, 0x80, 0xff, '\n', ','};
    struct buf b = BUF_INIT;
    size_t i, v;

    make_tzif(&b, 0, steps, COUNT(steps), berlin_rule);
    for (i = 0; i < b.len; i++)
        for (v = 0; v < COUNT(values); v++) {
            struct err err = ERR_INIT;
            char kept = b.ptr[i];

            b.ptr[i] = (char)values[v];
            (void)!parse(b.ptr, b.len, &err);
            b.ptr[i] = kept;
        }
    buf_release(&b);
}

static void refuse(int32_t before, const struct tzif_step *steps, size_t n, const char *rule,
                   const char *why)
{
    struct buf b = BUF_INIT;
    struct err err = ERR_INIT;

    make_tzif(&b, before, steps, n, rule);
    CHECK_EQ(parse(b.ptr, b.len, &err), -E_INVALID);
    if (!strstr(err.msg, why))
        test_fail(__FILE__, __LINE__, "'%s' does not say '%s'", err.msg, why);
    buf_release(&b);
}

TEST(a_table_must_rise_and_stay_within_a_day_of_utc)
{
    static const struct tzif_step falls[] = {{2000, HOUR}, {2000, 0}};
    static const struct tzif_step early[] = {{-ZONE_FOREVER - 1, 0}};
    static const struct tzif_step far[] = {{0, 26 * HOUR}};

    refuse(0, falls, 2, "", "rise");
    refuse(0, early, 1, "", "rise");
    refuse(0, far, 1, "", "offset");
    refuse(-26 * HOUR, NULL, 0, "", "offset");
}

TEST(a_step_must_have_a_type)
{
    static const struct tzif_step steps[] = {{1000, HOUR}};
    struct buf b = BUF_INIT, first = BUF_INIT;
    struct err err = ERR_INIT;

    add_tzif_block(&first, 4, 0, NULL, 0);
    make_tzif(&b, 0, steps, COUNT(steps), "");
    b.ptr[first.len + 44 + 8] = 2; /* behind the header and one time; there are 0 and 1 */
    CHECK_EQ(parse(b.ptr, b.len, &err), -E_INVALID);
    CHECK(strstr(err.msg, "type"));
    buf_release(&first);
    buf_release(&b);
}

TEST(a_footer_that_is_no_rule_is_refused)
{
    static const char *const bad[] = {"A",
                                      "CET",
                                      "CET-",
                                      "CET-25",
                                      "CET-1:60",
                                      "CET-1CEST",
                                      "CET-1CEST,",
                                      "CET-1CEST,M3.5.0",
                                      "CE-1",
                                      "<CET-1",
                                      "<+>-1",
                                      "CET-1CEST,M13.5.0,M10.5.0",
                                      "CET-1CEST,M3.6.0,M10.5.0",
                                      "CET-1CEST,M3.5.7,M10.5.0",
                                      "CET-1CEST,M3.5.0,M10.5.0/168",
                                      "CET-1CEST,J0,J2",
                                      "CET-1CEST,J366,J2",
                                      "CET-1CEST,366,2",
                                      "CET-1CEST,M3.5.0,M10.5.0/3x",
                                      "CET-1CEST-2-3,M3.5.0,M10.5.0",
                                      "CET-1 ",
                                      "CET-1CEST,M3.0.0,M10.5.0",
                                      "CET-99999999999",
                                      "CET-1CEST,M3.5.0,M10.5.0,"};
    size_t i;

    for (i = 0; i < COUNT(bad); i++)
        refuse(0, NULL, 0, bad[i], "footer");
}

TEST(an_old_file_without_64_bit_times_is_refused)
{
    struct buf b = BUF_INIT;
    struct err err = ERR_INIT;

    make_tzif(&b, 0, NULL, 0, berlin_rule);
    b.ptr[4] = '\0';
    CHECK_EQ(parse(b.ptr, b.len, &err), -E_INVALID);
    CHECK(strstr(err.msg, "version 1"));
    buf_release(&b);
}

TEST(every_zone_of_this_machine_can_be_read)
{
    struct zone *z = zone_by_name("Europe/Berlin");
    char line[256], *name;
    FILE *f = fopen(ZONE_DIR "/tzdata.zi", "r");
    size_t n = 0;

    zone_free(&z);
    if (!f)
        SKIP("there is no list of zones");
    while (fgets(line, sizeof(line), f)) {
        struct err err = ERR_INIT;

        line[strcspn(line, "\n")] = '\0';
        if (!strncmp(line, "Z ", 2)) /* Z NAME …, L TARGET NAME */
            name = line + 2, name[strcspn(name, " ")] = '\0';
        else if (!strncmp(line, "L ", 2))
            name = strrchr(line, ' ') + 1;
        else
            continue;
        CHECK_OK_ERR(zone_load(name, &z, &err), &err);
        zone_free(&z);
        n++;
    }
    fclose(f);
    CHECK(n > 300);
}
