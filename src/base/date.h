/* date.h - Gregorian calendar arithmetic for any year, without libc's time zone: converts days
 * since 1970-01-01 to year, month and day, and back. */
#ifndef BASE_DATE_H
#define BASE_DATE_H

#include <stdint.h>

#define DAY_SECONDS 86400

struct date {
    int64_t year;
    int month; /* January is 1 */
    int day;   /* the first is 1 */
};

int64_t date_to_days(int64_t year, int month, int day);
struct date date_from_days(int64_t days);
int date_weekday(int64_t days); /* 0 = Sunday */
int date_month_days(int64_t year, int month);

/* a / b rounded towards minus infinity; b > 0. */
static inline int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

#endif
