/* transaction.c - pawl_transaction: a turn in which the embedder changes its own tables and submits
 * jobs. SQLite only. */
#include "api/api.h"
#include "store/ops/embedder_sql.h"

#include <string.h>

struct pawl_tx {
    struct pawl *p;
    pawl_tx_body *body;
    void *arg;
    int rc; /* the return value of the body */

    struct turn *t;
    struct arena texts; /* strings of submissions, until they are stored */
    struct err err;     /* the last error; if `failed`, the error that made it fail */
    bool failed;        /* the transaction can only be rolled back */
};

/* Keeps the error in case the body returns it. */
static int keep_error(struct pawl_tx *tx, int rc, const struct err *err)
{
    if (rc && !tx->failed)
        tx->err = *err;
    return rc;
}

static int body(struct turn *t, void *arg, struct err *err)
{
    struct pawl_tx *tx = arg;

    tx->t = t;
    tx->err = (struct err)ERR_INIT;
    tx->failed = false;
    arena_reset(&tx->texts);
    tx->rc = tx->body(tx, tx->arg);
    tx->t = NULL;
    if (!tx->rc && !tx->failed)
        return 0;
    *err = tx->err;
    if (tx->failed)
        return -(int)err->code;
    if (tx->rc < 0 && err->code == (enum error_code) - tx->rc)
        return tx->rc;
    return err_set(err, E_INVALID,
                   "the function passed to pawl_transaction failed, so the transaction "
                   "was rolled back");
}

int pawl_transaction(struct pawl *p, pawl_tx_body *run, void *arg, struct pawl_error *e)
{
    struct pawl_tx tx = {.p = p, .body = run, .arg = arg};
    int rc;
    API_ERR(e);

    TRY(api_needs_database(p, "a transaction works", err));
    if (!store_takes_embedder_stmts(p->store))
        return err_set(err, E_INVALID,
                       "pawl_transaction needs SQLite: on PostgreSQL, submit within your own "
                       "transaction with SELECT pawl_submit('WORKFLOW', '{…}')");
    TRY(api_follow_routes(p, false, err));
    rc = store_turn(p->store, body, &tx, err);
    arena_release(&tx.texts);
    return rc && tx.rc > 0 && !tx.failed ? tx.rc : rc;
}

/* ---- statements ---- */

struct reading {
    const struct pawl_statement *s;
    struct arena arena;
};

static struct pawl_value value_out(const struct embedder_value *v)
{
    return (struct pawl_value){
        .type = (int)v->type, .i = v->i, .d = v->d, .s = v->s, .len = v->len};
}

static struct embedder_value value_in(const struct pawl_value *v)
{
    bool text = v->type == PAWL_TEXT;

    return (struct embedder_value){.type =
                                       text && !v->s ? EMBEDDER_NULL : (enum embedder_type)v->type,
                                   .i = v->i,
                                   .d = v->d,
                                   .s = v->s,
                                   .len = text && v->s && !v->len ? strlen(v->s) : v->len};
}

static int each_row(void *arg, const struct embedder_value *cells, size_t n)
{
    struct reading *r = arg;
    struct pawl_value *out;

    arena_reset(&r->arena);
    out = arena_alloc(&r->arena, (n + 1) * sizeof(*out));
    for (size_t i = 0; i < n; i++)
        out[i] = value_out(&cells[i]);
    return r->s->row(r->s->arg, out, n);
}

_Static_assert((int)EMBEDDER_NULL == PAWL_NULL && (int)EMBEDDER_INT == PAWL_INT &&
                   (int)EMBEDDER_REAL == PAWL_REAL && (int)EMBEDDER_TEXT == PAWL_TEXT &&
                   (int)EMBEDDER_BLOB == PAWL_BLOB,
               "pawl.h and store/driver/embedder_stmt.h differ");

int pawl_tx_run(struct pawl_tx *tx, struct pawl_statement *s, struct pawl_error *e)
{
    struct reading r = {.s = s};
    AUTO_ARENA arena = ARENA_INIT;
    struct embedder_value *params = arena_alloc(&arena, (s->nparams + 1) * sizeof(*params));
    struct embedder_stmt g = {.sql = s->sql,
                              .params = params,
                              .nparams = s->nparams,
                              .row = s->row ? each_row : NULL,
                              .arg = &r};
    int rc;
    API_ERR(e);

    for (size_t i = 0; i < s->nparams; i++)
        params[i] = value_in(&s->params[i]);
    rc = keep_error(tx, op_run_embedder_stmt(tx->t, &g, err), err);
    s->changed = g.changed;
    arena_release(&r.arena);
    tx->failed |= g.must_roll_back;
    return rc;
}

/* ---- submissions ---- */

/* Copies the caller's strings, which may be freed before the submission is stored. */
static void keep_texts(struct pawl_tx *tx, struct submission *s)
{
    const char **const texts[] = {&s->name, &s->queue, &s->lane,       &s->concurrency, &s->input,
                                  &s->spec, &s->key,   &s->definition, &s->by};

    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        *texts[i] = arena_strdup(&tx->texts, *texts[i]);
}

static int read_job(struct pawl_tx *tx, const struct pawl_job *job, struct submission *out,
                    struct err *err)
{
    const char *applied = NULL;

    if (job->applied)
        TRY(op_read_applied(tx->t, job->applied, &applied, err));
    TRY(api_submission_of(tx->p, job, applied, &tx->texts, out, err));
    keep_texts(tx, out);
    return 0;
}

static int submit(struct pawl_tx *tx, struct pawl_job *jobs, size_t n, struct err *err)
{
    struct submission *list = arena_zalloc(&tx->texts, (n + 1) * sizeof(*list));

    for (size_t i = 0; i < n; i++)
        TRY(read_job(tx, &jobs[i], &list[i], err));
    TRY(op_submit(tx->t, list, n, err));
    for (size_t i = 0; i < n; i++) {
        if (list[i].rc) {
            *err = list[i].err;
            return n > 1 ? err_prefix(err, "job %zu of %zu", i + 1, n) : list[i].rc;
        }
        jobs[i].id = list[i].id;
        jobs[i].existed = list[i].existed;
    }
    return 0;
}

int pawl_tx_submit(struct pawl_tx *tx, struct pawl_job *jobs, size_t n, struct pawl_error *e)
{
    int rc;
    API_ERR(e);

    if (tx->failed)
        *err = tx->err;
    rc = tx->failed ? -(int)err->code : keep_error(tx, submit(tx, jobs, n, err), err);
    tx->failed |= rc != 0;
    return rc;
}
