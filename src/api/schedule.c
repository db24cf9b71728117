/* schedule.c - applied workflows and their schedules: apply, pause, resume, run, list. */
#include "store/schedule/schedule.h"
#include "api/api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NEXT 10000
#define DAY      (86400LL * 1000000)

/* ---- apply ---- */

static int apply_body(struct turn *t, void *arg, struct err *err)
{
    return op_apply(t, arg, err);
}

static int apply(struct pawl *p, const struct api_source *from, const char *by,
                 struct pawl_applied *out, struct pawl_error *e)
{
    char *user = by ? NULL : api_user();
    struct apply_request a = {.by = by ? by : user};
    struct arena arena = ARENA_INIT;
    struct buf text = BUF_INIT;
    const struct workflow *w;
    struct err err = ERR_INIT;
    int rc;

    if ((rc = api_check_who(by, NULL, &err)) || (rc = api_load_workflow(from, &arena, &w, &err)))
        goto done;
    workflow_write(w, &text);
    a.definition = buf_cstr(&text);
    if (!(rc = store_turn(p->store, apply_body, &a, &err)) && out) {
        *out =
            (struct pawl_applied){.unchanged = a.unchanged, .kept = a.kept, .removed = a.removed};
        api_describe(w, &out->definition);
    }
done:
    buf_release(&text);
    arena_release(&arena);
    free(user);
    return api_end(rc, &err, e);
}

int pawl_apply(struct pawl *p, const char *file, const char *by, struct pawl_applied *out,
               struct pawl_error *e)
{
    return apply(p, &(struct api_source){.file = file}, by, out, e);
}

int pawl_apply_text(struct pawl *p, const char *yaml, const char *by, struct pawl_applied *out,
                    struct pawl_error *e)
{
    return apply(p, &(struct api_source){.yaml = yaml}, by, out, e);
}

int pawl_apply_built(struct pawl *p, struct pawl_workflow *built, const char *by,
                     struct pawl_applied *out, struct pawl_error *e)
{
    return apply(p, &(struct api_source){.built = built}, by, out, e);
}

/* ---- pause, resume and run ---- */

static int schedule_body(struct turn *t, void *arg, struct err *err)
{
    return op_change_schedule(t, arg, err);
}

static int schedule_request(struct pawl *p, struct schedule_action *o, struct pawl_error *e)
{
    char *user = o->by ? NULL : api_user();
    struct err err = ERR_INIT;
    int rc;

    o->by = o->by ? o->by : user;
    if (!o->name)
        rc = err_set(&err, E_INVALID, "no schedule was named");
    else if (!(rc = api_check_who(o->by, o->reason, &err)))
        rc = store_turn(p->store, schedule_body, o, &err);
    free(user);
    return api_end(rc, &err, e);
}

int pawl_schedule_pause(struct pawl *p, const char *name, const char *by, const char *reason,
                        struct pawl_error *e)
{
    struct schedule_action o = {.verb = SCHEDULE_PAUSE, .name = name, .by = by, .reason = reason};

    return schedule_request(p, &o, e);
}

int pawl_schedule_resume(struct pawl *p, const char *name, const char *by, const char *reason,
                         struct pawl_error *e)
{
    struct schedule_action o = {.verb = SCHEDULE_RESUME, .name = name, .by = by, .reason = reason};

    return schedule_request(p, &o, e);
}

int pawl_schedule_run(struct pawl *p, const char *name, const char *by, const char *reason,
                      int64_t *id, struct pawl_error *e)
{
    struct schedule_action o = {.verb = SCHEDULE_RUN, .name = name, .by = by, .reason = reason};
    int rc = schedule_request(p, &o, e);

    if (!rc && id)
        *id = o.id;
    return rc;
}

/* ---- next due times ---- */

struct due {
    char schedule[SCHEDULE_NAME_SIZE];
    int64_t due, fires;
};
struct dues {
    struct due *at;
    size_t n, cap;
};

/* Adds the next n due times of one schedule. A schedule that can't be read has none; its row holds
 * the error. */
static void add_next(struct dues *out, const struct schedule_row *r, int64_t now, size_t n)
{
    struct due d;
    struct schedule s;
    struct tz *zone = NULL;
    struct err ignored;
    int64_t at;

    if (r->paused_at ||
        schedule_from_row(r, schedule_full_name(r, d.schedule), &s, &zone, &ignored))
        goto done;
    /* start earlier: a due time in the past may still fire, because of its jitter */
    for (at = r->done > now - DAY ? r->done : now - DAY; n && schedule_next(&s, zone, at, &at);) {
        d.due = at;
        d.fires = schedule_fires_at(&s, zone, at);
        if (d.fires <= now)
            continue;
        *vec_add(out) = d;
        n--;
    }
done:
    tz_free(&zone);
}

static int by_time(const void *a, const void *b)
{
    const struct due *x = a, *y = b;

    return x->fires != y->fires ? (x->fires > y->fires) - (x->fires < y->fires)
                                : strcmp(x->schedule, y->schedule);
}

int pawl_schedule_next(struct pawl *p, const char *name, size_t n, pawl_line *each, void *arg,
                       struct pawl_error *e)
{
    struct schedule_list l = {0};
    struct dues dues = {0};
    struct buf b = BUF_INIT;
    struct err err = ERR_INIT;
    int rc = query_schedules(p->store, name, &l, &err);
    size_t i;

    n = n < MAX_NEXT ? n : MAX_NEXT;
    for (i = 0; !rc && i < l.n; i++)
        add_next(&dues, &l.at[i].row, l.now, n);
    if (dues.n)
        qsort(dues.at, dues.n, sizeof(*dues.at), by_time);
    for (i = 0; i < dues.n && i < n; i++) {
        struct json_writer w = JSON_WRITER(&b);

        buf_reset(&b);
        json_write_begin(&w, '{');
        json_field_text(&w, "schedule", dues.at[i].schedule);
        json_field_time(&w, "due_at", dues.at[i].due);
        json_field_time(&w, "fires_at", dues.at[i].fires);
        json_write_end(&w, '}');
        if (each(arg, b.ptr))
            break;
    }
    buf_release(&b);
    vec_release(&dues);
    schedule_list_release(&l);
    return api_end(rc, &err, e);
}

/* ---- the list ---- */

/* Writes a duration as in a workflow file: 6h, 90s. */
static void json_duration(struct json_writer *w, const char *key, int64_t us)
{
    static const struct {
        const char *name;
        int64_t us;
    } units[] = {{"d", DAY}, {"h", DAY / 24}, {"m", 60000000}, {"s", 1000000}, {"ms", 1000}};
    char text[32];
    size_t i;

    for (i = 0; i < 4 && us % units[i].us; i++)
        ;
    snprintf(text, sizeof(text), "%lld%s", (long long)(us / units[i].us), units[i].name);
    json_field_text(w, key, us ? text : NULL);
}

static void json_pause(struct json_writer *w, const struct schedule_row *r)
{
    json_write_key(w, "paused");
    if (!r->paused_at) {
        json_write_null(w);
        return;
    }
    json_write_begin(w, '{');
    json_field_time(w, "since", r->paused_at);
    json_field_text(w, "by", r->paused_by);
    json_field_text(w, "reason", r->pause_reason);
    json_write_end(w, '}');
}

static void json_schedule(struct json_writer *w, const struct schedule_listed *s, int64_t now)
{
    const struct schedule_row *r = &s->row;
    char name[SCHEDULE_NAME_SIZE];
    struct dues next = {0};

    add_next(&next, r, now, 1);
    json_write_begin(w, '{');
    json_field_text(w, "schedule", schedule_full_name(r, name));
    json_field_text(w, "workflow", r->workflow);
    json_field_text(w, "cron", r->cron);
    json_field_text(w, "tz", r->tz ? r->tz : "UTC");
    if (r->catchup == CATCHUP_LAST)
        json_field_text(w, "catchup", "last");
    else
        json_duration(w, "catchup", r->catchup);
    json_field_text(w, "overlap", overlaps[r->overlap]);
    json_duration(w, "jitter", r->jitter);
    json_field_time(w, "start", r->start);
    json_field_time(w, "end", r->end);
    json_write_key(w, "with");
    json_write_raw(w, r->params);
    json_field_time(w, "next_at", next.n ? next.at[0].fires : 0);
    json_field_time(w, "waiting_at", r->waiting);
    json_field_time(w, "last_due_at", s->last_due);
    json_field_id(w, "last_run", r->last_run);
    json_field_text(w, "last_status", s->last_status ? status_text(s->last_status) : NULL);
    json_field_i64(w, "skipped", r->skipped);
    json_field_time(w, "skipped_at", r->skipped_at);
    json_field_time(w, "missed_at", r->missed_at);
    json_pause(w, r);
    json_field_text(w, "problem", r->problem);
    json_field_text(w, "definition", s->hash);
    json_field_time(w, "applied_at", s->applied_at);
    json_field_text(w, "applied_by", s->applied_by);
    json_field_last_order(w, &s->last_audit);
    json_write_end(w, '}');
    vec_release(&next);
}

int pawl_schedules(struct pawl *p, const char *name, pawl_line *each, void *arg,
                   struct pawl_error *e)
{
    struct schedule_list l = {0};
    struct buf b = BUF_INIT;
    struct err err = ERR_INIT;
    int rc = query_schedules(p->store, name, &l, &err);
    size_t i;

    for (i = 0; !rc && i < l.n; i++) {
        struct json_writer w = JSON_WRITER(&b);

        buf_reset(&b);
        json_schedule(&w, &l.at[i], l.now);
        if (each(arg, b.ptr))
            break;
    }
    buf_release(&b);
    schedule_list_release(&l);
    return api_end(rc, &err, e);
}
