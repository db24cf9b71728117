/* cron.h - when a cron pattern is due. Pure: the time zone is an argument, so is the time.
 *
 * A pattern has five fields, minute hour day-of-month month day-of-week, each '*' or a list of
 * numbers and ranges; '*' and ranges may have a step: 1,15 or 9-17 or 0-30/10. Months and weekdays
 * may be names (jan, mon) in any case; Sunday is 0 or 7. Nicknames stand for all five: @yearly
 * @annually @monthly @weekly @daily @midnight @hourly.
 *
 * As cron has it, a day matches if either day field does, when both are restricted: "0 0 13 * fri"
 * is every 13th and every Friday. A field that begins with '*', also one with a step, does not
 * restrict in this sense; then both must match.
 *
 * When clocks change:
 *
 * - A pattern that names hours goes by the clock on the wall. A local time that is left out is due
 *   at the jump (several of them once), one that is shown twice is due the first time. So what is
 *   due at 02:30 is due once on every day of the year.
 * - A pattern of every hour (@hourly, "30 * * * *", every 5 minutes) goes by the time that passes.
 *   It is due whenever clocks show a matching time: in the hour that comes twice both times, and
 *   not at all for an hour that is left out. */
#ifndef CORE_SCHEDULE_CRON_H
#define CORE_SCHEDULE_CRON_H

#include "base/err.h"
#include "base/tz.h"

#include <stdbool.h>
#include <stdint.h>

#define CRON_MAX_TEXT 1000

/* Bit n set: n matches. */
struct cron {
    uint64_t minutes, hours, days, months, weekdays;
    bool either_day; /* a day of the month or of the week is enough */
};

/* The error names the field and the column. A pattern that can never be due is one. */
MUST_USE int cron_parse(const char *text, struct cron *out, struct err *err);

/* The first due time after `after`, in µs since 1970; false if there is none before 10000-01-01. */
MUST_USE bool cron_next(const struct cron *c, const struct tz *z, int64_t after, int64_t *next);

/* The last due time with after < due <= until. False if there is none. */
MUST_USE bool cron_last(const struct cron *c, const struct tz *z, int64_t after, int64_t until,
                        int64_t *last);

#endif
