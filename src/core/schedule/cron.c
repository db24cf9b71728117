/* cron.c - finds due times; see cron.h. Searches for a matching local time by month and day, never
 * minute by minute, and then converts it with the time zone. */
#include "core/schedule/cron.h"

#include "base/date.h"

#define SECOND_US   INT64_C(1000000)
#define DAY_MINUTES (24 * 60)
#define ALL_HOURS   ((UINT64_C(1) << 24) - 1)

#define FIRST_TIME  INT64_C(-62135596800) /* 0001-01-01 */
#define END_TIME    INT64_C(253402300800) /* 10000-01-01 */
/* The day on which searches end: two days after END_TIME, for clocks that are ahead of UTC. */
#define END_DAY     (END_TIME / DAY_SECONDS + 2)

/* The lowest number in the set that is not below `from`; -1 if there is none. */
static int next_in(uint64_t set, int from)
{
    set &= from < 64 ? ~UINT64_C(0) << from : 0;
    return set ? __builtin_ctzll(set) : -1;
}

static bool has(uint64_t set, int n)
{
    return set >> n & 1;
}

static bool day_matches(const struct cron *c, const struct date *d, int64_t days)
{
    bool in_month = has(c->days, d->day), in_week = has(c->weekdays, date_weekday(days));

    return c->either_day ? in_month || in_week : in_month && in_week;
}

/* Moves *days to the first matching day that is not before it. Returns false if that is END_DAY or
 * later. */
static bool next_day(const struct cron *c, int64_t *days)
{
    struct date d = date_from_days(*days);
    int last;

    for (; *days < END_DAY; d.day = 1, d.month++) {
        if (d.month > 12) {
            d.month = 1;
            d.year++;
        }
        last = date_month_days(d.year, d.month);
        if (!has(c->months, d.month)) {
            *days += last - d.day + 1;
            continue;
        }
        for (; d.day <= last; d.day++, ++*days)
            if (day_matches(c, &d, *days))
                return true;
    }
    return false;
}

/* The first matching minute of a day, counted from midnight, that is not before `from`; -1 if there
 * is none. */
static int next_minute(const struct cron *c, int from)
{
    int hour = next_in(c->hours, from / 60), minute;

    if (hour == from / 60) {
        minute = next_in(c->minutes, from % 60);
        if (minute >= 0)
            return hour * 60 + minute;
        hour = next_in(c->hours, hour + 1);
    }
    return hour < 0 ? -1 : hour * 60 + next_in(c->minutes, 0);
}

/* The first matching local time that is not before `local`. */
static bool next_local(const struct cron *c, int64_t local, int64_t *out)
{
    int64_t minutes = floor_div(local + 59, 60), today = floor_div(minutes, DAY_MINUTES);
    int64_t day = today;
    int minute;

    if (!next_day(c, &day))
        return false;
    minute = next_minute(c, day == today ? (int)(minutes - today * DAY_MINUTES) : 0);
    if (minute < 0) { /* no match is left on that day */
        day++;
        if (!next_day(c, &day))
            return false;
        minute = next_minute(c, 0);
    }
    *out = day * DAY_SECONDS + minute * 60;
    return true;
}

/* The next due time of a pattern that follows the wall clock: a local time is due when clocks first
 * show it or jump over it. If clocks show a local time a second time after `after`, the loop skips
 * it, because it was due the first time. */
static bool next_by_clock(const struct cron *c, const struct tz *z, int64_t after, int64_t *out)
{
    int64_t local = tz_to_local(z, after);

    do {
        if (!next_local(c, local + 1, &local))
            return false;
        *out = tz_from_local(z, local);
    } while (*out <= after);
    return true;
}

/* The next due time of a pattern that follows elapsed time. Searches one period of constant offset
 * after another. */
static bool next_by_time(const struct cron *c, const struct tz *z, int64_t after, int64_t *out)
{
    struct tz_period p = tz_period(z, after + 1);
    int64_t from = after + 1 + p.offset, start, local;

    if (!next_local(c, from, &local))
        return false;
    while (local - p.offset >= p.until) {
        p = tz_period(z, p.until);
        start = p.from + p.offset;
        if (start >= from && start <= local)
            /* Nothing matches between `from` and `local`, so searching again would find `local`. */
            continue;
        from = start;
        if (!next_local(c, from, &local))
            return false;
    }
    *out = local - p.offset;
    return true;
}

bool cron_next(const struct cron *c, const struct tz *z, int64_t after, int64_t *next)
{
    int64_t seconds = floor_div(after, SECOND_US), due;

    if (seconds >= END_TIME)
        return false;
    if (seconds < FIRST_TIME)
        seconds = FIRST_TIME;
    if (!(c->hours == ALL_HOURS ? next_by_time : next_by_clock)(c, z, seconds, &due) ||
        due >= END_TIME)
        return false;
    *next = due * SECOND_US;
    return true;
}

bool cron_last(const struct cron *c, const struct tz *z, int64_t after, int64_t until,
               int64_t *last)
{
    int64_t low, high = until < END_TIME * SECOND_US ? until : END_TIME * SECOND_US, mid, due;

    if (!cron_next(c, z, after, &low) || low > high)
        return false;
    /* Bisect: `low` is always a due time, and no due time up to `until` is later than `high`, so
     * both meet at the last one. */
    while (low < high) {
        mid = low + (high - low) / 2;
        if (cron_next(c, z, mid, &due) && due <= until)
            low = due;
        else
            high = mid;
    }
    *last = low;
    return true;
}
