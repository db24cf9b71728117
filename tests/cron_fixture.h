/* cron_fixture.h - cron patterns in a test and their due times. */
#ifndef TESTS_CRON_FIXTURE_H
#define TESTS_CRON_FIXTURE_H

#include "tz_fixture.h"

#include "core/schedule/cron.h"

#define SECOND INT64_C(1000000)
#define DAY    86400

static inline struct cron pattern(const char *text)
{
    struct err err = ERR_INIT;
    struct cron c;

    CHECK_OK_ERR(cron_parse(text, &c, &err), &err);
    return c;
}

static inline void check_next(const struct tz *z, const char *text, int64_t after, int64_t want)
{
    struct cron c = pattern(text);
    char found[TIME_TEXT_SIZE] = "never", wanted[TIME_TEXT_SIZE];
    int64_t next;

    if (cron_next(&c, z, after, &next))
        text_time(next, found);
    if (strcmp(found, text_time(want, wanted)) != 0)
        test_fail(__FILE__, __LINE__, "'%s' is due at %s, not at %s", text, found, wanted);
}

/* A pattern, a time, and the due times after it: local times with their offset. */
struct due_case {
    const char *cron, *after, *due[6];
};

static inline void check_cases(struct tz *z, const struct due_case *cases, size_t n)
{
    const struct due_case *c;
    size_t i;

    for (c = cases; c < cases + n; c++) {
        int64_t last = at(c->after) * SECOND, want;

        for (i = 0; i < COUNT(c->due) && c->due[i]; i++, last = want) {
            want = at(c->due[i]) * SECOND;
            check_next(z, c->cron, last, want);
            check_next(z, c->cron, want - 1, want);
        }
        CHECK(i);
    }
    tz_free(&z);
}

#endif
