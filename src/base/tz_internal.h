/* tz_internal.h - what a zone is made of; for zone*.c alone.
 *
 * tz.c       finds a zone's file, and answers questions
 * tz_file.c  reads the file
 * tz_rule.c  the rule at its end, in the notation of POSIX's TZ with the extensions of RFC 8536:
 *              CET-1CEST,M3.5.0,M10.5.0/3; it says what holds after the last step of the table */
#ifndef BASE_TZ_INTERNAL_H
#define BASE_TZ_INTERNAL_H

#include "base/tz.h"

/* The offset changes. */
struct tz_step {
    int64_t at;
    int32_t offset; /* from then on */
};

/* A day of each year, and seconds after its midnight (may lie on other days). */
struct tz_change {
    enum { BY_WEEKDAY, BY_DAY, BY_DAY_WITHOUT_LEAP } kind;
    int month, week, day; /* BY_WEEKDAY: week 5 = the last, day 0 = Sunday; else only day */
    int32_t time;
};

struct tz_rule {
    int32_t standard, summer; /* offsets */
    bool has_summer;          /* without it, standard all year */
    struct tz_change to_summer, to_standard;
};

/* False if `text` is no such rule. */
MUST_USE bool tz_rule_parse(const char *text, struct tz_rule *out);

/* As tz_period, for a rule with summer time. */
struct tz_period tz_rule_period(const struct tz_rule *r, int64_t t);

struct tz {
    char name[TZ_NAME_SIZE];
    int32_t before;        /* the offset before the first step */
    struct tz_step *steps; /* rising */
    size_t n;
    bool has_rule; /* else the last offset stays */
    struct tz_rule rule;
};

struct tz *tz_new(const char *name); /* UTC under that name */

#endif
