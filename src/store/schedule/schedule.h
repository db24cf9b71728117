/* schedule.h - workflows that were applied under their names, and the schedules that fire them.
 *
 *   apply.c    a definition becomes what its name means; its schedules with it
 *   schedule.c          a row and its image; pause, resume, run
 *   fire.c     what is due is begun, by any engine
 *   schedules.c   reading
 *
 * A schedule is called WORKFLOW/NAME; WORKFLOW alone means all of that workflow. Whoever fires or
 * changes one holds its row's lock, taken before those of limits, and never waited for by those who
 * hold any other. So the end of a run does not touch the row: that one waits for it is found out by
 * looking (next_schedule in 00_columns.sql), which the wake-up of that end hurries. */
#ifndef STORE_SCHEDULE_SCHEDULE_H
#define STORE_SCHEDULE_SCHEDULE_H

#include "core/schedule/schedule.h"
#include "store/operator.h"
#include "store/store.h"

/* ---- apply ---- */

struct apply_request {
    const char *definition; /* the canonical text of a workflow */
    const char *by;         /* who; NULL: not told */

    /* out */
    char hash[WORKFLOW_HASH_SIZE];
    bool unchanged;                  /* the name meant this very definition before */
    size_t schedules, kept, removed; /* kept: of those it has now, with the same pattern */
};
/* Stores the definition with all nested in it as what its name means, with its schedules instead of
 * those before. One with the pattern and time zone of an earlier one goes on where that stood, also
 * in its pause; one that is new begins now. E_INVALID: it can't be run. */
MUST_USE int op_apply(struct turn *t, struct apply_request *a, struct err *err);

/* ---- fire ---- */

struct schedule_slice {
    size_t max; /* schedules looked at in this turn */

    /* out */
    size_t found;            /* that were due, also if the turn failed */
    int64_t first;           /* the first of them */
    size_t checked, started; /* schedules, runs; others are locked */
    bool more;               /* look again at once */
    int64_t next, now; /* by turn_wall_time: when the next look is due (0: none), and the time */
    const char **messages; /* sentences for an operator; live until the store's next turn */
    size_t nmessages;
};
/* Looks at those that are due and begins what they fire, with the firing and the next time in the
 * same transaction. One that can't be fired keeps the reason, and is looked at again later. */
MUST_USE int op_fire_schedules(struct turn *t, struct schedule_slice *r, struct err *err);
/* The same is done with one whose turn can't be stored. *name is what people call it, until the
 * store's next turn. -E_BUSY: it is locked. */
MUST_USE int op_schedule_quarantine(struct turn *t, int64_t id, const char *why, const char **name,
                                    struct err *err);

/* ---- an operator's hand ---- */

enum schedule_verb { SCHEDULE_PAUSE, SCHEDULE_RESUME, SCHEDULE_RUN };
struct schedule_action {
    enum schedule_verb verb;
    const char *name;        /* WORKFLOW or WORKFLOW/NAME */
    const char *by, *reason; /* NULL: not told */

    size_t changed; /* out: how many were */
    int64_t id;     /* out, of SCHEDULE_RUN: the run */
};
/* What comes while one is paused is not made up for, nor is a due time that waited then. A run by
 * hand begins at once, and counts as the last run. E_NOT_FOUND; E_INVALID: to resume what is not
 * paused, or to run several. */
MUST_USE int op_change_schedule(struct turn *t, struct schedule_action *o, struct err *err);

/* ---- rows ---- */

struct schedule_row {
    int64_t id;
    const char *workflow, *name;
    const char *cron, *tz; /* tz NULL: UTC */
    int64_t catchup, jitter, start, end;
    enum overlap overlap;
    const char *params;
    int64_t done, next, waiting, last_run; /* 0: none */
    int64_t skipped, skipped_at, missed_at;
    int64_t paused_at; /* 0: it is not paused */
    const char *paused_by, *pause_reason, *problem;
};
#define SCHEDULE_COLUMNS   22

#define SCHEDULE_NAME_SIZE (2 * WORKFLOW_NAME_MAX + 2)
const char *schedule_full_name(const struct schedule_row *r, char out[SCHEDULE_NAME_SIZE]);
/* WORKFLOW/NAME in its two parts; *name NULL: WORKFLOW alone. E_INVALID: too long. */
struct schedule_name {
    char workflow[WORKFLOW_NAME_MAX + 1];
    char own[WORKFLOW_NAME_MAX + 1];
    const char *name; /* own, or NULL */
};
MUST_USE int schedule_name_parse(const char *text, struct schedule_name *out, struct err *err);

/* As core decides on it, with its zone, which the caller frees. E_INVALID: the pattern or the zone
 * can't be read. `name` is the schedule's full name, and is kept. */
MUST_USE int schedule_from_row(const struct schedule_row *r, const char *name, struct schedule *out,
                               struct tz **zone, struct err *err);

/* ---- reading ---- */

struct schedule_list {
    struct schedule_listed {
        struct schedule_row row;
        const char *hash, *applied_by; /* of its workflow */
        int64_t applied_at;
        int64_t last_due; /* of the newest firing; 0: there is none */
        int last_status;  /* of the last run; 0: there is none any more */
        struct last_audit last_audit;
    } * at;
    size_t n;
    int64_t now; /* on the wall */
    struct arena arena;
};
void schedule_list_release(struct schedule_list *l);
/* NULL: all. E_NOT_FOUND: there is none of this name. */
MUST_USE int query_schedules(struct store *s, const char *name, struct schedule_list *out,
                             struct err *err);

/* The canonical text of what a name means. The caller frees it. E_NOT_FOUND */
MUST_USE int query_applied(struct store *s, const char *name, char **definition, struct err *err);

#endif
