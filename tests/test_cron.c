/* test_cron.c - cron patterns: which are accepted, which are refused and with which error, and when
 * they are due. */
#include "cron_fixture.h"

TEST_NO_DB;

/* ---- accepted patterns ---- */

static void check_same(const char *a, const char *b)
{
    struct cron x = pattern(a), y = pattern(b);

    if (x.minutes != y.minutes || x.hours != y.hours || x.days != y.days || x.months != y.months ||
        x.weekdays != y.weekdays || x.either_day != y.either_day)
        test_fail(__FILE__, __LINE__, "'%s' does not equal '%s'", a, b);
}

TEST(cron_nicknames_equal_their_patterns)
{
    check_same("@yearly", "0 0 1 1 *");
    check_same("@annually", "0 0 1 1 *");
    check_same("@monthly", "0 0 1 * *");
    check_same("@weekly", "0 0 * * 0");
    check_same("@daily", "0 0 * * *");
    check_same("@midnight", "0 0 * * *");
    check_same("@hourly", "0 * * * *");
    check_same(" @Daily\t", "0 0 * * *");
}

TEST(names_ranges_lists_and_steps_in_cron_patterns_equal_lists_of_numbers)
{
    check_same("0 0 * jan,FEB,Dec *", "0 0 * 1,2,12 *");
    check_same("0 0 * * mon-fri", "0 0 * * 1-5");
    check_same("0 0 * * 7", "0 0 * * sun");
    check_same("0 0 * * 5-7", "0 0 * * 0,5,6");
    check_same("0 0 * * fri-sun", "0 0 * * 0,5,6");
    check_same("0 0 * * sun-sun", "0 0 * * 0");
    check_same("0 0 * * 0-7", "0 0 * * 0-6");
    check_same("0-30/10 0 * * *", "0,10,20,30 0 * * *");
    check_same("5-6,7,59 0 * * *", "5,6,7,59 0 * * *");
    check_same("*/20 */12 * */6 *", "0,20,40 0,12 * 1,7 *");
    check_same("*/60 */24 */31 */12 *", "0 0 */31 1 *");
    check_same("07 007 1 1 1", "7 7 1 1 1");
    check_same("0 0 1-31/2,30 apr-apr 0-6/3",
               "0 0 1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,30,31 4 0,3,6");
    check_same("  0\t0   *  * * ", "0 0 * * *");
    CHECK_EQ(pattern("* * * * *").minutes, (1LL << 60) - 1);
    CHECK_EQ(pattern("* * * * *").hours, (1LL << 24) - 1);
    CHECK_EQ(pattern("* * * * *").days, (1LL << 32) - 2);
    CHECK_EQ(pattern("* * * * *").months, (1LL << 13) - 2);
    CHECK_EQ(pattern("* * * * *").weekdays, (1LL << 7) - 1);
    CHECK_EQ(pattern("* * * * */7").weekdays, 1);
}

TEST(matching_one_of_the_two_day_fields_is_enough_only_if_both_are_restricted)
{
    CHECK(pattern("0 0 13 * 5").either_day);
    CHECK(!pattern("0 0 13 * *").either_day);
    CHECK(!pattern("0 0 * * 5").either_day);
    CHECK(!pattern("0 0 */2 * 5").either_day); /* as in cron */
    CHECK(!pattern("0 0 13 * */2").either_day);
}

/* ---- refused patterns ---- */

TEST(invalid_pattern_error_names_the_column_the_field_and_a_fix)
{
    static const struct {
        const char *text, *error;
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
        {"*/0 * * * *", "column 3, minute: the step 0 is not between 1 and 60"},
        {"*/90 * * * *", "the step 90 is not between 1 and 60"},
        {"*/ * * * *", "column 3, minute: expected a number after '/', but"},
        {"*/x * * * *", "expected a number after '/', not 'x'"},
        {"5/15 * * * *", "column 2, minute: a step needs a range or '*': 5-59/"},
        {"", "has only 0 of the five fields"},
        {"   ", "has only 0 of the five fields"},
        {"0 0 * *", "has only 4 of the five fields minute hour day-of-month month day-of-week"},
        {"0 0 0 * * *", "column 5, day-of-month"},
        {"0 0 1 * * 2026", "column 11: there are more than five fields"},
        {"0 0 1 * * root", "seconds and years are not supported"},
        {"@reboot", "is not supported"},
        {"@every 5m", "is not a known nickname: use @yearly"},
        {"@daily 5", "is not a known nickname"},
        {"@", "is not a known nickname"},
        {"0 0 * * m\xc3\xb6n", "column 10 of the cron pattern"},
        {"0 0 * *\n*", "column 8 of the cron pattern"},
        {"0 0 30 2 *", "column 5, day-of-month: the pattern is never due"},
        {"0 0 31 feb,apr,jun,sep,nov *", "never due"},
        {"0 0 30-31 2 */2", "never due"},
    };
    size_t i;

    for (i = 0; i < COUNT(bad); i++) {
        struct cron c = {.minutes = 77};
        struct err err = ERR_INIT;

        if (cron_parse(bad[i].text, &c, &err) != -E_INVALID)
            test_fail(__FILE__, __LINE__, "'%s' is accepted", bad[i].text);
        if (!strstr(err.msg, bad[i].error))
            test_fail(__FILE__, __LINE__, "\"%s\"\n    does not contain \"%s\"", err.msg,
                      bad[i].error);
        CHECK_EQ(c.minutes, 77);
    }
}

TEST(pattern_longer_than_the_maximum_is_refused)
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

TEST(pattern_whose_day_exists_in_some_month_is_accepted)
{
    pattern("0 0 29 2 *");
    pattern("0 0 31 1 *");
    pattern("0 0 30 2,4 *");
    pattern("0 0 30 2 mon"); /* any Monday in February */
}

/* ---- due times ---- */

TEST(next_due_time_is_strictly_after_the_given_time)
{
    struct tz *z = tz_of_rule("UTC0");
    int64_t noon = at("2026-06-01T12:00:00Z") * SECOND;

    check_next(z, "0 12 * * *", noon - 1, noon);
    check_next(z, "0 12 * * *", noon, noon + DAY * SECOND);
    check_next(z, "0 12 * * *", noon + 1, noon + DAY * SECOND);
    check_next(z, "* * * * *", noon, noon + 60 * SECOND);
    check_next(z, "* * * * *", noon + 59999999, noon + 60 * SECOND);
    check_next(z, "* * * * *", -1, 0);
    check_next(z, "* * * * *", -60 * SECOND - 1, -60 * SECOND);
    tz_free(&z);
}

TEST(due_times_follow_months_weekdays_and_leap_days)
{
    static const struct due_case cases[] = {
        {"0 0 31 * *", "2026-01-31", {"2026-03-31", "2026-05-31", "2026-07-31", "2026-08-31"}},
        {"0 0 13 * fri",
         "2026-02-11",
         {"2026-02-13", "2026-02-20", "2026-02-27", "2026-03-06", "2026-03-13"}},
        {"15 10 * * mon-fri", "2026-01-02T10:15:00Z", {"2026-01-05T10:15:00Z"}},
        {"59 23 31 12 *", "2026-01-01", {"2026-12-31T23:59:00Z", "2027-12-31T23:59:00Z"}},
        {"0 0 29 2 *", "2096-01-01", {"2096-02-29", "2104-02-29"}},
        {"0 0 1-7 * */7", "2026-01-01", {"2026-01-04", "2026-02-01", "2026-03-01", "2026-04-05"}},
    };

    check_cases(tz_of_rule("UTC0"), cases, COUNT(cases));
}

/* February 29 is a Sunday again after 28 years, or after 40 across a century without a leap day. */
TEST(february_29_on_a_sunday_is_found_however_distant)
{
    static const struct due_case cases[] = {
        {"30 12 29 2 */7",
         "2025-01-01",
         {"2032-02-29T12:30:00+01:00", "2060-02-29T12:30:00+01:00", "2088-02-29T12:30:00+01:00",
          "2128-02-29T12:30:00+01:00", "2156-02-29T12:30:00+01:00"}},
        {"0 * 29 2 */7",
         "2088-02-29T23:00:00+01:00",
         {"2128-02-29T00:00:00+01:00", "2128-02-29T01:00:00+01:00"}},
    };

    check_cases(tz_by_name("Europe/Berlin"), cases, COUNT(cases));
}

TEST(cron_next_and_cron_last_accept_any_time)
{
    struct tz *z = tz_of_rule(berlin_rule);
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
    tz_free(&z);
}

TEST(last_due_time_precedes_the_next_due_time)
{
    static const char *const texts[] = {"* * * * *",  "*/7 * * * *", "30 2 * * *",
                                        "0 0 29 2 *", "0 0 13 * 5",  "5 4 1 */3 *"};
    struct tz *z = tz_of_rule(berlin_rule);
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
    tz_free(&z);
}
