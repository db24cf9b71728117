/* schedule_fixture.h - applied workflows in a test, which itself evaluates their schedules at a
 * time that it sets. Time only moves forward from now: the tests use dates from 2030 on. */
#ifndef TESTS_SCHEDULE_FIXTURE_H
#define TESTS_SCHEDULE_FIXTURE_H

#include "base/text.h"
#include "store/schedule/schedule.h"
#include "workflow_fixture.h"

#define MINUTE (60 * SECOND)
#define HOUR   (60 * MINUTE)

static inline int64_t schedule_time(const char *text)
{
    struct err err = ERR_INIT;
    int64_t us = 0;

    CHECK_OK_ERR(text_parse_time(text, &us, &err), &err);
    return us;
}

/* Moves the clock to just after that time. */
static inline void clock_to(struct store *s, const char *text)
{
    struct err err = ERR_INIT;
    struct next_due due;

    CHECK_OK_ERR(store_next_due(s, &due, &err), &err);
    CHECK(due.wall < schedule_time(text));
    clock_advance(schedule_time(text) - due.wall);
}

static inline int apply_body(struct turn *t, void *arg, struct err *err)
{
    return op_apply(t, arg, err);
}

static inline struct apply_request apply(struct store *s, const char *yaml)
{
    struct apply_request a = {.definition = workflow_text(yaml), .by = "test"};
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, apply_body, &a, &err), &err);
    free((char *)a.definition);
    return a;
}

/* A workflow "w" of one task, with these schedules. */
static inline struct apply_request apply_schedules(struct store *s, const char *list)
{
    char yaml[2000];

    snprintf(yaml, sizeof(yaml), "name: w\non: {schedule: %s}\ntasks: {a: {run: x}}\n", list);
    return apply(s, yaml);
}

static inline int fire_due_body(struct turn *t, void *arg, struct err *err)
{
    return op_fire_schedules(t, arg, err);
}

/* Fires due schedules as an engine does; returns how many runs were created. The last slice is in
 * *out, if it is not NULL. */
static inline size_t fire_due_slice(struct store *s, struct schedule_slice *out)
{
    struct schedule_slice r = {.max = 10};
    struct err err = ERR_INIT;
    size_t started = 0;

    do {
        CHECK_OK_ERR(store_turn(s, fire_due_body, &r, &err), &err);
        started += r.started;
    } while (r.more);
    if (out)
        *out = r;
    return started;
}

static inline size_t fire_due(struct store *s)
{
    return fire_due_slice(s, NULL);
}

/* Moves the clock to that time and calls fire_due_slice. */
static inline size_t fire_due_at(struct store *s, const char *time)
{
    clock_to(s, time);
    return fire_due(s);
}

static inline int change_schedule_body(struct turn *t, void *arg, struct err *err)
{
    return op_change_schedule(t, arg, err);
}

static inline int change_schedule(struct store *s, enum schedule_verb verb, const char *name,
                                  int64_t *id)
{
    struct schedule_action o = {.verb = verb, .name = name, .by = "me", .reason = "why not"};
    struct err err = ERR_INIT;
    int rc = store_turn(s, change_schedule_body, &o, &err);

    if (id)
        *id = o.id;
    return rc;
}

/* The texts in the result live for the next few calls. */
static inline struct schedule_listed schedule_named(struct store *s, const char *name)
{
    static struct schedule_list kept[4];
    static unsigned calls;
    struct schedule_list *l = &kept[calls++ % 4];
    struct err err = ERR_INIT;

    schedule_list_release(l);
    CHECK_OK_ERR(query_schedules(s, name, l, &err), &err);
    CHECK_EQ(l->n, 1);
    return l->at[0];
}

static inline int64_t firings(struct store *s)
{
    return sql_number(s, "SELECT count(*) FROM schedule_firings");
}

/* The due time of the nth firing, from 0, ordered by time. */
static inline const char *firing(struct store *s, int nth)
{
    static char text[TIME_TEXT_SIZE];
    char sql[300];

    snprintf(sql, sizeof(sql), "SELECT %s FROM schedule_firings ORDER BY due_at LIMIT 1 OFFSET %d",
             strcmp(test_db(), "sqlite") ? "CAST(extract(epoch FROM due_at) * 1000000 AS bigint)"
                                         : "due_at",
             nth);
    text_time(sql_number(s, sql), text);
    text[19] = '\0'; /* without fractions of a second */
    return text;
}

static inline int64_t running_runs(struct store *s)
{
    return sql_number(s, "SELECT count(*) FROM executions WHERE parent IS NULL AND status = 3");
}

/* Workflow w with these schedules, applied at that time. */
static inline struct store *applied_at(const char *time, const char *list)
{
    struct store *s = fixture_store();

    clock_to(s, time);
    apply_schedules(s, list);
    CHECK_EQ(fire_due(s), 0);
    return s;
}

/* Like applied_at, with an hourly schedule that fired once, at 13:00; that run is still running. */
static inline struct store *fired_once(const char *list)
{
    struct store *s = applied_at("2030-06-01T12:30:00Z", list);

    CHECK_EQ(fire_due_at(s, "2030-06-01T13:00:00Z"), 1);
    return s;
}

static inline void schedule_done(struct store *s)
{
    verify_clean(s);
    store_close(&s);
}

#endif
