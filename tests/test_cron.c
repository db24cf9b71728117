/* test_cron.c - cron patterns: what is taken, what is refused and how, and when they are due. The
 * judge is a clock that runs minute by minute over patterns whose meaning is known from the way in
 * which they were made. */
#include "zone_fixture.h"

#include "core/cron.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>

TEST_NO_DB;

#define COUNT(list) (sizeof(list) / sizeof(*(list)))
#define SECOND      INT64_C(1000000)
#define DAY         86400

static struct cron pattern(const char *text)
{
    struct err err = ERR_INIT;
    struct cron c;

    CHECK_OK_ERR(cron_parse(text, &c, &err), &err);
    return c;
}

/* ---- what is taken ---- */

static void same(const char *a, const char *b)
{
    struct cron x = pattern(a), y = pattern(b);

    if (x.minutes != y.minutes || x.hours != y.hours || x.days != y.days || x.months != y.months ||
        x.weekdays != y.weekdays || x.either_day != y.either_day)
        test_fail(__FILE__, __LINE__, "'%s' is not '%s'", a, b);
}

TEST(nicknames_stand_for_patterns)
{
    same("@yearly", "0 0 1 1 *");
    same("@annually", "0 0 1 1 *");
    same("@monthly", "0 0 1 * *");
    same("@weekly", "0 0 * * 0");
    same("@daily", "0 0 * * *");
    same("@midnight", "0 0 * * *");
    same("@hourly", "0 * * * *");
    same(" @Daily\t", "0 0 * * *");
}

TEST(names_numbers_ranges_lists_and_steps_say_the_same_thing)
{
    same("0 0 * jan,FEB,Dec *", "0 0 * 1,2,12 *");
    same("0 0 * * mon-fri", "0 0 * * 1-5");
    same("0 0 * * 7", "0 0 * * sun");
    same("0 0 * * 5-7", "0 0 * * 0,5,6");
    same("0 0 * * fri-sun", "0 0 * * 0,5,6");
    same("0 0 * * sun-sun", "0 0 * * 0");
    same("0 0 * * 0-7", "0 0 * * 0-6");
    same("0-30/10 0 * * *", "0,10,20,30 0 * * *");
    same("5-6,7,59 0 * * *", "5,6,7,59 0 * * *");
    same("*/20 */12 * */6 *", "0,20,40 0,12 * 1,7 *");
    same("*/60 */24 */31 */12 *", "0 0 */31 1 *");
    same("07 007 1 1 1", "7 7 1 1 1");
    same("0 0 1-31/2,30 apr-apr 0-6/3",
         "0 0 1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,30,31 4 0,3,6");
    same("  0\t0   *  * * ", "0 0 * * *");
    CHECK_EQ(pattern("* * * * *").minutes, (1LL << 60) - 1);
    CHECK_EQ(pattern("* * * * *").hours, (1LL << 24) - 1);
    CHECK_EQ(pattern("* * * * *").days, (1LL << 32) - 2);
    CHECK_EQ(pattern("* * * * *").months, (1LL << 13) - 2);
    CHECK_EQ(pattern("* * * * *").weekdays, (1LL << 7) - 1);
    CHECK_EQ(pattern("* * * * */7").weekdays, 1);
}

TEST(either_day_is_enough_only_when_both_are_restricted)
{
    CHECK(pattern("0 0 13 * 5").either_day);
    CHECK(!pattern("0 0 13 * *").either_day);
    CHECK(!pattern("0 0 * * 5").either_day);
    CHECK(!pattern("0 0 */2 * 5").either_day); /* as cron has it */
    CHECK(!pattern("0 0 13 * */2").either_day);
}

/* ---- what is refused ---- */

TEST(an_error_names_the_column_the_field_and_the_remedy)
{
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"60 * * * *", "column 1, minute: 60 is not between 0 and 59"},
        {"0 24 * * *", "column 3, hour: 24 is not between 0 and 23"},
        {"0 0 0 * *", "column 5, day-of-month: 0 is not between 1 and 31"},
        {"0 0 32 * *", "column 5, day-of-month: 32 is not between 1 and 31"},
        {"0 0 1 0 *", "column 7, month: 0 is not between 1 and 12"},
        {"0 0 1 13 *", "column 7, month: 13 is not between 1 and 12"},
        {"0 0 * * 8", "column 9, day-of-week: 8 is not between 0 and 7"},
        {"0  \t0 * * 8", "column 11, day-of-week"},
        {"99999999999999999999 * * * *", "99999999999999999999 is not between"},
        {"0 0 * juni *",
         "column 7, month: expected a number from 1 to 12 or jan to dec, not 'juni'"},
        {"0 0 * * monday", "expected a number from 0 to 7 or sun to sat, not 'monday'"},
        {"0 mon * * *", "column 3, hour: expected a number from 0 to 23, not 'mon'"},
        {"5m * * * *", "expected a number from 0 to 59, not '5m'"},
        {"-5 * * * *", "expected a number from 0 to 59, not '-'"},
        {"1,,2 * * * *", "column 3, minute: expected a number from 0 to 59, not ','"},
        {"1, * * * *", "column 3, minute: expected a number from 0 to 59, but the field ends here"},
        {"1- * * * *", "column 3, minute: expected a number"},
        {"1-5-9 * * * *", "column 4, minute: expected ',' or a blank, not '-'"},
        {"*5 * * * *", "column 2, minute: expected ',' or a blank, not '5'"},
        {"? * * * *", "not '?'"},
        {"0 0 L * *", "not 'L'"},
        {"0 0 * * 5#2", "expected ',' or a blank, not '#'"},
        {"0 22-6 * * *", "column 3, hour: the range 22-6 goes backwards: write 22-23,0-6"},
        {"0 0 * * fri-mon", "the range fri-mon goes backwards: write 5-6,0-1"},
        {"0 0 * nov-feb *", "the range nov-feb goes backwards: write 11-12,1-2"},
        {"*/0 * * * *", "column 3, minute: a step of 0 makes no sense here: take 1 to 60"},
        {"*/90 * * * *", "a step of 90 makes no sense here"},
        {"*/ * * * *", "column 3, minute: expected a number after '/', but"},
        {"*/x * * * *", "expected a number after '/', not 'x'"},
        {"5/15 * * * *", "column 2, minute: a step needs a range or '*': 5-59/"},
        {"", "has 0 of five fields"},
        {"   ", "has 0 of five fields"},
        {"0 0 * *", "has 4 of five fields: minute hour day-of-month month day-of-week"},
        {"0 0 0 * * *", "column 5, day-of-month"},
        {"0 0 1 * * 2026", "column 11: there is more than"},
        {"0 0 1 * * root", "seconds and years are not part"},
        {"@reboot", "names no time"},
        {"@every 5m", "is not known: there are @yearly"},
        {"@daily 5", "is not known"},
        {"@", "is not known"},
        {"0 0 * * m\xc3\xb6n", "column 10 of a cron pattern"},
        {"0 0 * *\n*", "column 8 of a cron pattern"},
        {"0 0 30 2 *", "column 5, day-of-month: it is never due"},
        {"0 0 31 feb,apr,jun,sep,nov *", "never due"},
        {"0 0 30-31 2 */2", "never due"},
    };
    size_t i;

    for (i = 0; i < COUNT(bad); i++) {
        struct cron c = {.minutes = 77};
        struct err err = ERR_INIT;

        if (cron_parse(bad[i].text, &c, &err) != -E_INVALID)
            test_fail(__FILE__, __LINE__, "'%s' is taken", bad[i].text);
        if (!strstr(err.msg, bad[i].says))
            test_fail(__FILE__, __LINE__, "\"%s\"\n    does not say \"%s\"", err.msg, bad[i].says);
        CHECK_EQ(c.minutes, 77);
    }
}

TEST(a_pattern_has_a_longest_length)
{
    char text[CRON_MAX_TEXT + 3];
    struct err err = ERR_INIT;
    struct cron c;

    memset(text, ' ', sizeof(text));
    text[CRON_MAX_TEXT] = '\0';
    memcpy(text + CRON_MAX_TEXT - 9, "0 0 1 1 *", 9);
    CHECK_OK_ERR(cron_parse(text, &c, &err), &err);
    text[CRON_MAX_TEXT] = ' ';
    text[CRON_MAX_TEXT + 1] = '\0';
    CHECK_EQ(cron_parse(text, &c, &err), -E_INVALID);
    CHECK(strstr(err.msg, "1000"));
}

TEST(a_day_that_some_month_has_is_due_some_time)
{
    pattern("0 0 29 2 *");
    pattern("0 0 31 1 *");
    pattern("0 0 30 2,4 *");
    pattern("0 0 30 2 mon"); /* any Monday in February */
}

/* ---- when it is due ---- */

static void check_next(const struct zone *z, const char *text, int64_t after, int64_t want)
{
    struct cron c = pattern(text);
    char found[TIME_TEXT_SIZE] = "never", wanted[TIME_TEXT_SIZE];
    int64_t next;

    if (cron_next(&c, z, after, &next))
        text_time(next, found);
    if (strcmp(found, text_time(want, wanted)) != 0)
        test_fail(__FILE__, __LINE__, "'%s' in %s is due at %s, not at %s", text, zone_name(z),
                  found, wanted);
}

/* One due time after the other, as local times with their offset; the list ends with NULL. */
static void check_due(const struct zone *z, const char *text, const char *after, ...)
    __attribute__((sentinel));
static void check_due(const struct zone *z, const char *text, const char *after, ...)
{
    int64_t last = at(after) * SECOND, want;
    const char *due;
    va_list ap;

    va_start(ap, after);
    while ((due = va_arg(ap, const char *))) {
        want = at(due) * SECOND;
        check_next(z, text, last, want);
        check_next(z, text, want - 1, want);
        last = want;
    }
    va_end(ap);
}

TEST(a_due_time_is_strictly_after)
{
    struct zone *z = zone_of_rule("UTC0");
    int64_t noon = at("2026-06-01T12:00:00Z") * SECOND;

    check_next(z, "0 12 * * *", noon - 1, noon);
    check_next(z, "0 12 * * *", noon, noon + DAY * SECOND);
    check_next(z, "0 12 * * *", noon + 1, noon + DAY * SECOND);
    check_next(z, "* * * * *", noon, noon + 60 * SECOND);
    check_next(z, "* * * * *", noon + 59999999, noon + 60 * SECOND);
    check_next(z, "* * * * *", -1, 0);
    check_next(z, "* * * * *", -60 * SECOND - 1, -60 * SECOND);
    zone_free(&z);
}

TEST(months_weekdays_and_leap_days_are_found)
{
    struct zone *z = zone_of_rule("UTC0");

    check_due(z, "0 0 31 * *", "2026-01-31", "2026-03-31", "2026-05-31", "2026-07-31", "2026-08-31",
              NULL);
    check_due(z, "0 0 13 * fri", "2026-02-11", "2026-02-13", "2026-02-20", "2026-02-27",
              "2026-03-06", "2026-03-13", NULL);
    check_due(z, "15 10 * * mon-fri", "2026-01-02T10:15:00Z", "2026-01-05T10:15:00Z", NULL);
    check_due(z, "59 23 31 12 *", "2026-01-01", "2026-12-31T23:59:00Z", "2027-12-31T23:59:00Z",
              NULL);
    check_due(z, "0 0 29 2 *", "2096-01-01", "2096-02-29", "2104-02-29", NULL);
    check_due(z, "0 0 1-7 * */7", "2026-01-01", "2026-01-04", "2026-02-01", "2026-03-01",
              "2026-04-05", NULL);
    zone_free(&z);
}

/* Every 28 years, and 40 where a century has no leap day. */
TEST(the_29th_of_february_on_a_sunday_is_found_however_far)
{
    struct zone *z = zone_by_name("Europe/Berlin");

    check_due(z, "30 12 29 2 */7", "2025-01-01", "2032-02-29T12:30:00+01:00",
              "2060-02-29T12:30:00+01:00", "2088-02-29T12:30:00+01:00", "2128-02-29T12:30:00+01:00",
              "2156-02-29T12:30:00+01:00", NULL);
    check_due(z, "0 * 29 2 */7", "2088-02-29T23:00:00+01:00", "2128-02-29T00:00:00+01:00",
              "2128-02-29T01:00:00+01:00", NULL);
    zone_free(&z);
}

TEST(no_time_is_too_early_or_too_late_to_ask)
{
    struct zone *z = zone_of_rule(berlin_rule);
    struct cron c = pattern("0 0 1 1 *"), every = pattern("* * * * *");
    int64_t next = 7;

    CHECK(cron_next(&c, z, INT64_MIN, &next));
    CHECK_EQ(next / SECOND, at("0001-12-31T23:00:00Z"));
    CHECK(!cron_next(&c, z, INT64_MAX, &next));
    CHECK(!cron_next(&c, z, at("9999-12-31T23:00:00Z") * SECOND, &next));
    CHECK(!cron_next(&every, z, at("9999-12-31T23:59:00Z") * SECOND, &next));
    CHECK(cron_last(&every, z, INT64_MIN, INT64_MAX, &next));
    CHECK_EQ(next / SECOND, at("9999-12-31T23:59:00Z"));
    CHECK(!cron_last(&c, z, INT64_MAX, INT64_MIN, &next));
    zone_free(&z);
}

TEST(the_last_due_time_is_the_one_before_the_next)
{
    static const char *const texts[] = {"* * * * *",  "*/7 * * * *", "30 2 * * *",
                                        "0 0 29 2 *", "0 0 13 * 5",  "5 4 1 */3 *"};
    struct zone *z = zone_of_rule(berlin_rule);
    int64_t from = at("2020-01-01") * SECOND, due, next, last;
    size_t i, n;

    for (i = 0; i < COUNT(texts); i++) {
        struct cron c = pattern(texts[i]);

        CHECK(cron_next(&c, z, from, &due));
        CHECK(!cron_last(&c, z, from, due - 1, &last));
        for (n = 0; n < 200 && cron_next(&c, z, due, &next); n++, due = next) {
            CHECK(cron_last(&c, z, from, due, &last) && last == due);
            CHECK(cron_last(&c, z, from, next - 1, &last) && last == due);
            CHECK(cron_last(&c, z, due - 1, next - 1, &last) && last == due);
            CHECK(!cron_last(&c, z, due, next - 1, &last));
        }
    }
    zone_free(&z);
}

/* ---- when clocks change ---- */

TEST(berlin_a_time_that_is_left_out_is_due_at_the_jump)
{
    struct zone *z = zone_by_name("Europe/Berlin");

    check_due(z, "30 2 * * *", "2026-03-28T00:00:00+01:00", "2026-03-28T02:30:00+01:00",
              "2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00", NULL);
    check_due(z, "*/10 2 * * *", "2026-03-28T02:50:00+01:00", "2026-03-29T03:00:00+02:00",
              "2026-03-30T02:00:00+02:00", NULL); /* six of them, once */
    check_due(z, "0,30 2,3 * * *", "2026-03-29T00:00:00+01:00", "2026-03-29T03:00:00+02:00",
              "2026-03-29T03:30:00+02:00", "2026-03-30T02:00:00+02:00", NULL);
    check_due(z, "30 2 29 3 *", "2025-12-01", "2026-03-29T03:00:00+02:00",
              "2027-03-29T02:30:00+02:00", NULL);
    check_due(z, "0 */2 * * *", "2026-03-29T00:00:00+01:00", "2026-03-29T03:00:00+02:00",
              "2026-03-29T04:00:00+02:00", "2026-03-29T06:00:00+02:00", NULL);
    zone_free(&z);
}

TEST(berlin_a_time_that_comes_twice_is_due_the_first_time)
{
    struct zone *z = zone_by_name("Europe/Berlin");

    check_due(z, "30 2 * * *", "2026-10-24T12:00:00+02:00", "2026-10-25T02:30:00+02:00",
              "2026-10-26T02:30:00+01:00", NULL);
    check_due(z, "0 3 * * *", "2026-10-24T12:00:00+02:00", "2026-10-25T03:00:00+01:00",
              "2026-10-26T03:00:00+01:00", NULL);
    check_due(z, "*/30 2,3 * * *", "2026-10-25T00:00:00+02:00", "2026-10-25T02:00:00+02:00",
              "2026-10-25T02:30:00+02:00", "2026-10-25T03:00:00+01:00", "2026-10-25T03:30:00+01:00",
              NULL);
    /* asked in the second of the two hours */
    check_due(z, "30 2 * * *", "2026-10-25T02:10:00+01:00", "2026-10-26T02:30:00+01:00", NULL);
    zone_free(&z);
}

TEST(berlin_what_is_due_every_hour_goes_by_the_time_that_passes)
{
    struct zone *z = zone_by_name("Europe/Berlin");

    check_due(z, "30 * * * *", "2026-03-29T01:00:00+01:00", "2026-03-29T01:30:00+01:00",
              "2026-03-29T03:30:00+02:00", "2026-03-29T04:30:00+02:00", NULL);
    check_due(z, "30 * * * *", "2026-10-25T01:00:00+02:00", "2026-10-25T01:30:00+02:00",
              "2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00", "2026-10-25T03:30:00+01:00",
              NULL);
    check_due(z, "*/30 0-23 * * *", "2026-10-25T02:00:00+02:00", "2026-10-25T02:30:00+02:00",
              "2026-10-25T02:00:00+01:00", "2026-10-25T02:30:00+01:00", "2026-10-25T03:00:00+01:00",
              NULL);
    check_due(z, "59 * 25 10 *", "2026-10-25T02:30:00+02:00", "2026-10-25T02:59:00+02:00",
              "2026-10-25T02:59:00+01:00", "2026-10-25T03:59:00+01:00", NULL);
    zone_free(&z);
}

TEST(new_york_runs_once_a_day_through_both_changes)
{
    struct zone *z = zone_by_name("America/New_York");

    check_due(z, "15 2 * * *", "2026-03-07T12:00:00-05:00", "2026-03-08T03:00:00-04:00",
              "2026-03-09T02:15:00-04:00", NULL);
    check_due(z, "15 1 * * *", "2026-10-31T12:00:00-04:00", "2026-11-01T01:15:00-04:00",
              "2026-11-02T01:15:00-05:00", NULL);
    check_due(z, "@daily", "2026-03-07T12:00:00-05:00", "2026-03-08T00:00:00-05:00",
              "2026-03-09T00:00:00-04:00", NULL);
    zone_free(&z);
}

TEST(lord_howe_changes_by_half_an_hour)
{
    struct zone *z = zone_by_name("Australia/Lord_Howe");

    check_due(z, "15 2 * * *", "2026-10-03T12:00:00+10:30", "2026-10-04T02:30:00+11:00",
              "2026-10-05T02:15:00+11:00", NULL);
    check_due(z, "45 1 * * *", "2026-04-04T12:00:00+11:00", "2026-04-05T01:45:00+11:00",
              "2026-04-06T01:45:00+10:30", NULL);
    check_due(z, "@hourly", "2026-10-04T00:30:00+10:30", "2026-10-04T01:00:00+10:30",
              "2026-10-04T03:00:00+11:00", NULL);
    check_due(z, "45 * * * *", "2026-04-05T01:00:00+11:00", "2026-04-05T01:45:00+11:00",
              "2026-04-05T01:45:00+10:30", "2026-04-05T02:45:00+10:30", NULL);
    zone_free(&z);
}

TEST(sao_paulo_changed_at_midnight)
{
    struct zone *z = zone_by_name("America/Sao_Paulo");

    check_due(z, "@daily", "2018-11-03T12:00:00-03:00", "2018-11-04T01:00:00-02:00",
              "2018-11-05T00:00:00-02:00", NULL);
    check_due(z, "30 23 * * *", "2018-02-17T12:00:00-02:00", "2018-02-17T23:30:00-02:00",
              "2018-02-18T23:30:00-03:00", NULL);
    check_due(z, "@daily", "2018-02-17T12:00:00-02:00", "2018-02-18T00:00:00-03:00",
              "2018-02-19T00:00:00-03:00", NULL);
    check_due(z, "@daily", "2026-11-03T12:00:00-03:00", "2026-11-04T00:00:00-03:00", NULL);
    zone_free(&z);
}

TEST(apia_left_out_a_day)
{
    struct zone *z = zone_by_name("Pacific/Apia");

    check_due(z, "0 12 * * *", "2011-12-28T12:00:00-10:00", "2011-12-29T12:00:00-10:00",
              "2011-12-31T00:00:00+14:00", "2011-12-31T12:00:00+14:00", NULL);
    check_due(z, "0 12 30 12 *", "2011-12-01", "2011-12-31T00:00:00+14:00",
              "2012-12-30T12:00:00+14:00", NULL);
    check_due(z, "0 9 * * fri", "2011-12-24", "2011-12-31T00:00:00+14:00",
              "2012-01-06T09:00:00+14:00", NULL);
    check_due(z, "@hourly", "2011-12-29T22:30:00-10:00", "2011-12-29T23:00:00-10:00",
              "2011-12-31T00:00:00+14:00", "2011-12-31T01:00:00+14:00", NULL);
    zone_free(&z);
}

TEST(in_utc_nothing_ever_jumps)
{
    struct err err = ERR_INIT;
    struct zone *z = NULL;

    CHECK_OK_ERR(zone_load("UTC", &z, &err), &err);
    check_due(z, "30 2 * * *", "2026-03-28T12:00:00Z", "2026-03-29T02:30:00Z",
              "2026-03-30T02:30:00Z", NULL);
    zone_free(&z);
}

/* ---- a clock that runs ---- */

static uint64_t random_state;

static int below(int n)
{
    random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (int)((random_state >> 33) % (uint64_t)n);
}

/* A pattern, and what it means. */
struct made {
    char text[256];
    bool set[5][64];
    bool star[5];
};

static void make_field(struct made *m, int field, int low, int high)
{
    size_t len = strlen(m->text);
    int items = 1 + below(3), a, b, step, n, i;

    m->star[field] = below(3) == 0;
    for (i = 0; i < items; i++) {
        step = 1 + below(below(2) ? 4 : high - low + 1);
        a = low + below(high - low + 1);
        b = a + below(high - a + 1);
        if (i == 0 && m->star[field]) {
            a = low, b = high;
            step = below(2) ? 1 : step;
            n = snprintf(m->text + len, sizeof(m->text) - len, step == 1 ? "*" : "*/%d", step);
        } else if (below(2)) {
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

static struct made make_pattern(void)
{
    struct made m = {0};

    make_field(&m, 0, 0, 59);
    if (below(3)) {
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

static bool shows_match(const struct made *m, int64_t local)
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

static bool every_hour(const struct made *m)
{
    int hour;

    for (hour = 0; hour < 24; hour++)
        if (!m->set[1][hour])
            return false;
    return true;
}

/* Lets the clock run from `from` to `until`, and expects the same due times from cron_next. */
static size_t compare(const struct zone *z, const struct made *m, const struct cron *c,
                      int64_t from, int64_t until)
{
    bool by_time = every_hour(m), due;
    int64_t furthest = INT64_MIN, t, local, next = 0;
    size_t n = 0;

    for (t = from - 3 * DAY; t < until; t += 60) {
        local = zone_to_local(z, t);
        due = false;
        if (by_time)
            due = shows_match(m, local);
        else if (furthest != INT64_MIN)
            for (; furthest < local; furthest += 60)
                due = due || shows_match(m, furthest + 60);
        if (furthest < local)
            furthest = local;
        if (t <= from || !due)
            continue;
        if (!cron_next(c, z, n++ ? next : from * SECOND, &next) || next != t * SECOND)
            test_fail(__FILE__, __LINE__, "'%s' in %s from %lld: %lld, not %lld", m->text,
                      zone_name(z), (long long)from, (long long)(next / SECOND), (long long)t);
    }
    if (cron_next(c, z, n ? next : from * SECOND, &next) && next < until * SECOND)
        test_fail(__FILE__, __LINE__, "'%s' in %s is also due at %lld", m->text, zone_name(z),
                  (long long)(next / SECOND));
    return n;
}

static void compare_around_changes(const char *name, const char *from, int patterns)
{
    struct zone *z = zone_by_name(name);
    struct zone_period p;
    size_t due = 0;
    int i;

    for (p = zone_period(z, at(from)); p.until < at("2030-01-01"); p = zone_period(z, p.until)) {
        for (i = 0; i < patterns; i++) {
            struct made m = make_pattern();
            struct err err = ERR_INIT;
            struct cron c;

            if (!cron_parse(m.text, &c, &err))
                due += compare(z, &m, &c, p.until - DAY - 60 * below(600), p.until + 2 * DAY);
            else if (!strstr(err.msg, "never due"))
                test_fail(__FILE__, __LINE__, "%s", err.msg);
        }
    }
    CHECK(due > 100);
    zone_free(&z);
}

TEST_SLOW(random_patterns_around_changes_of_clocks_are_due_when_a_running_clock_says_so, 120)
{
    int n = test_full() ? 40 : 8;

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

TEST_SLOW(random_patterns_over_years_are_due_when_a_running_clock_says_so, 120)
{
    struct zone *z = zone_of_rule("EST5EDT,M3.2.0,M11.1.0");
    int64_t from = at("2023-05-05");
    size_t due = 0;
    int i;

    random_state = 2;
    for (i = 0; i < (test_full() ? 40 : 5); i++) {
        struct made m = make_pattern();
        struct err err = ERR_INIT;
        struct cron c;

        if (!cron_parse(m.text, &c, &err))
            due += compare(z, &m, &c, from, from + (2 * 365 + below(9)) * DAY);
    }
    CHECK(due > 100);
    zone_free(&z);
}
