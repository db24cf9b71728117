/* sql_submissions.c - accepts SQL submissions: in one transaction, locks waiting rows, submits them
 * as any other caller would, and writes the decision into the rows. See sql_submissions.h. */
#include "store/ops/sql_submissions.h"

#include "base/buf.h"
#include "base/json.h"
#include "store/door/door.h"
#include "store/door/event_data.h"
#include "store/workflow/workflow.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* The columns of submissions_waiting. */
enum {
    ID,
    REQUESTED_AT,
    DELAY,
    PRIORITY,
    DEFINITION,
    PARAMS,
    QUEUE,
    KEY,
    BY,
    WORKFLOW,
    NO_PARTITION
};

struct submission_batch {
    struct rows rows;
    struct submission *list;
    const char *hash, *text; /* of the last definition that was written as text */
    VEC(const char *) messages;
};

static void submission_batch_release(struct submission_batch *k)
{
    vec_release(&k->messages);
    rows_release(&k->rows);
}

static const char *copy_column(struct turn *t, const struct submission_batch *k, size_t i,
                               size_t column)
{
    return arena_strdup(&t->arena, rows_text(&k->rows, i, column));
}

/* Rewrites the params in the form in which the library submits them, so that white space does not
 * change the hash of an idempotency key's body. Invalid JSON is kept; op_submit refuses it. */
static const char *canonical_params(struct turn *t, const struct submission_batch *k, size_t i)
{
    const char *given = rows_text(&k->rows, i, PARAMS), *kept;
    json_auto_t *params = json_loads(given, 0, NULL);
    char *text = params ? json_text(params) : NULL;

    kept = arena_strdup(&t->arena, text ? text : given);
    free(text);
    return kept;
}

/* Sets the definition in the form in which the library submits it. Without a key, the hash is
 * enough. */
static int set_definition(struct turn *t, struct submission_batch *k, size_t i, struct err *err)
{
    struct submission *s = &k->list[i];
    const struct definition *def;
    AUTO_BUF b = BUF_INIT;
    int rc;

    s->hash = copy_column(t, k, i, DEFINITION);
    if (!s->key)
        return 0;
    if (k->hash && !strcmp(k->hash, s->hash)) {
        s->definition = k->text;
        return 0;
    }
    rc = definition_get(t, s->hash, &def, err);
    if (rc == -E_INTERNAL || rc == -E_INVALID)
        return 0; /* not stored: op_submit refuses it */
    if (rc)
        return rc;
    workflow_write(def->workflow, &b);
    k->hash = s->hash;
    s->definition = k->text = arena_strdup(&t->arena, buf_cstr(&b));
    return 0;
}

static int read_submission(struct turn *t, struct submission_batch *k, size_t i, struct err *err)
{
    const struct rows *r = &k->rows;

    k->list[i] = (struct submission){
        .promised_id = rows_int(r, i, ID),
        .input = canonical_params(t, k, i),
        .queue = copy_column(t, k, i, QUEUE),
        .key = copy_column(t, k, i, KEY),
        .priority = (int)rows_int(r, i, PRIORITY),
        .delay = rows_int(r, i, DELAY),
        .waited = t->now > rows_int(r, i, REQUESTED_AT) ? t->now - rows_int(r, i, REQUESTED_AT) : 0,
        .origin = data_request(t, &(struct request){.by = rows_text(r, i, BY)}),
        .task_index = -1};
    return set_definition(t, k, i, err);
}

static int read_waiting(struct turn *t, struct submission_slice *r, struct submission_batch *k,
                        struct err *err)
{
    int rc = 0;

    TRY(ask(t, &k->rows, err, Q_SUBMISSIONS_WAITING, r->max));
    r->n = k->rows.n;
    r->first = r->n ? rows_int(&k->rows, 0, ID) : 0;
    k->list = arena_zalloc(&t->arena, (r->n + 1) * sizeof(*k->list));
    for (size_t i = 0; !rc && i < r->n; i++)
        if ((rc = read_submission(t, k, i, err)) == 0 && rows_int(&k->rows, i, NO_PARTITION))
            rc = turn_ensure_partition(t, rows_int(&k->rows, i, ID), err);
    return rc;
}

static void add_refusal(struct turn *t, struct submission_batch *k, size_t i)
{
    *vec_add(&k->messages) = arena_printf(
        &t->arena, "submission %lld of the workflow %s was refused: %s",
        (long long)rows_int(&k->rows, i, ID), rows_text(&k->rows, i, WORKFLOW), k->list[i].err.msg);
}

static int write_decisions(struct turn *t, struct submission_batch *k, struct err *err)
{
    args_begin(&t->args, Q_SUBMISSIONS_DECIDE, t->now);
    for (size_t i = 0; i < k->rows.n; i++) {
        const struct submission *s = &k->list[i];

        args_row(&t->args, rows_int(&k->rows, i, ID), val_or_null(s->rc ? 0 : s->id),
                 s->rc ? s->err.msg : NULL);
        if (s->rc)
            add_refusal(t, k, i);
    }
    return db_send(t->db, &t->args, NULL, (long)k->rows.n, err);
}

int op_accept_submissions(struct turn *t, struct submission_slice *r, struct err *err)
{
    AUTO(submission_batch_release) struct submission_batch k = {0};

    r->n = r->nmessages = 0;
    r->first = 0;
    TRY(read_waiting(t, r, &k, err));
    TRY(op_submit(t, k.list, r->n, err));
    TRY(write_decisions(t, &k, err));
    r->messages = turn_messages(t, k.messages.at, r->nmessages = k.messages.n);
    return 0;
}

int op_refuse_submission(struct turn *t, int64_t id, const char *why, struct err *err)
{
    TRY(turn_sync(t, err));
    return db_queue(t->db, NULL, ANY_ROWS, err, Q_SUBMISSIONS_DECIDE, t->now, id, VAL_NULL, why);
}
