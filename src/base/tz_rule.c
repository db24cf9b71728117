/* tz_rule.c - parses the rule of a time zone and computes when it changes the clocks; see
 * tz_internal.h. */
#include "base/tz_internal.h"

#include "base/date.h"

#include <string.h>

#define HOUR             3600
#define MAX_OFFSET_HOURS 24
#define MAX_CHANGE_HOURS 167 /* RFC 8536 allows times up to a week before or after the day */

/* ---- parsing: each function moves *s past its input; false if the input is not valid ---- */

static bool parse_char(const char **s, char c)
{
    if (**s != c)
        return false;
    ++*s;
    return true;
}

static bool parse_number(const char **s, int min, int max, int *out)
{
    int n = 0, digits;

    for (digits = 0; **s >= '0' && **s <= '9' && digits < 4; digits++)
        n = n * 10 + (*(*s)++ - '0');
    if (!digits || n < min || n > max)
        return false;
    *out = n;
    return true;
}

/* Parses the abbreviation of a zone: three or more letters, or a quoted name such as <+0330>. */
static bool parse_name(const char **s)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    bool quoted = parse_char(s, '<');
    size_t n = quoted ? strcspn(*s, ">") : strspn(*s, letters);

    *s += n;
    return n >= 3 && (!quoted || parse_char(s, '>'));
}

/* [+-]hh[:mm[:ss]] */
static bool parse_time(const char **s, int max_hours, int32_t *out)
{
    int sign = parse_char(s, '-') ? -1 : 1, h, m = 0, sec = 0;

    if (sign > 0)
        (void)parse_char(s, '+');
    if (!parse_number(s, 0, max_hours, &h))
        return false;
    if (parse_char(s, ':') &&
        (!parse_number(s, 0, 59, &m) || (parse_char(s, ':') && !parse_number(s, 0, 59, &sec))))
        return false;
    *out = sign * (h * HOUR + m * 60 + sec);
    return true;
}

/* Parses the day of a change, Mmonth.week.day, Jday or day, and an optional /time. */
static bool parse_change(const char **s, struct tz_change *out)
{
    struct tz_change c = {.time = 2 * HOUR};

    if (parse_char(s, 'M')) {
        c.kind = BY_WEEKDAY;
        if (!parse_number(s, 1, 12, &c.month) || !parse_char(s, '.') ||
            !parse_number(s, 1, 5, &c.week) || !parse_char(s, '.') ||
            !parse_number(s, 0, 6, &c.day))
            return false;
    } else if (parse_char(s, 'J')) {
        c.kind = BY_DAY_WITHOUT_LEAP;
        if (!parse_number(s, 1, 365, &c.day))
            return false;
    } else {
        c.kind = BY_DAY;
        if (!parse_number(s, 0, 365, &c.day))
            return false;
    }
    if (parse_char(s, '/') && !parse_time(s, MAX_CHANGE_HOURS, &c.time))
        return false;
    *out = c;
    return true;
}

bool tz_rule_parse(const char *text, struct tz_rule *out)
{
    struct tz_rule r = {0};
    const char *s = text;

    if (!parse_name(&s) || !parse_time(&s, MAX_OFFSET_HOURS, &r.standard))
        return false;
    r.standard = -r.standard; /* POSIX offsets are positive to the west */
    if (*s) {
        r.has_summer = true;
        r.summer = r.standard + HOUR;
        if (!parse_name(&s))
            return false;
        if (*s != ',') {
            if (!parse_time(&s, MAX_OFFSET_HOURS, &r.summer))
                return false;
            r.summer = -r.summer;
        }
        if (!parse_char(&s, ',') || !parse_change(&s, &r.to_summer) || !parse_char(&s, ',') ||
            !parse_change(&s, &r.to_standard) || *s)
            return false;
    }
    *out = r;
    return true;
}

/* ---- applying ---- */

/* The day on which the clocks change in a year, in days since 1970. */
static int64_t change_day(const struct tz_change *c, int64_t year)
{
    int64_t first;
    int day;

    switch (c->kind) {
    case BY_DAY:
        return date_to_days(year, 1, 1) + c->day;
    case BY_DAY_WITHOUT_LEAP: /* February 29 has no number, so day 60 is March 1 */
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

/* When the clocks change in a year. A rule gives the time in the local time before the change. */
static int64_t change_time(const struct tz_change *c, int64_t year, int32_t offset_before)
{
    return change_day(c, year) * DAY_SECONDS + c->time - offset_before;
}

/* Inserts a step in order of time. If two steps have the same time, the one added later comes last.
 * Where summer time lasts all year, it ends and starts again at the same time, and the start must
 * win. */
static void add_step(struct tz_step *steps, size_t n, int64_t at, int32_t offset)
{
    while (n && steps[n - 1].at > at) {
        steps[n] = steps[n - 1];
        n--;
    }
    steps[n] = (struct tz_step){at, offset};
}

#define YEARS_AROUND 2 /* a change may be up to a week from its day, and so in an adjacent year */

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
