/* event_data.c - see event_data.h. */
#include "store/door/event_data.h"

#include "base/json.h"
#include "base/text.h"

#include <stdarg.h>

#define OMITTED INT64_MIN /* a number */

/* Writes one field, unless its value is missing: a text or raw JSON that is NULL, a time that is 0,
 * a number that is OMITTED, a flag that is false. */
static void add_field(struct json_writer *w, char type, const char *key, va_list *ap)
{
    const char *text = type == 't' || type == 'j' ? va_arg(*ap, const char *) : NULL;
    int64_t number = type == 'u' || type == 'n' ? va_arg(*ap, int64_t) : 0;
    bool flag = type == 'b' && va_arg(*ap, int);
    char time[TIME_TEXT_SIZE];

    if (!text && !flag && (type != 'u' || !number) && (type != 'n' || number == OMITTED))
        return;
    json_write_key(w, key);
    if (type == 't')
        json_write_text(w, text);
    else if (type == 'j')
        json_write_raw(w, text);
    else if (type == 'u')
        json_write_text(w, text_time(number, time));
    else if (type == 'n')
        json_write_i64(w, number);
    else
        json_write_bool(w, true);
}

/* Builds an object from a key and a value for each letter of `types`: t text, j raw JSON, u time in
 * µs, n number (int64_t), b flag. */
static const char *build(struct turn *t, const char *types, ...)
{
    struct buf b = BUF_INIT;
    struct json_writer w = JSON_WRITER(&b);
    const char *kept;
    va_list ap;

    va_start(ap, types);
    json_write_begin(&w, '{');
    for (; *types; types++)
        add_field(&w, *types, va_arg(ap, const char *), &ap);
    json_write_end(&w, '}');
    va_end(ap);
    kept = arena_strdup(&t->arena, b.ptr);
    buf_release(&b);
    return kept;
}

static int64_t if_positive(int64_t n)
{
    return n > 0 ? n : OMITTED;
}

const char *data_hold(struct turn *t, enum hold why, const char *key, int64_t due_at)
{
    struct buf reason = BUF_INIT;
    const char *kept;

    buf_addstr(&reason, hold_text((int)why));
    if (key)
        buf_addf(&reason, ":%s", key);
    kept = build(t, "tu", "why", reason.ptr, "until", due_at);
    buf_release(&reason);
    return kept;
}

const char *data_approval(struct turn *t, const char *message, int64_t until)
{
    return build(t, "ttu", "why", hold_text(HELD_APPROVAL), "message", message, "until", until);
}

const char *data_pause(struct turn *t, const struct request *r)
{
    return build(t, "ttt", "why", hold_text(HELD_PAUSED), "by", r->by, "reason", r->reason);
}

const char *data_started(struct turn *t, int64_t ago)
{
    return build(t, "n", "ago_us", ago);
}

const char *data_outcome(struct turn *t, const struct outcome *o, int64_t retry_at)
{
    const char *usage = NULL;

    if (o->cpu > 0 || o->peak_memory > 0)
        usage = build(t, "nn", "cpu_us", if_positive(o->cpu), "peak_memory",
                      if_positive(o->peak_memory));
    return build(t, "tnnnjtu", "outcome", outcome_text((int)o->kind), "exit_code",
                 o->has_exit_code ? (int64_t)o->exit_code : OMITTED, "signal",
                 o->signal ? (int64_t)o->signal : OMITTED, "duration_us",
                 o->duration >= 0 ? o->duration : OMITTED, "usage", usage, "error", o->error,
                 "next_at", retry_at);
}

const char *data_operator_decision(struct turn *t, const struct outcome *o, const struct request *r)
{
    return build(t, "tttt", "outcome", outcome_text((int)o->kind), "error", o->error, "by", r->by,
                 "reason", r->reason);
}

const char *data_reused(struct turn *t, int64_t of)
{
    return build(t, "n", "of", if_positive(of));
}

const char *data_rerun(struct turn *t, const struct request *r, const char *result,
                       const char *error)
{
    return build(t, "tttj", "by", r->by, "reason", r->reason, "error", error, "result", result);
}

const char *data_expired(struct turn *t, int64_t until)
{
    return build(t, "u", "until", until);
}

const char *data_fenced(struct turn *t, int64_t until, int64_t generation)
{
    return build(t, "un", "until", until, "generation", if_positive(generation));
}

const char *data_limit(struct turn *t, int max)
{
    return max < 0 ? build(t, "j", "limit", "null") : build(t, "n", "limit", (int64_t)max);
}

const char *data_reason(struct turn *t, const char *reason)
{
    return data_request(t, &(struct request){.reason = reason});
}

const char *data_schedule(struct turn *t, const char *name, int64_t due, const char *by,
                          const char *reason)
{
    return build(t, "tutt", "schedule", name, "due_at", due, "by", by, "reason", reason);
}

const char *data_request(struct turn *t, const struct request *r)
{
    if (!r->by && !r->reason && !r->let_finish)
        return NULL;
    return build(t, "ttb", "by", r->by, "reason", r->reason, "let_finish", r->let_finish);
}
