/* cron.h - computes when a cron pattern is due. Pure: the time zone and the time are arguments.
 *
 * A pattern has five fields, minute hour day-of-month month day-of-week, each '*' or a list of
 * numbers and ranges; '*' and ranges may have a step: 1,15 or 9-17 or 0-30/10. Months and weekdays
 * may be names (jan, mon) in any case; Sunday is 0 or 7. A nickname replaces all five fields:
 * @yearly @annually @monthly @weekly @daily @midnight @hourly.
 *
 * As in cron, if both day fields are restricted, a day matches if either of them does:
 * "0 0 13 * fri" is every 13th and every Friday. A field that starts with '*', even with a step,
 * does not count as restricted; then both fields must match.
 *
 * When clocks change:
 *
 * - A pattern that restricts the hour follows the wall clock. A skipped local time is due at the
 *   jump; several skipped times are due only once. A local time that occurs twice is due the first
 *   time. So a pattern for 02:30 is due exactly once on every day.
 * - A pattern for every hour (@hourly, "30 * * * *", every 5 minutes) follows elapsed time. It is
 *   due whenever clocks show a matching time: both times in an hour that occurs twice, and never in
 *   an hour that is skipped. */
#ifndef CORE_SCHEDULE_CRON_H
#define CORE_SCHEDULE_CRON_H

#include "base/err.h"
#include "base/tz.h"

#include <stdbool.h>
#include <stdint.h>

#define CRON_MAX_TEXT 1000

/* In each set, bit n is set if n matches. */
struct cron {
    uint64_t minutes, hours, days, months, weekdays;
    bool either_day; /* a day matches if its day of the month or its day of the week matches */
};

/* Parses a pattern. The error names the field and the column. A pattern that can never be due is an
 * error. */
MUST_USE int cron_parse(const char *text, struct cron *out, struct err *err);

/* The first due time after `after`, in µs since 1970; false if there is none before 10000-01-01. */
MUST_USE bool cron_next(const struct cron *c, const struct tz *z, int64_t after, int64_t *next);

/* The last due time with after < due <= until. False if there is none. */
MUST_USE bool cron_last(const struct cron *c, const struct tz *z, int64_t after, int64_t until,
                        int64_t *last);

#endif
