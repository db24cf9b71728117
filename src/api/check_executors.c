/* check_executors.c - warns of tasks that would wait for an executor that no worker has, or
 * fail because their executor runs only commands. */
#include "api/engine_handle.h"
#include "api/known_executors.h"
#include "base/suggest.h"
#include "store/schedule/schedule.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum finding_kind {
    UNKNOWN,   /* as far as is known, no worker has the executor */
    ELSEWHERE, /* only this engine runs the job, and it does not have the executor */
    COMMANDS,  /* the executor runs commands, and the task has none */
};

/* An executor that a task can't use, and the first such task. */
struct finding {
    enum finding_kind kind;
    const char *key;
    const struct workflow *workflow; /* NULL, like task, for a job that is not a workflow */
    const struct workflow_task *task;
    bool routed;   /* a route chose the executor, not the task itself */
    size_t others; /* how many more tasks have the same problem */
};

struct check {
    struct pawl *p;
    struct pawl_engine *e; /* the only engine that may run the job; NULL if any worker may */
    struct known_executors known;
    struct routes routes;
    struct arena arena;
    VEC(struct finding) found;
};

static void check_release(struct check *c)
{
    known_executors_release(&c->known);
    arena_release(&c->arena);
    vec_release(&c->found);
}

/* ---- findings ---- */

/* Whether the executor is wrong for the task; *kind says why. t is NULL for a single job. */
static bool is_wrong(const struct check *c, const char *key, const struct workflow_task *t,
                     enum finding_kind *kind)
{
    const struct config_executor *x = config_executor(c->p->config, key);

    *kind = x && x->type != CONFIG_CUSTOM && t && task_is_custom(t) ? COMMANDS
            : c->e                                                  ? ELSEWHERE
                                                                    : UNKNOWN;
    return *kind == COMMANDS || !known_executors_have(&c->known, key);
}

static void add_finding(struct check *c, struct finding f)
{
    for (size_t i = 0; i < c->found.n; i++)
        if (c->found.at[i].kind == f.kind && !strcmp(c->found.at[i].key, f.key)) {
            c->found.at[i].others++;
            return;
        }
    *vec_add(&c->found) = f;
}

static void check_task(struct check *c, const struct workflow *w, const struct workflow_task *t)
{
    struct finding f = {.workflow = w, .task = t};
    struct route_query q = {.container = t && t->command.container};

    if (!t || t->function || t->nested || (c->e && !t->executor))
        return; /* the task names no executor, or a route chooses it: with an engine, routes are not
                   read */
    q.executor = t->executor;
    q.name = t->executor ? NULL : arena_printf(&c->arena, "%s::%s", w->name, t->name);
    f.key = route_find(&c->routes, &q, &c->arena);
    f.routed = !t->executor;
    if (is_wrong(c, f.key, t, &f.kind))
        add_finding(c, f);
}

static void check_tasks(struct check *c, const struct workflow *w)
{
    for (uint32_t i = 0; i < w->ntasks; i++)
        check_task(c, w, &w->tasks[i]);
    check_task(c, w, w->on_failure);
    check_task(c, w, w->on_exit);
}

static void check_workflow(struct check *c, const struct workflow *w)
{
    size_t n;
    AUTO_FREE const struct workflow **nested = workflow_below(w, &n);

    check_tasks(c, w);
    for (size_t i = 0; i < n; i++)
        check_tasks(c, nested[i]);
}

/* ---- sentences ---- */

static const char *subject_of(const struct finding *f, struct arena *arena)
{
    const struct workflow_task *t = f->task;

    if (!t)
        return "the job";
    return t->index < f->workflow->ntasks ? arena_printf(arena, "tasks.%s", t->name) : t->name;
}

static void add_others(struct buf *b, const struct finding *f)
{
    if (f->others)
        buf_addf(b, " (%zu other task%s, too)", f->others,
                 f->others == 1 ? (f->routed ? " is" : " names it")
                                : (f->routed ? "s are" : "s name it"));
}

static void describe_finding(struct check *c, const struct finding *f, struct buf *b)
{
    const char *what = f->task ? "task" : "job", *who = subject_of(f, &c->arena),
               *best = f->kind == COMMANDS ? NULL : known_executors_suggest(&c->known, f->key);

    if (f->kind == COMMANDS)
        buf_addf(b,
                 "%s has neither run nor argv, but its executor \"%s\" runs commands: the %s will "
                 "fail",
                 who, f->key, what);
    else
        buf_addf(b, "%s %s the executor \"%s\", which %s", who,
                 f->routed ? "is routed to" : "names", f->key,
                 f->kind == UNKNOWN ? "no worker has served yet" : "this process does not have");
    if (f->kind == UNKNOWN)
        buf_addf(b, ": the %s waits until a worker has it", what);
    else if (f->kind == ELSEWHERE)
        buf_addf(b,
                 ", and no other process runs the %s, so it would wait: queue it for a worker that "
                 "has the executor",
                 what);
    add_others(b, f);
    buf_addf(b, "%s%s%s", DID_YOU_MEAN(best));
}

static void report_findings(struct check *c, pawl_problem_fn *each, void *arg)
{
    for (size_t i = 0; i < c->found.n; i++) {
        const struct finding *f = &c->found.at[i];
        const struct workflow *w = f->workflow;
        AUTO_BUF text = BUF_INIT;

        describe_finding(c, f, &text);
        each(arg, &(struct pawl_problem){.file = !w        ? NULL
                                                 : w->file ? w->file
                                                           : w->name,
                                         .line = w ? f->task->line : 0,
                                         .column = w ? f->task->column : 0,
                                         .message = buf_cstr(&text),
                                         .shown = ""});
    }
}

/* ---- the job ---- */

static int read_routes(struct check *c, struct err *err)
{
    AUTO(setting_release) struct setting s = {0};
    AUTO_FREE char *routes = NULL;

    if (c->p->remote) {
        TRY(remote_get(c->p->remote, "/v1/routes", &routes, err));
        return routes_read(routes, &c->arena, &c->routes, err);
    }
    TRY(query_setting(c->p->store, SETTING_ROUTES, &s, err));
    if (s.value)
        return routes_read(s.value, &c->arena, &c->routes, err);
    c->routes = c->p->config->dispatch.routes;
    return 0;
}

/* *text is the canonical text of the workflow; the caller frees it. */
static int read_applied(struct pawl *p, const char *name, char **text, struct err *err)
{
    AUTO_FREE char *detail = NULL;
    json_auto_t *o = NULL;

    if (!p->remote)
        return query_applied(p->store, name, text, err);
    TRY(remote_applied_show(p->remote, name, NULL, &detail, err));
    o = json_loads(detail, JSON_ALLOW_NUL, NULL);
    *text = json_text(json_object_get(o, "document"));
    return *text ? 0 : err_set(err, E_NOT_FOUND, "the workflow %.100s has no document", name);
}

/* Reads the workflow of the job; *out is NULL if it has none. */
static int load_workflow(struct check *c, const struct pawl_job *job, const struct workflow **out,
                         struct err *err)
{
    struct api_source from = {.file = job->workflow, .yaml = job->yaml, .built = job->built};
    AUTO_FREE char *applied = NULL;

    *out = NULL;
    if (from.file || from.yaml || from.built)
        return api_load_workflow(&from, &c->arena, out, err);
    if (!job->applied)
        return 0;
    TRY(read_applied(c->p, job->applied, &applied, err));
    return workflow_read(applied, strlen(applied), &c->arena, out, err);
}

/* Finds all executors that the tasks of `w` can't use. Returns whether one of them is unknown. */
static bool find_all(struct check *c, const struct workflow *w, const char *lane)
{
    struct finding f = {.key = lane};
    bool unknown = false;

    c->found.n = 0;
    if (w)
        check_workflow(c, w);
    else if (lane && !strchr(lane, ':') && is_wrong(c, lane, NULL, &f.kind))
        add_finding(c, f);
    for (size_t i = 0; i < c->found.n; i++)
        unknown |= c->found.at[i].kind == UNKNOWN;
    return unknown;
}

static void take_executors_of(struct pawl_engine *e, struct known_executors *out)
{
    size_t n;
    const struct lane_group *groups = dispatch_lane_groups(engine_dispatch(e->engine), &n);

    for (size_t i = 0; i < n; i++)
        known_executors_add(out, groups[i].executor);
}

int pawl_check_executors(struct pawl *p, struct pawl_engine *e, const struct pawl_job *job,
                         pawl_problem_fn *each, void *arg, struct pawl_error *out)
{
    AUTO(check_release) struct check c = {.p = p, .e = e};
    const struct workflow *w;
    API_ERR(out);

    if (e) {
        take_executors_of(e, &c.known);
    } else {
        TRY(read_routes(&c, err));
        TRY(known_executors_read(p, &c.known, err));
    }
    TRY(load_workflow(&c, job, &w, err));
    if (find_all(&c, w, job->lane)) { /* an executor is rarely unknown, so past attempts are read
                                         only now */
        TRY(known_executors_read_past(p, &c.known, err));
        (void)find_all(&c, w, job->lane);
    }
    report_findings(&c, each, arg);
    return 0;
}
