/* data.c - see data.h. */
#include "store/data.h"

#include "base/json.h"
#include "base/text.h"

static const char *keep(struct turn *t, struct buf *b)
{
    const char *json = arena_memdup0(&t->arena, b->ptr, b->len);

    buf_release(b);
    return json;
}

static void time_field(struct json_writer *w, const char *key, int64_t us)
{
    char text[TIME_TEXT_SIZE];

    if (!us)
        return;
    jw_key(w, key);
    jw_text(w, text_time(us, text));
}

static void text_field(struct json_writer *w, const char *key, const char *text)
{
    if (!text)
        return;
    jw_key(w, key);
    jw_text(w, text);
}

/* Left out where it is not known. */
static void number_field(struct json_writer *w, const char *key, int64_t n)
{
    if (n <= 0)
        return;
    jw_key(w, key);
    jw_i64(w, n);
}

const char *data_hold(struct turn *t, enum hold why, const char *key, int64_t due_at)
{
    struct buf b = BUF_INIT, reason = BUF_INIT;
    struct json_writer w = JSON_WRITER(&b);

    buf_addstr(&reason, hold_text((int)why));
    if (key)
        buf_addf(&reason, ":%s", key);
    jw_begin(&w, '{');
    text_field(&w, "why", reason.ptr);
    time_field(&w, "until", due_at);
    jw_end(&w, '}');
    buf_release(&reason);
    return keep(t, &b);
}

const char *data_approval(struct turn *t, const char *message, int64_t until)
{
    struct buf b = BUF_INIT;
    struct json_writer w = JSON_WRITER(&b);

    jw_begin(&w, '{');
    text_field(&w, "why", hold_text(HELD_APPROVAL));
    text_field(&w, "message", message);
    time_field(&w, "until", until);
    jw_end(&w, '}');
    return keep(t, &b);
}

const char *data_pause(struct turn *t, const struct request *r)
{
    struct buf b = BUF_INIT;
    struct json_writer w = JSON_WRITER(&b);

    jw_begin(&w, '{');
    text_field(&w, "why", hold_text(HELD_PAUSED));
    text_field(&w, "by", r->by);
    text_field(&w, "reason", r->reason);
    jw_end(&w, '}');
    return keep(t, &b);
}

const char *data_started(struct turn *t, int64_t ago)
{
    struct buf b = BUF_INIT;
    struct json_writer w = JSON_WRITER(&b);

    jw_begin(&w, '{');
    jw_key(&w, "ago_us");
    jw_i64(&w, ago);
    jw_end(&w, '}');
    return keep(t, &b);
}

const char *data_outcome(struct turn *t, const struct outcome *o, int64_t retry_at)
{
    struct buf b = BUF_INIT;
    struct json_writer w = JSON_WRITER(&b);

    jw_begin(&w, '{');
    text_field(&w, "outcome", outcome_text((int)o->kind));
    if (o->has_exit_code) {
        jw_key(&w, "exit_code");
        jw_i64(&w, o->exit_code);
    }
    if (o->signal) {
        jw_key(&w, "signal");
        jw_i64(&w, o->signal);
    }
    if (o->duration >= 0) {
        jw_key(&w, "duration_us");
        jw_i64(&w, o->duration);
    }
    if (o->cpu > 0 || o->peak_memory > 0) {
        jw_key(&w, "usage");
        jw_begin(&w, '{');
        number_field(&w, "cpu_us", o->cpu);
        number_field(&w, "peak_memory", o->peak_memory);
        jw_end(&w, '}');
    }
    text_field(&w, "error", o->error);
    time_field(&w, "next_at", retry_at);
    jw_end(&w, '}');
    return keep(t, &b);
}

const char *data_decided(struct turn *t, const struct outcome *o, const struct request *r)
{
    struct buf b = BUF_INIT;
    struct json_writer w = JSON_WRITER(&b);

    jw_begin(&w, '{');
    text_field(&w, "outcome", outcome_text((int)o->kind));
    text_field(&w, "error", o->error);
    text_field(&w, "by", r->by);
    text_field(&w, "reason", r->reason);
    jw_end(&w, '}');
    return keep(t, &b);
}

const char *data_reused(struct turn *t, int64_t of)
{
    struct buf b = BUF_INIT;
    struct json_writer w = JSON_WRITER(&b);

    jw_begin(&w, '{');
    number_field(&w, "of", of);
    jw_end(&w, '}');
    return keep(t, &b);
}

const char *data_rerun(struct turn *t, const struct request *r, const char *result,
                       const char *error)
{
    struct buf b = BUF_INIT;
    struct json_writer w = JSON_WRITER(&b);

    jw_begin(&w, '{');
    text_field(&w, "by", r->by);
    text_field(&w, "reason", r->reason);
    text_field(&w, "error", error);
    if (result) {
        jw_key(&w, "result");
        jw_raw(&w, result);
    }
    jw_end(&w, '}');
    return keep(t, &b);
}

const char *data_expired(struct turn *t, int64_t until)
{
    struct buf b = BUF_INIT;
    struct json_writer w = JSON_WRITER(&b);

    jw_begin(&w, '{');
    time_field(&w, "until", until);
    jw_end(&w, '}');
    return keep(t, &b);
}

const char *data_fenced(struct turn *t, int64_t until, int64_t generation)
{
    struct buf b = BUF_INIT;
    struct json_writer w = JSON_WRITER(&b);

    jw_begin(&w, '{');
    time_field(&w, "until", until);
    number_field(&w, "generation", generation);
    jw_end(&w, '}');
    return keep(t, &b);
}

const char *data_limit(struct turn *t, int max)
{
    struct buf b = BUF_INIT;
    struct json_writer w = JSON_WRITER(&b);

    jw_begin(&w, '{');
    jw_key(&w, "limit");
    if (max < 0)
        jw_null(&w);
    else
        jw_i64(&w, max);
    jw_end(&w, '}');
    return keep(t, &b);
}

const char *data_reason(struct turn *t, const char *reason)
{
    return data_request(t, &(struct request){.reason = reason});
}

const char *data_schedule(struct turn *t, const char *name, int64_t due, const char *by,
                          const char *reason)
{
    struct buf b = BUF_INIT;
    struct json_writer w = JSON_WRITER(&b);

    jw_begin(&w, '{');
    text_field(&w, "schedule", name);
    time_field(&w, "due_at", due);
    text_field(&w, "by", by);
    text_field(&w, "reason", reason);
    jw_end(&w, '}');
    return keep(t, &b);
}

const char *data_request(struct turn *t, const struct request *r)
{
    struct buf b = BUF_INIT;
    struct json_writer w = JSON_WRITER(&b);

    if (!r->by && !r->reason && !r->let_finish)
        return NULL;
    jw_begin(&w, '{');
    text_field(&w, "by", r->by);
    text_field(&w, "reason", r->reason);
    if (r->let_finish) {
        jw_key(&w, "let_finish");
        jw_bool(&w, true);
    }
    jw_end(&w, '}');
    return keep(t, &b);
}
