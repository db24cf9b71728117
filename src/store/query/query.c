/* query.c - reads single executions, their parents and children, and whole trees. This file never
 * writes or locks. */
#include "store/query/as_of.h"
#include "store/query/query_internal.h"
#include "store/query/submissions.h"
#include "store/schedule/schedule.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- executions ---- */

void query_read_history(struct execution_history *p, const struct rows *r, size_t row, size_t col,
                        struct arena *arena)
{
    rows_read(r, row, col, arena, &p->outcome, &p->worker, &p->host, &p->request, &p->due_at,
              &p->definition, &p->variables, &p->pause);
}

void query_read_executions(const struct rows *r, struct execution_list *out)
{
    LIST_ALLOC(out, r->n);
    out->history = arena_zalloc(&out->arena, (r->n + 1) * sizeof(*out->history));
    for (size_t i = 0; i < r->n; i++) {
        execution_read_whole(&out->at[i], r, i, 0, &out->arena);
        query_read_history(&out->history[i], r, i, WHOLE_COLUMNS, &out->arena);
    }
}

/* Runs a statement whose only argument is an id. */
static int read_executions(struct store *s, enum stmt_id q, int64_t id, struct execution_list *out,
                           struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;

    TRY(ask(s, &r, err, q, id));
    query_read_executions(&r, out);
    return 0;
}

static int set_missing(enum err_missing missing, int64_t id, struct err *err)
{
    char text[24];

    snprintf(text, sizeof(text), "%lld", (long long)id);
    return err_missing(err, missing, text);
}

int query_set_not_found(int64_t id, struct err *err)
{
    err_set(err, E_NOT_FOUND, "there is no execution %lld", (long long)id);
    return set_missing(MISSING_EXECUTION, id, err);
}

/* The id may belong to a SQL submission: it gets its id before the execution is created. */
int query_explain_missing(struct store *s, int64_t id, struct err *err)
{
    struct submission_list l = {0};
    long long n = id;
    int rc = 0;

    TRY(query_submission(s, id, &l, err));
    if (!l.n)
        rc = query_set_not_found(id, err);
    else if (l.at[0].error)
        rc = err_set(err, E_NOT_FOUND,
                     "execution %lld was not created, because the submission that asked for it "
                     "(workflow %s) was refused: %s",
                     n, l.at[0].workflow, l.at[0].error);
    else if (l.at[0].execution == id)
        rc = err_set(err, E_BUSY, "execution %lld was created just now: try again", n);
    else if (l.at[0].execution)
        rc = err_set(err, E_NOT_FOUND,
                     "execution %lld was not created, because its submission had the same "
                     "idempotency key as execution %lld",
                     n, (long long)l.at[0].execution);
    else {
        err_set(err, E_NOT_FOUND,
                "execution %lld does not exist yet: the submission that will create it "
                "(workflow %s) waits for a worker to take it; `pawl worker` starts one",
                n, l.at[0].workflow);
        rc = set_missing(MISSING_SUBMITTED, id, err);
    }
    submission_list_release(&l);
    return rc;
}

/* Reads an execution that must exist. */
static int read_existing(struct store *s, enum stmt_id q, int64_t id, struct execution_list *out,
                         struct err *err)
{
    TRY(read_executions(s, q, id, out, err));
    if (out->n)
        return 0;
    execution_list_release(out);
    return query_explain_missing(s, id, err);
}

int query_execution(struct store *s, int64_t id, struct execution_list *out, struct err *err)
{
    return read_existing(s, Q_QUERY_EXECUTION, id, out, err);
}

int query_parent(struct store *s, int64_t id, struct execution_list *out, struct err *err)
{
    return read_executions(s, Q_QUERY_PARENT, id, out, err);
}

int query_workflow(struct store *s, int64_t id, struct execution_list *out, struct err *err)
{
    return read_executions(s, Q_QUERY_WORKFLOW, id, out, err);
}

int query_children(struct store *s, int64_t id, struct execution_list *out, struct err *err)
{
    return read_executions(s, Q_QUERY_CHILDREN, id, out, err);
}

int query_tree(struct store *s, int64_t id, struct execution_list *out, struct err *err)
{
    return read_existing(s, Q_QUERY_TREE, id, out, err);
}

int query_tree_size(struct store *s, int64_t id, int64_t most, int64_t *n, struct err *err)
{
    *n = 0;
    return ask_one(s, INTO(n), err, Q_QUERY_TREE_SIZE, id, most);
}

int query_tasks(struct store *s, int64_t workflow, struct execution_list *out, struct err *err)
{
    return read_executions(s, Q_QUERY_TASKS, workflow, out, err);
}

int query_definition(struct store *s, int64_t id, struct stored_definition *out, struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;
    int attempts, status;

    TRY(ask(s, &r, err, Q_QUERY_DEFINITION, id));
    if (!r.n) {
        TRY(query_attempts(s, id, &attempts, &status, err));
        return err_set(err, E_INVALID, "execution %lld is not a workflow", (long long)id);
    }
    rows_read(&r, 0, 0, &out->arena, &out->hash, &out->definition, &out->source);
    return 0;
}

void stored_definition_release(struct stored_definition *d)
{
    arena_release(&d->arena);
}

int query_task_names(struct store *s, const int64_t *workflows, size_t n,
                     struct task_name_list *out, struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;

    if (n)
        TRY(ask_ids(s, &r, err, Q_QUERY_TASK_NAMES, workflows, n));
    LIST_ALLOC(out, r.n);
    for (size_t i = 0; i < r.n; i++) {
        struct task_name *o = &out->at[i];

        rows_read(&r, i, 0, &out->arena, &o->workflow, &o->name, &o->status);
    }
    return 0;
}

int query_leases(struct store *s, int64_t worker, int64_t after, size_t max,
                 struct execution_list *out, struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;

    TRY(ask(s, &r, err, Q_QUERY_LEASES, worker, after, max));
    query_read_executions(&r, out);
    return 0;
}

int query_workflow_start_info(struct store *s, int64_t id, struct arena *arena,
                              struct workflow_start_info *out, struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;

    TRY(ask(s, &r, err, Q_WORKFLOW_START_INFO, id));
    if (!r.n)
        return err_set(err, E_NOT_FOUND,
                       "execution %lld is not a workflow: only a workflow can be rerun with other "
                       "params or another file",
                       (long long)id);
    rows_read(&r, 0, 0, arena, &out->definition, &out->variables, &out->queue, &out->priority,
              &out->parent);
    return 0;
}
