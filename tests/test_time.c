/* test_time.c - the calendar; parsing and formatting of times and durations. */
#include "harness.h"

#include "base/date.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

TEST_NO_DB;

#define COUNT(list) (sizeof(list) / sizeof(*(list)))

TEST(times_are_written_in_utc_with_microseconds)
{
    static const struct {
        int64_t us;
        const char *text;
    } times[] = {
        {0, "1970-01-01T00:00:00.000000Z"},
        {1, "1970-01-01T00:00:00.000001Z"},
        {-1, "1969-12-31T23:59:59.999999Z"},
        {-1000000, "1969-12-31T23:59:59.000000Z"},
        {951782400000000, "2000-02-29T00:00:00.000000Z"},
        {1769903999123456, "2026-01-31T23:59:59.123456Z"},
        {4102444800000000, "2100-01-01T00:00:00.000000Z"},
    };
    char text[TIME_TEXT_SIZE];
    struct err err;
    int64_t back;
    size_t i;

    for (i = 0; i < COUNT(times); i++) {
        CHECK_STR(text_time(times[i].us, text), times[i].text);
        CHECK_OK_ERR(text_parse_time(text, &back, &err), &err);
        CHECK_EQ(back, times[i].us);
    }
    /* any stored value fits into the buffer */
    text_time(INT64_MAX, text);
    text_time(INT64_MIN, text);
}

TEST(time_of_day_of_a_string_without_a_time_is_empty)
{
    static const char *const texts[] = {"", "x", "2026-01-31", "2026-01-31T"};
    size_t i;

    CHECK_STR(text_time_of_day("2026-01-31T14:00:00.123456Z"), "14:00:00.123456Z");
    for (i = 0; i < COUNT(texts); i++) {
        char *text = mem_strdup(texts[i]); /* a read past its end is found by the sanitizer */

        CHECK(text_time_of_day(text) >= text && text_time_of_day(text) <= text + strlen(text));
        CHECK_STR(text_time_of_day(text), "");
        free(text);
    }
}

TEST(written_times_read_back_unchanged)
{
    char text[TIME_TEXT_SIZE];
    struct err err;
    int64_t us, back;

    for (us = -2000000000000000; us < 5000000000000000; us += 1234567890123) {
        CHECK_OK_ERR(text_parse_time(text_time(us, text), &back, &err), &err);
        CHECK_EQ(back, us);
    }
}

TEST(times_are_read_in_all_documented_forms)
{
    static const struct {
        const char *text;
        int64_t us;
    } times[] = {
        {"2026-01-31", 1769817600000000},
        {"2026-01-31T14:00:00Z", 1769868000000000},
        {"2026-01-31 14:00:00Z", 1769868000000000},
        {"2026-01-31T14:00:00", 1769868000000000},
        {"2026-01-31T14:00:00.5Z", 1769868000500000},
        {"2026-01-31T14:00:00.1234567Z",
         1769868000123456}, /* digits below a microsecond are cut off */
        {"2026-01-31T14:00:00+02:00", 1769860800000000},
        {"2026-01-31T14:00:00-05:30", 1769887800000000},
        {"2026-01-31T14:00:00.25+00:00", 1769868000250000},
        {"@0", 0},
        {"@1769868000", 1769868000000000},
        {"@-1", -1000000},
    };
    struct err err;
    int64_t us;
    size_t i;

    for (i = 0; i < COUNT(times); i++) {
        CHECK_OK_ERR(text_parse_time(times[i].text, &us, &err), &err);
        CHECK_EQ(us, times[i].us);
    }
}

TEST(invalid_time_is_refused_with_the_valid_forms)
{
    static const char *const bad[] = {
        "",
        "yesterday",
        "2026",
        "2026-1-31",
        "26-01-31",
        "2026-01-31T",
        "2026-01-31T14",
        "2026-01-31T14:00",
        "2026-01-31T14:00:00X",
        "2026-01-31T14:00:00Z ",
        "2026-01-31T14:00:00ZZ",
        "2026-01-31T14:00:00+02",
        "2026-01-31T14:00:00+02:00x",
        "2026-01-31x",
        "2026-13-01",
        "2026-00-10",
        "2026-01-32",
        "2026-02-31",
        " 2026-01-31",
        "2026-01-31T-1:00:00Z",
        "2026-01-31T14:00:00+99:99",
        "2026-01-31T14:00:00+02:0Z",
        "2026-01-31T14:00:00.Z",
        "@9223372036854775807",
        "@253402300800",
        "9999-12-31T23:59:59-01:00",
        "@ 5",
        "2026-01-00",
        "2026-01-31T24:00:00Z",
        "2026-01-31T23:60:00Z",
        "2026-01-31T23:59:61Z",
        "@",
        "@x",
        "@1.5",
    };
    struct err err;
    int64_t us = 17;
    size_t i;

    for (i = 0; i < COUNT(bad); i++) {
        if (text_parse_time(bad[i], &us, &err) != -E_INVALID)
            test_fail(__FILE__, __LINE__, "'%s' was accepted as a time", bad[i]);
        CHECK(strstr(err.msg, "2026-01-31"));
    }
    CHECK_EQ(us, 17);
}

TEST(duration_is_read_as_a_number_and_a_unit)
{
    static const struct {
        const char *text;
        int64_t us;
    } good[] = {
        {"0s", 0},         {"1us", 1},         {"250ms", 250000},      {"30s", 30000000},
        {"5m", 300000000}, {"2h", 7200000000}, {"90d", 7776000000000}, {"007s", 7000000},
    };
    static const char *const bad[] = {"",
                                      "5",
                                      "s",
                                      "5 s",
                                      "5S",
                                      "5sec",
                                      "-5s",
                                      "+5s",
                                      " 5s",
                                      "5s ",
                                      "1.5h",
                                      "1h30m",
                                      "0x5s",
                                      "5w",
                                      "5y",
                                      "inf",
                                      "9223372036854775807d",
                                      "99999999999999999999s"};
    struct err err;
    int64_t us;
    size_t i;

    for (i = 0; i < COUNT(good); i++) {
        CHECK_OK_ERR(text_parse_duration(good[i].text, &us, &err), &err);
        CHECK_EQ(us, good[i].us);
    }
    us = 17;
    for (i = 0; i < COUNT(bad); i++) {
        if (text_parse_duration(bad[i], &us, &err) != -E_INVALID)
            test_fail(__FILE__, __LINE__, "'%s' was accepted as a duration", bad[i]);
        CHECK(strstr(err.msg, "30s"));
    }
    CHECK_EQ(us, 17);
}

TEST(durations_are_shown_in_readable_units)
{
    static const struct {
        int64_t us;
        const char *text;
    } samples[] = {
        {-1, "-"},
        {0, "0.0 ms"},
        {400, "0.4 ms"},
        {999900, "999.9 ms"},
        {1000000, "1.0 s"},
        {12340000, "12.3 s"},
        {60000000, "1 m 0 s"},
        {3599000000, "59 m 59 s"},
        {12000000000, "3 h 20 m"},
        {86400000000, "1 d 0 h"},
        {7776000000000, "90 d 0 h"},
    };
    char text[DURATION_TEXT_SIZE];
    size_t i;

    for (i = 0; i < COUNT(samples); i++)
        CHECK_STR(text_duration(samples[i].us, text), samples[i].text);
}

/* ---- the calendar ---- */

TEST(dates_computed_from_day_numbers_match_libc_and_convert_back)
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

TEST(each_day_in_four_hundred_years_follows_the_previous_day)
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
