/* tz_internal.h - the representation of a zone; only for tz*.c.
 *
 * tz.c       finds a zone's file and looks up offsets
 * tz_file.c  reads the file
 * tz_rule.c  parses and applies the rule at the end of the file
 *
 * The rule covers the time after the last step in the table. It is a POSIX TZ string with the
 * extensions of RFC 8536, such as CET-1CEST,M3.5.0,M10.5.0/3. */
#ifndef BASE_TZ_INTERNAL_H
#define BASE_TZ_INTERNAL_H

#include "base/tz.h"

/* A time at which the zone's offset changes. */
struct tz_step {
    int64_t at;
    int32_t offset; /* the offset from then on */
};

/* When a rule changes the clocks: a day of each year, and seconds from its midnight (may be
 * negative or more than a day). */
struct tz_change {
    enum { BY_WEEKDAY, BY_DAY, BY_DAY_WITHOUT_LEAP } kind;
    int month, week, day; /* for BY_WEEKDAY: week 5 is the last, day 0 is Sunday; else only day */
    int32_t time;
};

struct tz_rule {
    int32_t standard, summer; /* offsets */
    bool has_summer;          /* false if there is standard time all year */
    struct tz_change to_summer, to_standard;
};

/* Returns false if `text` is not a valid rule. */
MUST_USE bool tz_rule_parse(const char *text, struct tz_rule *out);

/* Like tz_period, for a rule with summer time. */
struct tz_period tz_rule_period(const struct tz_rule *r, int64_t t);

struct tz {
    int32_t before;        /* the offset before the first step */
    struct tz_step *steps; /* ascending */
    size_t n;
    bool has_rule; /* if false, the last offset applies forever */
    struct tz_rule rule;
};

#endif
