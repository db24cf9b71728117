/* event_data.c - builds the `data` of events; see event_data.h. */
#include "store/door/event_data.h"

#include "base/json.h"
#include "base/text.h"

#include <stdarg.h>

/* Writes one field, or nothing if its value is missing. */
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

const char *data_build(struct turn *t, const char *types, ...)
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
    kept = data_build(t, "tu", "why", reason.ptr, "until", due_at);
    buf_release(&reason);
    return kept;
}

const char *data_outcome(struct turn *t, const struct outcome *o, int64_t retry_at)
{
    const char *usage = NULL;

    if (o->cpu > 0 || o->peak_memory > 0)
        usage = data_build(t, "nn", "cpu_us", if_positive(o->cpu), "peak_memory",
                           if_positive(o->peak_memory));
    return data_build(t, "tnnnnjtu", "outcome", outcome_text((int)o->kind), "exit_code",
                      o->has_exit_code ? (int64_t)o->exit_code : OMITTED, "signal",
                      o->signal ? (int64_t)o->signal : OMITTED, "duration_us",
                      o->duration >= 0 ? o->duration : OMITTED, "unstarted",
                      if_positive(o->unstarted), "usage", usage, "error", o->error, "next_at",
                      retry_at);
}

const char *data_request(struct turn *t, const struct request *r)
{
    if (!r->by && !r->reason && !r->let_finish)
        return NULL;
    return data_build(t, "ttb", "by", r->by, "reason", r->reason, "let_finish", r->let_finish);
}
