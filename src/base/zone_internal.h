/* zone_internal.h - what a zone is made of; for zone*.c alone.
 *
 * zone.c       finds a zone's file, and answers questions
 * zone_tzif.c  reads the file
 * zone_rule.c  the rule at its end, in the notation of POSIX's TZ with the extensions of RFC 8536:
 *              CET-1CEST,M3.5.0,M10.5.0/3; it says what holds after the last step of the table */
#ifndef BASE_ZONE_INTERNAL_H
#define BASE_ZONE_INTERNAL_H

#include "base/zone.h"

/* The offset changes. */
struct zone_step {
    int64_t at;
    int32_t offset; /* from then on */
};

/* A day of each year, and seconds after its midnight (may lie on other days). */
struct zone_change {
    enum { BY_WEEKDAY, BY_DAY, BY_DAY_WITHOUT_LEAP } kind;
    int month, week, day; /* BY_WEEKDAY: week 5 = the last, day 0 = Sunday; else only day */
    int32_t time;
};

struct zone_rule {
    int32_t standard, summer; /* offsets */
    bool has_summer;          /* without it, standard all year */
    struct zone_change to_summer, to_standard;
};

/* False if `text` is no such rule. */
MUST_USE bool zone_rule_parse(const char *text, struct zone_rule *out);

/* As zone_period, for a rule with summer time. */
struct zone_period zone_rule_period(const struct zone_rule *r, int64_t t);

struct zone {
    char name[ZONE_NAME_SIZE];
    int32_t before;          /* the offset before the first step */
    struct zone_step *steps; /* rising */
    size_t n;
    bool has_rule; /* else the last offset stays */
    struct zone_rule rule;
};

struct zone *zone_new(const char *name); /* UTC under that name */

#endif
