/* query.c - reads single executions, their parents and children, and whole trees. Nothing here
 * writes or locks. */
#include "store/query/query_internal.h"
#include "store/query/submissions.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- executions ---- */

void query_read_history(struct execution_history *p, const struct rows *r, size_t row, size_t col,
                        struct arena *arena)
{
    *p = (struct execution_history){
        .outcome = arena_strdup(arena, rows_text(r, row, col)),
        .worker = rows_int(r, row, col + 1),
        .due_at = rows_int(r, row, col + 2),
        .definition = arena_strdup(arena, rows_text(r, row, col + 3)),
        .variables = arena_strdup(arena, rows_text(r, row, col + 4)),
        .pause = arena_strdup(arena, rows_text(r, row, col + 5)),
    };
}

void query_read_executions(const struct rows *r, struct execution_list *out)
{
    size_t i;

    *out = (struct execution_list){.n = r->n};
    out->at = arena_zalloc(&out->arena, (r->n + 1) * sizeof(*out->at));
    out->history = arena_zalloc(&out->arena, (r->n + 1) * sizeof(*out->history));
    for (i = 0; i < r->n; i++) {
        execution_read_whole(&out->at[i], r, i, 0, &out->arena);
        query_read_history(&out->history[i], r, i, WHOLE_COLUMNS, &out->arena);
    }
}

void execution_list_release(struct execution_list *l)
{
    arena_release(&l->arena);
    *l = (struct execution_list){0};
}

/* Runs a statement that returns executions. */
static int read_executions(struct store *s, const struct args *a, struct execution_list *out,
                           struct err *err)
{
    struct rows r = ROWS_INIT;
    int rc = query_run(s, a, &r, err);

    if (!rc)
        query_read_executions(&r, out);
    rows_release(&r);
    return rc;
}

/* Runs a statement whose only argument is an id. */
static int read_executions_by_id(struct store *s, enum stmt_id q, int64_t id,
                                 struct execution_list *out, struct err *err)
{
    struct args a = ARGS_INIT;
    int rc;

    args_begin(&a, q);
    args_int(&a, id);
    rc = read_executions(s, &a, out, err);
    args_release(&a);
    return rc;
}

int query_set_not_found(int64_t id, struct err *err)
{
    char text[24];

    snprintf(text, sizeof(text), "%lld", (long long)id);
    err_set(err, E_NOT_FOUND, "there is no execution %s", text);
    return err_missing(err, MISSING_EXECUTION, text);
}

/* An SQL submission has its id before the execution is created. */
int query_explain_missing(struct store *s, int64_t id, struct err *err)
{
    struct submission_list l = {0};
    long long n = id;
    int rc = query_submission(s, id, &l, err);

    if (rc)
        return rc;
    if (!l.n)
        rc = query_set_not_found(id, err);
    else if (l.at[0].error)
        rc = err_set(err, E_NOT_FOUND,
                     "there is no execution %lld: its submission of %s was refused: %s", n,
                     l.at[0].workflow, l.at[0].error);
    else if (l.at[0].execution == id)
        rc = err_set(err, E_BUSY, "execution %lld was created just now: try again", n);
    else if (l.at[0].execution)
        rc = err_set(err, E_NOT_FOUND,
                     "there is no execution %lld: its key belongs to execution %lld", n,
                     (long long)l.at[0].execution);
    else
        rc = err_set(
            err, E_NOT_FOUND,
            "there is no execution %lld yet: its submission of %s waits for a worker to take it", n,
            l.at[0].workflow);
    submission_list_release(&l);
    return rc;
}

/* Reads an execution that must exist. Tries twice: between the two statements a worker may take a
 * submission and create the execution. */
static int read_existing(struct store *s, enum stmt_id q, int64_t id, struct execution_list *out,
                         struct err *err)
{
    int tries = 2, rc;

    do {
        if ((rc = read_executions_by_id(s, q, id, out, err)) || out->n)
            return rc;
        execution_list_release(out);
        rc = query_explain_missing(s, id, err);
    } while (rc == -E_BUSY && --tries);
    return rc;
}

int query_execution(struct store *s, int64_t id, struct execution_list *out, struct err *err)
{
    return read_existing(s, Q_QUERY_EXECUTION, id, out, err);
}

int query_parent(struct store *s, int64_t id, struct execution_list *out, struct err *err)
{
    return read_executions_by_id(s, Q_QUERY_PARENT, id, out, err);
}

int query_workflow(struct store *s, int64_t id, struct execution_list *out, struct err *err)
{
    return read_executions_by_id(s, Q_QUERY_WORKFLOW, id, out, err);
}

int query_children(struct store *s, int64_t id, struct execution_list *out, struct err *err)
{
    return read_executions_by_id(s, Q_QUERY_CHILDREN, id, out, err);
}

int query_tree(struct store *s, int64_t id, struct execution_list *out, struct err *err)
{
    return read_existing(s, Q_QUERY_TREE, id, out, err);
}

int query_tasks(struct store *s, int64_t workflow, struct execution_list *out, struct err *err)
{
    return read_executions_by_id(s, Q_QUERY_TASKS, workflow, out, err);
}

int query_definition(struct store *s, int64_t id, struct buf *out, struct err *err)
{
    struct args a = ARGS_INIT;
    struct rows r = ROWS_INIT;
    int rc, attempts, status;

    args_begin(&a, Q_QUERY_DEFINITION);
    args_int(&a, id);
    if ((rc = query_run(s, &a, &r, err)))
        goto done;
    if (r.n)
        buf_addstr(out, rows_text(&r, 0, 0));
    else if (!(rc = query_attempts(s, id, &attempts, &status, err)))
        rc = err_set(err, E_INVALID, "execution %lld is not a workflow", (long long)id);
done:
    rows_release(&r);
    args_release(&a);
    return rc;
}

int query_task_names(struct store *s, const int64_t *workflows, size_t n,
                     struct task_name_list *out, struct err *err)
{
    struct args a = ARGS_INIT;
    struct rows r = ROWS_INIT;
    size_t i;
    int rc = 0;

    *out = (struct task_name_list){0};
    args_begin(&a, Q_QUERY_TASK_NAMES);
    for (i = 0; i < n; i++)
        args_int(&a, workflows[i]);
    if (n && (rc = query_run(s, &a, &r, err)))
        goto done;
    out->at = arena_alloc(&out->arena, (r.n + 1) * sizeof(*out->at));
    for (out->n = 0; out->n < r.n; out->n++)
        out->at[out->n] =
            (struct task_name){.workflow = rows_int(&r, out->n, 0),
                               .name = arena_strdup(&out->arena, rows_text(&r, out->n, 1)),
                               .status = (int)rows_int(&r, out->n, 2)};
done:
    rows_release(&r);
    args_release(&a);
    return rc;
}

void task_name_list_release(struct task_name_list *l)
{
    arena_release(&l->arena);
    *l = (struct task_name_list){0};
}

int query_leases(struct store *s, int64_t worker, int64_t after, size_t max,
                 struct execution_list *out, struct err *err)
{
    struct args a = ARGS_INIT;
    int rc;

    args_begin(&a, Q_QUERY_LEASES);
    args_int(&a, worker);
    args_int(&a, after);
    args_int(&a, (int64_t)max);
    rc = read_executions(s, &a, out, err);
    args_release(&a);
    return rc;
}

int query_workflow_start_info(struct store *s, int64_t id, struct arena *arena,
                              struct workflow_start_info *out, struct err *err)
{
    struct args a = ARGS_INIT;
    struct rows r = ROWS_INIT;
    int rc;

    args_begin(&a, Q_WORKFLOW_START_INFO);
    args_int(&a, id);
    if ((rc = query_run(s, &a, &r, err)))
        goto done;
    if (!r.n)
        rc = err_set(err, E_NOT_FOUND, "execution %lld is not a workflow with a definition",
                     (long long)id);
    else
        *out = (struct workflow_start_info){.definition = arena_strdup(arena, rows_text(&r, 0, 0)),
                                            .variables = arena_strdup(arena, rows_text(&r, 0, 1)),
                                            .queue = arena_strdup(arena, rows_text(&r, 0, 2)),
                                            .priority = (int)rows_int(&r, 0, 3),
                                            .parent = rows_int(&r, 0, 4)};
done:
    rows_release(&r);
    args_release(&a);
    return rc;
}
