/* schedule.h - applied workflows and the schedules that fire them.
 *
 *   apply.c               binds a name to a definition, and replaces the name's schedules;
 *                         catalogue.h has the other operations on applied workflows
 *   fire.c                starts the runs that are due; any engine may do it
 *   schedule.c            reads and writes rows; pause, resume, manual run
 *   ../query/schedules.c  reads schedules for users
 *
 * A schedule is called WORKFLOW/NAME; WORKFLOW alone means all schedules of that workflow.
 *
 * A transaction that fires or changes a schedule holds the lock of the schedule's row. It takes
 * that lock before the locks of limits; apply.c takes the lock of the workflow's name first. A
 * transaction that holds any other lock never waits for the lock of a schedule. Therefore the turn
 * that ends a run does not change the row of a schedule that waits for this end. It wakes the
 * engines, which find such schedules by a query (next_schedule in sql/00_columns.sql). */
#ifndef STORE_SCHEDULE_SCHEDULE_H
#define STORE_SCHEDULE_SCHEDULE_H

#include "core/schedule/schedule.h"
#include "store/operator.h"
#include "store/store.h"

/* ---- apply ---- */

struct apply_request {
    const char *definition; /* canonical text of the workflow */
    const char *source;     /* text that the workflow was read from; NULL to keep a stored text */
    const char *by;         /* user who applies the workflow; NULL if unknown */
    /* Hash that the name must be bound to; "" if the name must not be applied; NULL for any. */
    const char *expected;

    /* out */
    char hash[WORKFLOW_HASH_SIZE];
    bool unchanged; /* result: the name was already bound to this definition */
    /* Result: numbers of schedules; kept: those with the same pattern as before. */
    size_t schedules, kept, removed;
};
/* Stores the definition with the workflows nested in it, binds its name to it, and replaces the
 * schedules of the name. A schedule with the pattern and time zone of an earlier one continues its
 * state, including a pause; a new one starts now. -E_INVALID if the definition can't be run;
 * -E_CONFLICT if the name is not bound as expected. */
MUST_USE int op_apply(struct turn *t, struct apply_request *a, struct err *err);

/* ---- fire ---- */

struct schedule_slice {
    size_t max; /* how many schedules this turn checks at most */
    /* To be set after the clock was set back: check the schedules that were last checked at a
     * later time than now, instead of those that are due. */
    bool ahead;

    /* out */
    size_t found;  /* result: how many schedules were due; set even if the turn failed */
    int64_t first; /* result: the first schedule that was due; 0 if none */
    /* Result: schedules checked (locked ones are skipped), and runs started. */
    size_t checked, started;
    bool more;    /* result: further schedules are due, so call again at once */
    int64_t next; /* result: when to call again, by turn_wall_time; 0 if never */
    int64_t now;  /* turn_wall_time */
    /* Result: warnings for an operator; valid until the store's next turn. */
    const char **messages;
    size_t nmessages;
};
/* Checks the schedules that are due and starts their runs; the firings and the next due times are
 * written in the same transaction. A schedule that can't be fired stores the reason and is checked
 * again later. */
MUST_USE int op_fire_schedules(struct turn *t, struct schedule_slice *r, struct err *err);
/* Stores `why` as the reason why a schedule can't be fired, and sets a later time for its next
 * check. Used for a schedule whose turn failed. *name becomes its full name, valid until the
 * store's next turn. -E_BUSY if the row of the schedule is locked. */
MUST_USE int op_schedule_quarantine(struct turn *t, int64_t id, const char *why, const char **name,
                                    struct err *err);

/* ---- operator actions ---- */

enum schedule_verb { SCHEDULE_PAUSE, SCHEDULE_RESUME, SCHEDULE_RUN };
struct schedule_action {
    enum schedule_verb verb;
    const char *name;        /* WORKFLOW or WORKFLOW/NAME */
    const char *by, *reason; /* user and reason; NULL if not given */

    size_t changed; /* result: how many schedules were changed */
    int64_t id;     /* result: the execution that SCHEDULE_RUN started */
};
/* Due times during a pause are skipped for good, and so is a due time that waits when the pause
 * starts. SCHEDULE_RUN starts a run at once; it is the last run that the overlap policy of the next
 * due time sees. -E_NOT_FOUND if no schedule has this name; -E_INVALID for SCHEDULE_RESUME of a
 * schedule that is not paused, or SCHEDULE_RUN with the name of several schedules. */
MUST_USE int op_change_schedule(struct turn *t, struct schedule_action *o, struct err *err);

/* ---- rows ---- */

struct schedule_row {
    int64_t id;
    const char *workflow, *name;
    const char *cron, *tz; /* tz is NULL for UTC */
    int64_t catchup, jitter, start, end;
    enum overlap overlap;
    const char *params;
    /* 0 if none; see struct schedule_state in core/schedule. */
    int64_t done, next, waiting, last_run;
    int64_t skipped, skipped_at, missed_at;
    int64_t paused_at; /* 0 if the schedule is not paused */
    const char *paused_by, *pause_reason, *problem;
};
#define SCHEDULE_COLUMNS   22

#define SCHEDULE_NAME_SIZE (2 * WORKFLOW_NAME_MAX + 2)
const char *schedule_full_name(const struct schedule_row *r, char out[SCHEDULE_NAME_SIZE]);
/* WORKFLOW/NAME split into its two parts. */
struct schedule_name {
    char workflow[WORKFLOW_NAME_MAX + 1];
    char own[WORKFLOW_NAME_MAX + 1];
    const char *name; /* points to `own`; NULL if the text was only WORKFLOW */
};
/* Parses WORKFLOW or WORKFLOW/NAME. -E_INVALID if a part is empty or too long. */
MUST_USE int schedule_name_parse(const char *text, struct schedule_name *out, struct err *err);

/* Converts a row to the form that core/schedule uses, and loads its time zone, which the caller
 * frees. `name` is the schedule's full name; *out borrows it. -E_INVALID if the pattern or the zone
 * can't be read. */
MUST_USE int schedule_from_row(const struct schedule_row *r, const char *name, struct schedule *out,
                               struct tz **zone, struct err *err);

/* ---- reading ---- */

struct schedule_listed {
    struct schedule_row row;
    /* Hash of the workflow's definition, and the user who applied it. */
    const char *hash, *applied_by;
    int64_t applied_at;
    int64_t last_due; /* due time of the newest firing; 0 if none */
    int last_status;  /* status of the last run; 0 if the run no longer exists */
    struct last_audit last_audit;
};
/* Now: the time of the list, see turn_wall_time. */
STORE_LIST(schedule_list, struct schedule_listed, int64_t now)
/* Makes a list from the rows of the statement query_schedules. `now` is the database's time at
 * which they were read. */
void query_read_schedules(struct store *s, const struct rows *r, int64_t now,
                          struct schedule_list *out);
/* Reads the schedules with this name; all schedules if the name is NULL. -E_NOT_FOUND if no
 * schedule has the name. */
MUST_USE int query_schedules(struct store *s, const char *name, struct schedule_list *out,
                             struct err *err);

/* Reads the canonical text of the definition that a name is bound to; the caller frees the text.
 * -E_NOT_FOUND if the name is not applied. */
MUST_USE int query_applied(struct store *s, const char *name, char **definition, struct err *err);

#endif
