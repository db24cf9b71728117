/* executions.c - reads one execution, its parent, workflow, children and tasks, and lists of
 * executions. */
#include "api/api.h"
#include "api/list_filter.h"
#include "base/idmap.h"

#include <stdlib.h>

#define LIST_MAX 1000 /* executions in a page */

/* ---- task names ---- */

/* The task names of all workflows in a list, read with one query. */
struct names {
    struct task_name_list list;
    struct idmap first; /* workflow -> its first task in the list */
};

static void names_release(struct names *n)
{
    task_name_list_release(&n->list);
    idmap_release(&n->first);
}

static int names_of(struct pawl *p, const struct execution_list *l, struct names *out,
                    struct err *err)
{
    AUTO_VEC(int64_t) workflows = {0};

    for (size_t i = 0; i < l->n; i++)
        if (l->at[i].kind == KIND_WORKFLOW)
            *vec_add(&workflows) = l->at[i].id;
    TRY(query_task_names(p->store, workflows.at, workflows.n, &out->list, err));
    for (size_t i = out->list.n; i > 0; i--)
        idmap_put(&out->first, out->list.at[i - 1].workflow, &out->list.at[i - 1]);
    return 0;
}

static struct task_names names_in(const struct names *n, int64_t workflow)
{
    const struct task_name *first = idmap_get(&n->first, workflow);
    const struct task_name *end = n->list.at + n->list.n, *at = first;

    while (at && at < end && at->workflow == workflow)
        at++;
    return (struct task_names){first, first ? (size_t)(at - first) : 0};
}

static void write_one(struct buf *b, const struct execution_list *l, size_t i,
                      const struct names *n)
{
    struct json_writer w = JSON_WRITER(b);

    json_write_begin(&w, '{');
    execution_fields(&w, &l->at[i], &l->history[i], names_in(n, l->at[i].id));
    json_write_end(&w, '}');
}

/* ---- one execution ---- */

/* Writes the execution of a list with at most one entry as JSON. If the list is empty, the error is
 * "execution ID" followed by `missing`. */
static int answer_one(struct pawl *p, const struct execution_list *l, int64_t id,
                      const char *missing, char **json, struct err *err)
{
    AUTO(names_release) struct names names = {.first = IDMAP_INIT};
    struct buf b = BUF_INIT;

    if (!l->n)
        return err_set(err, E_NOT_FOUND, "execution %lld %s", (long long)id, missing);
    TRY(names_of(p, l, &names, err));
    write_one(&b, l, 0, &names);
    *json = b.ptr;
    return 0;
}

int pawl_show(struct pawl *p, int64_t id, char **json, struct pawl_error *e)
{
    AUTO(execution_list_release) struct execution_list l = {0};
    API_ERR(e);

    if (p->remote)
        return remote_show(p->remote, id, "", NULL, json, err);
    TRY(query_execution(p->store, id, &l, err));
    return answer_one(p, &l, id, "does not exist", json, err);
}

int pawl_status(struct pawl *p, int64_t id, const char **status, struct pawl_error *e)
{
    int attempts, code;
    API_ERR(e);

    if (p->remote)
        return api_remote_status(p, id, 0, status, err);
    TRY(query_attempts(p->store, id, &attempts, &code, err));
    *status = status_text(code);
    return 0;
}

int api_remote_status(struct pawl *p, int64_t id, int timeout_ms, const char **status,
                      struct err *err)
{
    char text[REMOTE_STATUS_SIZE];

    TRY(remote_status(p->remote, id, timeout_ms, text, err));
    *status = status_text(status_from_text(text));
    return 0;
}

int api_check_exists(struct pawl *p, int64_t id, struct err *err)
{
    int attempts, status;

    return query_attempts(p->store, id, &attempts, &status, err);
}

typedef int query_relative(struct store *s, int64_t id, struct execution_list *out,
                           struct err *err);

/* `path` is where a server has it. */
static int answer_relative(struct pawl *p, int64_t id, query_relative *query, const char *path,
                           const char *missing, char **json, struct pawl_error *e)
{
    AUTO(execution_list_release) struct execution_list l = {0};
    API_ERR(e);

    if (p->remote)
        return remote_show(p->remote, id, path, NULL, json, err);
    TRY(api_check_exists(p, id, err));
    TRY(query(p->store, id, &l, err));
    return answer_one(p, &l, id, missing, json, err);
}

int pawl_parent(struct pawl *p, int64_t id, char **json, struct pawl_error *e)
{
    return answer_relative(p, id, query_parent, "/parent", "has no parent", json, e);
}

int pawl_workflow(struct pawl *p, int64_t id, char **json, struct pawl_error *e)
{
    return answer_relative(p, id, query_workflow, "/workflow", "does not belong to a workflow",
                           json, e);
}

int pawl_last(struct pawl *p, int64_t *id, struct pawl_error *e)
{
    AUTO(execution_list_release) struct execution_list l = {0};
    struct list_filter roots = {0};
    int64_t newest = 0;
    API_ERR(e);

    if (p->remote)
        return remote_last(p->remote, id, err);
    TRY(query_list(p->store, &roots, &newest, 1, &l, err));
    if (!l.n)
        return err_set(err, E_NOT_FOUND, "there are no executions yet");
    *id = l.at[0].id;
    return 0;
}

/* ---- lists ---- */

static int answer_lines(struct pawl *p, const struct execution_list *l, pawl_line *each, void *arg,
                        struct err *err)
{
    AUTO(names_release) struct names names = {.first = IDMAP_INIT};
    AUTO_BUF b = BUF_INIT;

    TRY(names_of(p, l, &names, err));
    for (size_t i = 0; i < l->n; i++) {
        buf_reset(&b);
        write_one(&b, l, i, &names);
        if (each(arg, b.ptr))
            break;
    }
    return 0;
}

/* ---- tasks ---- */

static int load_tasks(struct pawl *p, int64_t id, struct execution_list *out, struct err *err)
{
    AUTO(execution_list_release) struct execution_list workflow = {0};

    TRY(query_execution(p->store, id, &workflow, err));
    if (workflow.at[0].kind != KIND_WORKFLOW)
        return err_set(err, E_INVALID, "execution %lld is not a workflow: its kind is %s",
                       (long long)id, kind_text(workflow.at[0].kind));
    return query_tasks(p->store, id, out, err);
}

static int list_tasks(struct pawl *p, const struct pawl_list_query *q, const struct list_filter *f,
                      pawl_line *each, void *arg, struct err *err)
{
    AUTO(execution_list_release) struct execution_list l = {0};
    size_t n = 0;

    TRY(load_tasks(p, q->tasks, &l, err));
    for (size_t i = 0; i < l.n && (q->limit <= 0 || n < (size_t)q->limit); i++)
        if (list_filter_matches(f, &l.at[i], &l.history[i])) {
            l.at[n] = l.at[i];
            l.history[n++] = l.history[i];
        }
    l.n = n;
    return answer_lines(p, &l, each, arg, err);
}

static int check_tasks(const struct pawl_list_query *q, struct err *err)
{
    if (!q->tasks || (!q->parent && !q->all && !q->workflow && !q->before))
        return 0;
    return err_set(err, E_INVALID,
                   "a query that sets `tasks` can't also set `parent`, `all`, `workflow` or "
                   "`before`");
}

int pawl_list(struct pawl *p, const struct pawl_list_query *q, pawl_line *each, void *arg,
              int64_t *next, struct pawl_error *e)
{
    AUTO(execution_list_release) struct execution_list l = {0};
    AUTO_LIST_FILTER f = {0};
    size_t max = q->limit > 0 && q->limit < LIST_MAX ? (size_t)q->limit : LIST_MAX;
    int64_t before = q->before;
    API_ERR(e);

    TRY(list_filter_read(q, &f, err));
    TRY(check_tasks(q, err));
    if (p->remote)
        return remote_list(p->remote, q, each, arg, next, err);
    if (next)
        *next = 0;
    if (q->tasks)
        return list_tasks(p, q, &f.f, each, arg, err);
    if (q->parent)
        TRY(api_check_exists(p, q->parent, err));
    TRY(query_list(p->store, &f.f, &before, max, &l, err));
    TRY(answer_lines(p, &l, each, arg, err));
    if (next)
        *next = before;
    return 0;
}

int pawl_children(struct pawl *p, int64_t id, pawl_line *each, void *arg, struct pawl_error *e)
{
    AUTO(execution_list_release) struct execution_list l = {0};
    API_ERR(e);

    if (p->remote)
        return remote_children(p->remote, id, each, arg, err);
    TRY(api_check_exists(p, id, err));
    TRY(query_children(p->store, id, &l, err));
    return answer_lines(p, &l, each, arg, err);
}

int pawl_tasks(struct pawl *p, int64_t id, pawl_line *each, void *arg, struct pawl_error *e)
{
    AUTO(execution_list_release) struct execution_list tasks = {0};
    API_ERR(e);

    if (p->remote)
        return remote_list(p->remote, &(struct pawl_list_query){.tasks = id}, each, arg, NULL, err);
    TRY(load_tasks(p, id, &tasks, err));
    return answer_lines(p, &tasks, each, arg, err);
}
