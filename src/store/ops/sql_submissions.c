/* sql_submissions.c - accepts SQL submissions. In one transaction, locks waiting rows, submits them
 * as other callers of op_submit do, and writes the decision into the rows. See
 * sql_submissions.h. */
#include "store/ops/sql_submissions.h"

#include "base/buf.h"
#include "base/json.h"
#include "store/door/door.h"
#include "store/door/event_data.h"
#include "store/workflow/workflow.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

struct submission_batch {
    struct rows rows; /* result of the statement submissions_waiting; the first column is the id */
    struct submission *list;
    /* The definition that set_definition wrote last: its hash and its text. */
    const char *hash, *text;
    VEC(const char *) messages;
};

static void submission_batch_release(struct submission_batch *k)
{
    vec_release(&k->messages);
    rows_release(&k->rows);
}

/* Rewrites the params in the form in which the library submits them, so that white space does not
 * change the hash of an idempotency key's body. Returns invalid JSON unchanged, so that op_submit
 * refuses it with a reason. */
static const char *canonical_params(struct turn *t, const char *given)
{
    const char *kept;
    json_auto_t *params = json_loads(given, JSON_REJECT_DUPLICATES, NULL);
    char *text = params ? json_text(params) : NULL;

    kept = text ? arena_strdup(&t->arena, text) : given;
    free(text);
    return kept;
}

/* Sets the text of the submission's definition, as the library does when it submits a workflow,
 * because an idempotency key covers the text. A submission without a key needs only the hash. */
static int set_definition(struct turn *t, struct submission_batch *k, struct submission *s,
                          struct err *err)
{
    const struct definition *def;
    AUTO_BUF b = BUF_INIT;
    int rc;

    if (!s->key)
        return 0;
    if (k->hash && !strcmp(k->hash, s->hash)) {
        s->definition = k->text;
        return 0;
    }
    rc = definition_get(t, s->hash, &def, err);
    if (rc == -E_INTERNAL || rc == -E_INVALID)
        /* Without a text, op_submit refuses the submission: the definition is not stored. */
        return 0;
    if (rc)
        return rc;
    workflow_write(def->workflow, &b);
    k->hash = s->hash;
    s->definition = k->text = arena_strdup(&t->arena, buf_cstr(&b));
    return 0;
}

static int read_submission(struct turn *t, struct submission_batch *k, size_t i, struct err *err)
{
    struct submission *s = &k->list[i];
    const char *by, *workflow;
    bool lacks_partition;

    s->task_index = -1;
    rows_read(&k->rows, i, 0, &t->arena, &s->promised_id, &s->requested_at, &s->delay, &s->priority,
              &s->hash, &s->input, &s->queue, &s->key, &by, &workflow, &lacks_partition);
    s->input = canonical_params(t, s->input);
    s->origin = data_request(t, &(struct request){.by = by});
    TRY(set_definition(t, k, s, err));
    return lacks_partition ? turn_ensure_partition(t, s->promised_id, err) : 0;
}

static int read_batch(struct turn *t, struct submission_batch *k, struct err *err)
{
    k->list = arena_zalloc(&t->arena, (k->rows.n + 1) * sizeof(*k->list));
    for (size_t i = 0; i < k->rows.n; i++)
        TRY(read_submission(t, k, i, err));
    return 0;
}

static int write_decisions(struct turn *t, struct submission_batch *k, struct err *err)
{
    args_begin(&t->args, Q_SUBMISSIONS_DECIDE, t->now);
    for (size_t i = 0; i < k->rows.n; i++) {
        const struct submission *s = &k->list[i];

        args_row(&t->args, s->promised_id, val_or_null(s->rc ? 0 : s->id),
                 s->rc ? s->err.msg : NULL);
        if (s->rc)
            *vec_add(&k->messages) =
                arena_printf(&t->arena, "submission %lld of the workflow %s was refused: %s",
                             (long long)s->promised_id, rows_text(&k->rows, i, 9), s->err.msg);
    }
    return db_send(t->db, &t->args, NULL, (long)k->rows.n, err);
}

int op_accept_submissions(struct turn *t, struct submission_slice *r, struct err *err)
{
    AUTO(submission_batch_release) struct submission_batch k = {0};

    r->n = r->nmessages = 0;
    r->first = 0;
    TRY(ask(t, &k.rows, err, Q_SUBMISSIONS_WAITING, r->max));
    r->n = k.rows.n;
    r->first = r->n ? rows_int(&k.rows, 0, 0) : 0;
    TRY(read_batch(t, &k, err));
    TRY(op_submit(t, k.list, r->n, err));
    TRY(write_decisions(t, &k, err));
    r->messages = turn_messages(t, k.messages.at, r->nmessages = k.messages.n);
    return 0;
}

int op_create_submission(struct turn *t, int64_t id, struct err *err)
{
    AUTO(submission_batch_release) struct submission_batch k = {0};

    TRY(ask(t, &k.rows, err, Q_SUBMISSION_WAITING, id));
    if (!k.rows.n)
        return 0;
    TRY(read_batch(t, &k, err));
    k.list[0].only_create = true;
    TRY(op_submit(t, k.list, 1, err));
    TRY(write_decisions(t, &k, err));
    return door_write(t, err);
}

int op_refuse_submission(struct turn *t, int64_t id, const char *why, struct err *err)
{
    TRY(turn_sync(t, err));
    return db_queue(t->db, NULL, ANY_ROWS, err, Q_SUBMISSIONS_DECIDE, t->now, id, VAL_NULL, why);
}
