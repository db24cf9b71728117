/* submissions.c - lists SQL submissions and what became of them. */
#include "store/query/submissions.h"
#include "api/api.h"

#include <string.h>

#define DEFAULT_COUNT 1000

static void json_submission(struct json_writer *w, const struct submission_row *r)
{
    json_write_begin(w, '{');
    json_field_i64(w, "id", r->id);
    json_field_text(w, "workflow", r->workflow);
    json_field_text(w, "status", submission_states[submission_state(r)]);
    json_field_id(w, "execution", r->execution);
    json_field_text(w, "error", r->error);
    json_field_text(w, "key", r->key);
    json_field_text(w, "queue", r->queue);
    json_field_i64(w, "priority", r->priority);
    json_field_i64(w, "delay_us", r->delay);
    json_write_key(w, "params");
    json_write_raw(w, r->params);
    json_field_text(w, "definition", r->definition);
    json_field_text(w, "requested_by", r->by);
    json_field_time(w, "requested_at", r->requested_at);
    json_field_time(w, "decided_at", r->decided_at);
    json_write_end(w, '}');
}

static int find_state(const char *text, enum submission_state *out, struct err *err)
{
    int i;

    for (i = 1; text && i < SUBMISSION_STATE_COUNT && strcmp(text, submission_states[i]); i++)
        ;
    if (i == SUBMISSION_STATE_COUNT)
        return err_set(err, E_INVALID, "a submission is waiting, taken or refused, not '%.60s'",
                       text);
    *out = text ? (enum submission_state)i : SUBMISSION_ANY;
    return 0;
}

int pawl_submissions(struct pawl *p, const char *status, size_t limit, pawl_line *each, void *arg,
                     struct pawl_error *e)
{
    enum submission_state state = SUBMISSION_ANY;
    struct submission_list l = {0};
    struct buf b = BUF_INIT;
    struct err err = ERR_INIT;
    int rc = find_state(status, &state, &err);
    size_t i;

    if (!rc)
        rc = query_submissions(p->store, state,
                               limit && limit < DEFAULT_COUNT ? limit : DEFAULT_COUNT, &l, &err);
    for (i = 0; !rc && i < l.n; i++) {
        struct json_writer w = JSON_WRITER(&b);

        buf_reset(&b);
        json_submission(&w, &l.at[i]);
        if (each(arg, b.ptr))
            break;
    }
    buf_release(&b);
    submission_list_release(&l);
    return api_end(rc, &err, e);
}
