/* retention.h - how long executions and logs are kept: a setting that all workers of a database
 * share, stored as JSON. */
#ifndef CORE_RETENTION_H
#define CORE_RETENTION_H

#include "base/err.h"

#define RETENTION_DAYS_MAX 36500

struct retention_policy {
    int execution_days; /* days after the end of a tree; 0 if executions are kept forever */
    /* Days, less than execution_days; 0 if logs are kept as long as executions. */
    int log_days;
};

/* Checks both numbers. A log_days that equals execution_days becomes 0. */
MUST_USE int retention_check(struct retention_policy *p, struct err *err);
MUST_USE int retention_read(const char *json, struct retention_policy *out, struct err *err);
/* Writes the policy as JSON; equal policies give equal strings. The caller frees the string. */
char *retention_write(const struct retention_policy *p);

#endif
