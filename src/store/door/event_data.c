/* event_data.c - see event_data.h. */
#include "store/door/event_data.h"

#include "base/json.h"
#include "base/text.h"

static const char *keep_text(struct turn *t, struct buf *b)
{
    const char *json = arena_memdup0(&t->arena, b->ptr, b->len);

    buf_release(b);
    return json;
}

static void add_time_field(struct json_writer *w, const char *key, int64_t us)
{
    char text[TIME_TEXT_SIZE];

    if (!us)
        return;
    json_write_key(w, key);
    json_write_text(w, text_time(us, text));
}

static void add_text_field(struct json_writer *w, const char *key, const char *text)
{
    if (!text)
        return;
    json_write_key(w, key);
    json_write_text(w, text);
}

/* Omits the field if n is unknown (0 or less). */
static void add_number_field(struct json_writer *w, const char *key, int64_t n)
{
    if (n <= 0)
        return;
    json_write_key(w, key);
    json_write_i64(w, n);
}

const char *data_hold(struct turn *t, enum hold why, const char *key, int64_t due_at)
{
    struct buf b = BUF_INIT, reason = BUF_INIT;
    struct json_writer w = JSON_WRITER(&b);

    buf_addstr(&reason, hold_text((int)why));
    if (key)
        buf_addf(&reason, ":%s", key);
    json_write_begin(&w, '{');
    add_text_field(&w, "why", reason.ptr);
    add_time_field(&w, "until", due_at);
    json_write_end(&w, '}');
    buf_release(&reason);
    return keep_text(t, &b);
}

const char *data_approval(struct turn *t, const char *message, int64_t until)
{
    struct buf b = BUF_INIT;
    struct json_writer w = JSON_WRITER(&b);

    json_write_begin(&w, '{');
    add_text_field(&w, "why", hold_text(HELD_APPROVAL));
    add_text_field(&w, "message", message);
    add_time_field(&w, "until", until);
    json_write_end(&w, '}');
    return keep_text(t, &b);
}

const char *data_pause(struct turn *t, const struct request *r)
{
    struct buf b = BUF_INIT;
    struct json_writer w = JSON_WRITER(&b);

    json_write_begin(&w, '{');
    add_text_field(&w, "why", hold_text(HELD_PAUSED));
    add_text_field(&w, "by", r->by);
    add_text_field(&w, "reason", r->reason);
    json_write_end(&w, '}');
    return keep_text(t, &b);
}

const char *data_started(struct turn *t, int64_t ago)
{
    struct buf b = BUF_INIT;
    struct json_writer w = JSON_WRITER(&b);

    json_write_begin(&w, '{');
    json_write_key(&w, "ago_us");
    json_write_i64(&w, ago);
    json_write_end(&w, '}');
    return keep_text(t, &b);
}

const char *data_outcome(struct turn *t, const struct outcome *o, int64_t retry_at)
{
    struct buf b = BUF_INIT;
    struct json_writer w = JSON_WRITER(&b);

    json_write_begin(&w, '{');
    add_text_field(&w, "outcome", outcome_text((int)o->kind));
    if (o->has_exit_code) {
        json_write_key(&w, "exit_code");
        json_write_i64(&w, o->exit_code);
    }
    if (o->signal) {
        json_write_key(&w, "signal");
        json_write_i64(&w, o->signal);
    }
    if (o->duration >= 0) {
        json_write_key(&w, "duration_us");
        json_write_i64(&w, o->duration);
    }
    if (o->cpu > 0 || o->peak_memory > 0) {
        json_write_key(&w, "usage");
        json_write_begin(&w, '{');
        add_number_field(&w, "cpu_us", o->cpu);
        add_number_field(&w, "peak_memory", o->peak_memory);
        json_write_end(&w, '}');
    }
    add_text_field(&w, "error", o->error);
    add_time_field(&w, "next_at", retry_at);
    json_write_end(&w, '}');
    return keep_text(t, &b);
}

const char *data_operator_decision(struct turn *t, const struct outcome *o, const struct request *r)
{
    struct buf b = BUF_INIT;
    struct json_writer w = JSON_WRITER(&b);

    json_write_begin(&w, '{');
    add_text_field(&w, "outcome", outcome_text((int)o->kind));
    add_text_field(&w, "error", o->error);
    add_text_field(&w, "by", r->by);
    add_text_field(&w, "reason", r->reason);
    json_write_end(&w, '}');
    return keep_text(t, &b);
}

const char *data_reused(struct turn *t, int64_t of)
{
    struct buf b = BUF_INIT;
    struct json_writer w = JSON_WRITER(&b);

    json_write_begin(&w, '{');
    add_number_field(&w, "of", of);
    json_write_end(&w, '}');
    return keep_text(t, &b);
}

const char *data_rerun(struct turn *t, const struct request *r, const char *result,
                       const char *error)
{
    struct buf b = BUF_INIT;
    struct json_writer w = JSON_WRITER(&b);

    json_write_begin(&w, '{');
    add_text_field(&w, "by", r->by);
    add_text_field(&w, "reason", r->reason);
    add_text_field(&w, "error", error);
    if (result) {
        json_write_key(&w, "result");
        json_write_raw(&w, result);
    }
    json_write_end(&w, '}');
    return keep_text(t, &b);
}

const char *data_expired(struct turn *t, int64_t until)
{
    struct buf b = BUF_INIT;
    struct json_writer w = JSON_WRITER(&b);

    json_write_begin(&w, '{');
    add_time_field(&w, "until", until);
    json_write_end(&w, '}');
    return keep_text(t, &b);
}

const char *data_fenced(struct turn *t, int64_t until, int64_t generation)
{
    struct buf b = BUF_INIT;
    struct json_writer w = JSON_WRITER(&b);

    json_write_begin(&w, '{');
    add_time_field(&w, "until", until);
    add_number_field(&w, "generation", generation);
    json_write_end(&w, '}');
    return keep_text(t, &b);
}

const char *data_limit(struct turn *t, int max)
{
    struct buf b = BUF_INIT;
    struct json_writer w = JSON_WRITER(&b);

    json_write_begin(&w, '{');
    json_write_key(&w, "limit");
    if (max < 0)
        json_write_null(&w);
    else
        json_write_i64(&w, max);
    json_write_end(&w, '}');
    return keep_text(t, &b);
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

    json_write_begin(&w, '{');
    add_text_field(&w, "schedule", name);
    add_time_field(&w, "due_at", due);
    add_text_field(&w, "by", by);
    add_text_field(&w, "reason", reason);
    json_write_end(&w, '}');
    return keep_text(t, &b);
}

const char *data_request(struct turn *t, const struct request *r)
{
    struct buf b = BUF_INIT;
    struct json_writer w = JSON_WRITER(&b);

    if (!r->by && !r->reason && !r->let_finish)
        return NULL;
    json_write_begin(&w, '{');
    add_text_field(&w, "by", r->by);
    add_text_field(&w, "reason", r->reason);
    if (r->let_finish) {
        json_write_key(&w, "let_finish");
        json_write_bool(&w, true);
    }
    json_write_end(&w, '}');
    return keep_text(t, &b);
}
