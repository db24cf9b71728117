/* tz_rule.c - see tz_internal.h. */
#include "base/tz_internal.h"

#include "base/date.h"

#include <string.h>

#define HOUR             3600
#define MAX_OFFSET_HOURS 24
#define MAX_CHANGE_HOURS 167 /* RFC 8536 allows a week either way */

/* ---- parse: each moves *s past what it took, and is false if that is not there ---- */

static bool take(const char **s, char c)
{
    if (**s != c)
        return false;
    ++*s;
    return true;
}

static bool take_number(const char **s, int min, int max, int *out)
{
    int n = 0, digits;

    for (digits = 0; **s >= '0' && **s <= '9' && digits < 4; digits++)
        n = n * 10 + (*(*s)++ - '0');
    if (!digits || n < min || n > max)
        return false;
    *out = n;
    return true;
}

/* Three or more letters, or anything of the kind <+0330>. */
static bool take_name(const char **s)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    bool quoted = take(s, '<');
    size_t n = quoted ? strcspn(*s, ">") : strspn(*s, letters);

    *s += n;
    return n >= 3 && (!quoted || take(s, '>'));
}

/* [+-]hh[:mm[:ss]] */
static bool take_time(const char **s, int max_hours, int32_t *out)
{
    int sign = take(s, '-') ? -1 : 1, h, m = 0, sec = 0;

    if (sign > 0)
        (void)take(s, '+');
    if (!take_number(s, 0, max_hours, &h))
        return false;
    if (take(s, ':') &&
        (!take_number(s, 0, 59, &m) || (take(s, ':') && !take_number(s, 0, 59, &sec))))
        return false;
    *out = sign * (h * HOUR + m * 60 + sec);
    return true;
}

/* Mmonth.week.day, Jday or day, each with an optional /time */
static bool take_change(const char **s, struct tz_change *out)
{
    struct tz_change c = {.time = 2 * HOUR};

    if (take(s, 'M')) {
        c.kind = BY_WEEKDAY;
        if (!take_number(s, 1, 12, &c.month) || !take(s, '.') || !take_number(s, 1, 5, &c.week) ||
            !take(s, '.') || !take_number(s, 0, 6, &c.day))
            return false;
    } else if (take(s, 'J')) {
        c.kind = BY_DAY_WITHOUT_LEAP;
        if (!take_number(s, 1, 365, &c.day))
            return false;
    } else {
        c.kind = BY_DAY;
        if (!take_number(s, 0, 365, &c.day))
            return false;
    }
    if (take(s, '/') && !take_time(s, MAX_CHANGE_HOURS, &c.time))
        return false;
    *out = c;
    return true;
}

bool tz_rule_parse(const char *text, struct tz_rule *out)
{
    struct tz_rule r = {0};
    const char *s = text;

    if (!take_name(&s) || !take_time(&s, MAX_OFFSET_HOURS, &r.standard))
        return false;
    r.standard = -r.standard; /* POSIX counts to the west */
    if (*s) {
        r.has_summer = true;
        r.summer = r.standard + HOUR;
        if (!take_name(&s))
            return false;
        if (*s != ',') {
            if (!take_time(&s, MAX_OFFSET_HOURS, &r.summer))
                return false;
            r.summer = -r.summer;
        }
        if (!take(&s, ',') || !take_change(&s, &r.to_summer) || !take(&s, ',') ||
            !take_change(&s, &r.to_standard) || *s)
            return false;
    }
    *out = r;
    return true;
}

/* ---- apply ---- */

/* Midnight of the day on which the change is made, in days since 1970. */
static int64_t change_day(const struct tz_change *c, int64_t year)
{
    int64_t first;
    int day;

    switch (c->kind) {
    case BY_DAY:
        return date_to_days(year, 1, 1) + c->day;
    case BY_DAY_WITHOUT_LEAP: /* 60 is always the first of March */
        return date_to_days(year, 1, 1) + c->day - 1 +
               (c->day >= 60 && date_month_days(year, 2) == 29);
    case BY_WEEKDAY:
        break;
    }
    first = date_to_days(year, c->month, 1);
    day = (c->day - date_weekday(first) + 7) % 7 + (c->week - 1) * 7;
    if (day >= date_month_days(year, c->month))
        day -= 7;
    return first + day;
}

/* A change is noted in the time that holds before it. */
static int64_t change_time(const struct tz_change *c, int64_t year, int32_t offset_before)
{
    return change_day(c, year) * DAY_SECONDS + c->time - offset_before;
}

/* Sorted by time. Of two at once the one that was there first stays first: where summer time lasts
 * all year, it ends and begins at the same moment, and the beginning counts. */
static void add_step(struct tz_step *steps, size_t n, int64_t at, int32_t offset)
{
    while (n && steps[n - 1].at > at) {
        steps[n] = steps[n - 1];
        n--;
    }
    steps[n] = (struct tz_step){at, offset};
}

#define YEARS_AROUND 2 /* a change may be noted a week into the year before or after */

struct tz_period tz_rule_period(const struct tz_rule *r, int64_t t)
{
    struct tz_step steps[2 * (2 * YEARS_AROUND + 1)];
    int64_t this_year = date_from_days(floor_div(t, DAY_SECONDS)).year, year;
    size_t n = 0, i = 0;

    for (year = this_year - YEARS_AROUND; year <= this_year + YEARS_AROUND; year++) {
        add_step(steps, n++, change_time(&r->to_summer, year, r->standard), r->summer);
        add_step(steps, n++, change_time(&r->to_standard, year, r->summer), r->standard);
    }
    while (i + 2 < n && steps[i + 1].at <= t)
        i++;
    return (struct tz_period){steps[i].at, steps[i + 1].at, steps[i].offset};
}
