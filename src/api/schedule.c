/* schedule.c - the schedules of applied workflows: pause, resume, run, list. */
#include "api/api.h"
#include "api/schedule_answer.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NEXT 10000
#define DAY      (86400LL * 1000000)

/* ---- pause, resume and run ---- */

TURN_BODY(schedule_body, op_change_schedule)

static int change_schedule(struct pawl *p, void *arg, struct err *err)
{
    static const char *const words[] = {
        [SCHEDULE_PAUSE] = "pause", [SCHEDULE_RESUME] = "resume", [SCHEDULE_RUN] = "run"};
    struct schedule_action *o = arg;

    if (!o->name)
        return err_set(err, E_INVALID, "the name of the schedule is missing");
    if (p->remote)
        return remote_schedule(p->remote, o->name, words[o->verb], o->reason, &o->id, err);
    TRY(api_follow_routes(p, false, err));
    return store_turn(p->store, schedule_body, arg, err);
}

static int request_schedule(struct pawl *p, enum schedule_verb verb, const char *name,
                            const char *by, const char *reason, int64_t *id, struct pawl_error *e)
{
    struct schedule_action o = {.verb = verb, .name = name, .by = by, .reason = reason};

    TRY(api_request(p, &o.by, o.reason, change_schedule, &o, e));
    if (id)
        *id = o.id;
    return 0;
}

int pawl_schedule_pause(struct pawl *p, const char *name, const char *by, const char *reason,
                        struct pawl_error *e)
{
    return request_schedule(p, SCHEDULE_PAUSE, name, by, reason, NULL, e);
}

int pawl_schedule_resume(struct pawl *p, const char *name, const char *by, const char *reason,
                         struct pawl_error *e)
{
    return request_schedule(p, SCHEDULE_RESUME, name, by, reason, NULL, e);
}

int pawl_schedule_run(struct pawl *p, const char *name, const char *by, const char *reason,
                      int64_t *id, struct pawl_error *e)
{
    return request_schedule(p, SCHEDULE_RUN, name, by, reason, id, e);
}

/* ---- next due times ---- */

struct due {
    char name[SCHEDULE_NAME_SIZE];
    const char *schedule; /* the schedule's name; set before the row is written */
    int64_t due, fires;
};
struct dues {
    struct due *at;
    size_t n, cap;
};

#define ROW struct due
static const struct column due_columns[] = {
    {"schedule", TEXT(schedule), "WORKFLOW/NAME"},
    {"due_at", TIME(due), "the time by the pattern"},
    {"fires_at", TIME(fires), "the time including the jitter"},
};
const struct noun due_noun = {"## A due time", NOUN_COLUMNS(due_columns)};
#undef ROW

/* Adds the next n due times of one schedule. A schedule that can't be read has none; its row holds
 * the error. */
static void add_next(struct dues *out, const struct schedule_row *r, int64_t now, size_t n)
{
    struct due d;
    struct schedule s;
    AUTO(tz_free) struct tz *zone = NULL;
    struct err ignored;

    if (r->paused_at || schedule_from_row(r, schedule_full_name(r, d.name), &s, &zone, &ignored))
        return;
    /* start a day earlier: because of its jitter, a past due time may still fire */
    for (int64_t at = r->done > now - DAY ? r->done : now - DAY;
         n && schedule_next(&s, zone, at, &at);) {
        d.due = at;
        d.fires = schedule_fires_at(&s, zone, at);
        if (d.fires <= now)
            continue;
        *vec_add(out) = d;
        n--;
    }
}

static int by_time(const void *a, const void *b)
{
    const struct due *x = a, *y = b;

    return x->fires != y->fires ? (x->fires > y->fires) - (x->fires < y->fires)
                                : strcmp(x->name, y->name);
}

int pawl_schedule_next(struct pawl *p, const char *name, size_t n, pawl_line *each, void *arg,
                       struct pawl_error *e)
{
    AUTO_LINES lines = {.each = each, .arg = arg};
    AUTO(schedule_list_release) struct schedule_list l = {0};
    AUTO_FREE struct dues dues = {0};
    API_ERR(e);

    n = n < MAX_NEXT ? n : MAX_NEXT;
    if (p->remote)
        return remote_lines(p->remote, "/v1/schedules/next", "name", name, (int64_t)n, each, arg,
                            err);
    TRY(query_schedules(p->store, name, &l, err));
    for (size_t i = 0; i < l.n; i++)
        add_next(&dues, &l.at[i].row, l.now, n);
    if (dues.n)
        qsort(dues.at, dues.n, sizeof(*dues.at), by_time);
    for (size_t i = 0; i < dues.n && i < n && !lines.closed; i++) {
        dues.at[i].schedule = dues.at[i].name;
        lines_add(&lines, &due_noun, &dues.at[i]);
    }
    return 0;
}

/* ---- the list ---- */

#define ROW struct schedule_row
static const struct column pause_columns[] = {
    {"since", TIME(paused_at), NULL},
    {"by", OPT_TEXT(paused_by), NULL},
    {"reason", OPT_TEXT(pause_reason), NULL},
};
const struct noun schedule_pause_noun = {"### The pause of a schedule",
                                         NOUN_COLUMNS(pause_columns)};
#undef ROW

#define ROW struct schedule_answer
static const struct column columns[] = {
    {"schedule", TEXT(schedule), "WORKFLOW/NAME"},
    {"workflow", TEXT(s.row.workflow), NULL},
    {"cron", TEXT(s.row.cron), NULL},
    {"tz", TEXT(tz), NULL},
    {"catchup", OPT_TEXT(catchup_text), "a duration, as in the file, or `last`"},
    {"overlap", TEXT(overlap), "`skip`, `queue` or `allow`"},
    {"jitter", OPT_TEXT(jitter_text), "a duration"},
    {"start", OPT_TIME(s.row.start), NULL},
    {"end", OPT_TIME(s.row.end), NULL},
    {"with", JSON(s.row.params, "object"), "values of params"},
    {"next_at", OPT_TIME(next),
     "when it fires next, including its jitter; null if it is paused, has ended, or cannot be "
     "read"},
    {"waiting_at", OPT_TIME(s.row.waiting),
     "a due time whose run starts when the last run has ended"},
    {"last_due_at", OPT_TIME(s.last_due), "the due time of the newest firing that is stored"},
    {"last_run", ID(s.row.last_run), "the newest run, also a manual one"},
    {"last_status", OPT_WORD(s.last_status, status_text),
     "the status of that run, while it is stored"},
    {"skipped", INT(s.row.skipped),
     "due times that were dropped because the last run was still running"},
    {"skipped_at", OPT_TIME(s.row.skipped_at), "the newest of them"},
    {"missed_at", OPT_TIME(s.row.missed_at), "when missed due times were last dropped"},
    {"paused", OPT_OBJECT(paused, schedule_pause_noun), NULL},
    {"problem", OPT_TEXT(s.row.problem), "why it cannot be fired"},
    {"definition", OPT_TEXT(s.hash), "the hash of the definition that it runs"},
    {"applied_at", OPT_TIME(s.applied_at), NULL},
    {"applied_by", OPT_TEXT(s.applied_by), NULL},
    {"last_order", OPT_OBJECT(last, last_audit_noun), "as for a queue"},
};
const struct noun schedule_noun = {"## A schedule", NOUN_COLUMNS(columns)};

/* A duration as in a workflow file; NULL if it is 0. */
static const char *duration_in_file(int64_t us, char text[DURATION_TEXT_SIZE])
{
    return us ? text_exact_duration(us, text) : NULL;
}

void schedule_answer(struct schedule_answer *a, const struct schedule_listed *s, int64_t now)
{
    AUTO_FREE struct dues next = {0};

    *a = (struct schedule_answer){.s = *s, .tz = s->row.tz ? s->row.tz : "UTC"};
    add_next(&next, &s->row, now, 1);
    a->schedule = schedule_full_name(&s->row, a->name);
    a->catchup_text =
        s->row.catchup == CATCHUP_LAST ? "last" : duration_in_file(s->row.catchup, a->catchup);
    a->overlap = overlaps[s->row.overlap];
    a->jitter_text = duration_in_file(s->row.jitter, a->jitter);
    a->next = next.n ? next.at[0].fires : 0;
    a->paused = s->row.paused_at ? &s->row : NULL;
    a->last = audit_or_null(&s->last_audit);
}

int pawl_schedules(struct pawl *p, const char *name, pawl_line *each, void *arg,
                   struct pawl_error *e)
{
    AUTO_LINES lines = {.each = each, .arg = arg};
    AUTO(schedule_list_release) struct schedule_list l = {0};
    struct schedule_answer a;
    API_ERR(e);

    if (p->remote)
        return remote_lines(p->remote, "/v1/schedules", "name", name, -1, each, arg, err);
    TRY(query_schedules(p->store, name, &l, err));
    for (size_t i = 0; i < l.n && !lines.closed; i++) {
        schedule_answer(&a, &l.at[i], l.now);
        lines_add(&lines, &schedule_noun, &a);
    }
    return 0;
}
