/* due_fixture.h - a schedule in a test without a database, and its evaluation at a given time. */
#ifndef TESTS_DUE_FIXTURE_H
#define TESTS_DUE_FIXTURE_H

#include "tz_fixture.h"

#include "core/schedule/schedule.h"

#define SECOND INT64_C(1000000)
#define MINUTE (60 * SECOND)
#define HOUR   (60 * MINUTE)
#define MAX    16

static const char noon[] = "2026-06-01T12:00:00Z";

struct fixture {
    struct schedule s;
    struct tz *z;
    struct schedule_due_times found;
    int64_t out[MAX];
};

static inline struct fixture schedule(const char *cron)
{
    struct fixture f = {.s = {.name = "nightly"}, .z = tz_of_rule("UTC0")};
    struct err err = ERR_INIT;

    CHECK_OK_ERR(cron_parse(cron, &f.s.cron, &err), &err);
    return f;
}

static inline struct fixture schedule_in_berlin(const char *cron)
{
    struct fixture f = schedule(cron);

    tz_free(&f.z);
    f.z = tz_of_rule(berlin_rule);
    return f;
}

static inline int64_t us(const char *text)
{
    struct err err = ERR_INIT;
    int64_t t = 0;

    CHECK_OK_ERR(text_parse_time(text, &t, &err), &err);
    return t;
}

static inline void evaluate(struct fixture *f, int64_t last, int64_t now)
{
    schedule_due(&f->s, f->z, last, now, MAX, f->out, &f->found);
}

#endif
