/* date.c - converts between days and calendar dates; see date.h. Years are counted from March, so
 * that the leap day is the last day of its year, and in cycles of 400 years, after which the
 * calendar repeats. */
#include "base/date.h"

#include <stdbool.h>

#define CYCLE_YEARS 400
#define CYCLE_DAYS  146097
#define EPOCH_DAYS  719468 /* days from 0000-03-01 to 1970-01-01 */

/* Days between March 1 and the first day of the month; month 0 is March. From March on, the lengths
 * of the months are 31 30 31 30 31, twice, then January and February. */
static int days_before_month(int month)
{
    return (153 * month + 2) / 5;
}

static bool is_leap(int64_t year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

int64_t date_to_days(int64_t year, int month, int day)
{
    int64_t y = month > 2 ? year : year - 1;
    int64_t cycle = floor_div(y, CYCLE_YEARS), in_cycle = y - cycle * CYCLE_YEARS;

    return cycle * CYCLE_DAYS + in_cycle * 365 + in_cycle / 4 - in_cycle / 100 +
           days_before_month((month + 9) % 12) + day - 1 - EPOCH_DAYS;
}

struct date date_from_days(int64_t days)
{
    int64_t cycle = floor_div(days + EPOCH_DAYS, CYCLE_DAYS);
    int left = (int)(days + EPOCH_DAYS - cycle * CYCLE_DAYS);
    /* Subtract the leap days, so that every year left has 365 days. */
    int year = (left - left / 1460 + left / 36524 - left / 146096) / 365;
    int month;

    left -= year * 365 + year / 4 - year / 100;
    month = (5 * left + 2) / 153;
    return (struct date){
        .year = cycle * CYCLE_YEARS + year + (month >= 10),
        .month = (month + 2) % 12 + 1,
        .day = left - days_before_month(month) + 1,
    };
}

int date_weekday(int64_t days)
{
    int64_t since_sunday = days + 4; /* 1970-01-01 was a Thursday */

    return (int)(since_sunday - floor_div(since_sunday, 7) * 7);
}

int date_month_days(int64_t year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

    return days[month - 1] + (month == 2 && is_leap(year));
}
