/* submit.c - pawl_submit: converts jobs and workflows with their params to submissions, and stores
 * all of them or none. */
#include "api/api.h"
#include "base/json.h"
#include "base/suggest.h"
#include "core/resolve.h"
#include "parse/workflow/file.h"
#include "store/schedule/schedule.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PARAMS_SHOWN 5

struct submitting {
    struct submission *list;
    size_t n;
    bool busy;
};

/* Submits all jobs. A refused job ends the turn, so that none of the other jobs is stored. */
static int submit_body(struct turn *t, void *arg, struct err *err)
{
    struct submitting *s = arg;

    s->busy = false;
    TRY(op_submit(t, s->list, s->n, err));
    for (size_t i = 0; i < s->n; i++) {
        if (!s->list[i].rc)
            continue;
        if (s->list[i].rc == -E_BUSY) {
            s->busy = true;
            return err_set(err, E_BUSY,
                           "other transactions keep the parent's tree locked: try again later");
        }
        *err = s->list[i].err;
        return s->n > 1 ? err_prefix(err, "job %zu of %zu", i + 1, s->n) : s->list[i].rc;
    }
    return 0;
}

/* Like api_turns, but all jobs are stored or none. */
static int submit_all(struct pawl *p, struct submitting *s, struct err *err)
{
    int rc;

    TRY(api_follow_routes(p, false, err));
    for (int i = 0; i < 3; i++) {
        rc = store_turn(p->store, submit_body, s, err);
        if (rc != -E_BUSY || !s->busy)
            return rc;
    }
    return store_turn_waiting(p->store, submit_body, s, err);
}

int api_submit_one(struct pawl *p, struct submission *s, struct err *err)
{
    struct submitting one = {.list = s, .n = 1};

    return submit_all(p, &one, err);
}

static int refuse_unknown_param(const struct workflow *w, const char *given, size_t len,
                                struct err *err)
{
    AUTO_BUF others = BUF_INIT;
    char name[101];
    struct suggestion s;
    size_t i;

    snprintf(name, sizeof(name), "%.*s", (int)len, given);
    s = suggest_for(name);
    for (i = 0; i < w->nparams; i++)
        suggest_try(&s, w->params[i].name);
    if (s.best)
        return err_set(err, E_INVALID, "the workflow %s has no param %s; did you mean %s?", w->name,
                       name, s.best);
    if (!w->nparams)
        return err_set(err, E_INVALID,
                       "the workflow %s has no param %s, because it declares no params: add them "
                       "under `params` in its file",
                       w->name, name);
    for (i = 0; i < w->nparams && i < PARAMS_SHOWN; i++)
        buf_addf(&others, "%s%s", i ? ", " : "", w->params[i].name);
    return err_set(err, E_INVALID, "the workflow %s has no param %s: its params are %s%s", w->name,
                   name, others.ptr, i < w->nparams ? ", …" : "");
}

static const struct workflow_param *find_param(const struct workflow *w, const char *name,
                                               size_t len)
{
    for (size_t i = 0; i < w->nparams; i++)
        if (!strncmp(w->params[i].name, name, len) && !w->params[i].name[len])
            return &w->params[i];
    return NULL;
}

/* Checks the depth of a value, which is one level deeper in the stored object of all params. */
static int check_depth(const struct workflow_param *p, const char *json, struct err *err)
{
    char what[WORKFLOW_NAME_MAX + 40];

    snprintf(what, sizeof(what), "the params object with the param %s", p->name);
    return json_check_depth(json_depth(json, strlen(json)) + 1, JSON_DEPTH_MAX, what, err);
}

/* Refuses the value of a param. If it is not JSON at all, it was probably meant as a string. */
static int refuse_param_value(const struct workflow_param *p, const char *text,
                              const json_error_t *at, struct err *err)
{
    if (strcmp(json_refusal(at), json_refusal(&(json_error_t){0})) != 0)
        return err_set(err, E_INVALID, "the param %s %s", p->name, json_refusal(at));
    return err_set(err, E_INVALID, "the param %s must be %s %s, not '%.100s'", p->name,
                   param_article(p->type), param_types[p->type], text);
}

/* Adds one NAME=VALUE: the value of a string param is taken literally, any other is JSON. */
static int add_param(const struct workflow *w, const char *given, json_t *params, struct err *err)
{
    const char *equals = strchr(given, '=');
    size_t len = equals ? (size_t)(equals - given) : 0;
    const struct workflow_param *p = find_param(w, given, len);
    json_error_t at = {0};
    json_t *v;

    if (!equals)
        return err_set(err, E_INVALID, "'%.100s' is not a param: write NAME=VALUE", given);
    if (!p)
        return refuse_unknown_param(w, given, len, err);
    if (p->type == PARAM_STRING)
        v = json_string(equals + 1);
    else if (check_depth(p, equals + 1, err))
        return -(int)err->code;
    else
        v = json_loads(equals + 1, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &at);
    if (!v)
        return refuse_param_value(p, equals + 1, &at, err);
    json_object_set_new(params, p->name, v);
    return 0;
}

/* Removes the params of an earlier run that were not given, and those that the new definition does
 * not have. */
static void drop_old_params(const struct workflow *w, json_t *params)
{
    const char *name;
    json_t *v;
    void *next;

    json_object_foreach_safe(params, next, name, v)
    {
        if (json_is_null(v) || !find_param(w, name, strlen(name)))
            json_object_del(params, name);
    }
}

static int set_params(const struct workflow *w, const char *const *given, struct submission *s,
                      struct arena *arena, struct err *err)
{
    json_auto_t *params = NULL;

    TRY(resolve_read_params(s->input, &params, err));
    if (s->rerun_of)
        drop_old_params(w, params);
    for (; given && *given; given++)
        TRY(add_param(w, *given, params, err));
    TRY(resolve_check_params(w, params, err));
    s->input = json_arena_text(params, arena);
    s->params_checked = true;
    return 0;
}

int api_parse_workflow(const struct api_source *from, struct diagnostics *diagnostics,
                       struct arena *arena, const struct workflow **out, struct err *err)
{
    if (from->file)
        return workflow_load(from->file, diagnostics, arena, out, err);
    if (!from->yaml)
        return api_parse_built(from->built, diagnostics, out, err);
    return workflow_parse(diagnostics_take(diagnostics, "workflow", from->yaml, strlen(from->yaml)),
                          NULL, diagnostics, arena, out, err);
}

int api_load_workflow(const struct api_source *from, struct arena *arena,
                      const struct workflow **out, struct err *err)
{
    AUTO(diagnostics_release) struct diagnostics diagnostics = DIAGNOSTICS_INIT;
    AUTO_BUF shown = BUF_INIT;
    int rc = api_parse_workflow(from, &diagnostics, arena, out, err);

    if (rc != -E_INVALID || !diagnostics.count)
        return rc;
    diagnostics_show(&diagnostics, &shown);
    return err_set(err, E_INVALID, "%s", buf_cstr(&shown));
}

int api_workflow(const struct api_source *from, const char *const *params, struct submission *s,
                 struct arena *arena, struct err *err)
{
    AUTO_ARENA own = ARENA_INIT;
    AUTO_BUF out = BUF_INIT;
    const struct workflow *w;

    TRY(from->file || from->yaml || from->built
            ? api_load_workflow(from, &own, &w, err)
            : workflow_read(from->text, strlen(from->text), &own, &w, err));
    TRY(set_params(w, params, s, arena, err));
    workflow_write(w, &out);
    s->kind = KIND_WORKFLOW;
    s->lane = NULL;
    s->spec = NULL;
    s->name = arena_strdup(arena, w->name);
    s->definition = arena_strdup(arena, buf_cstr(&out));
    return 0;
}

int api_submission_of(struct pawl *p, const struct pawl_job *job, const char *applied,
                      struct arena *arena, struct submission *out, struct err *err)
{
    struct api_source from = {.file = job->workflow,
                              .yaml = job->yaml,
                              .built = job->built,
                              .text = job->document ? job->document : applied};

    *out = (struct submission){.kind = KIND_EXEC,
                               .parent = job->parent,
                               .name = job->name,
                               .queue = job->queue,
                               .lane = job->lane,
                               .concurrency = job->concurrency,
                               .concurrency_max = job->concurrency_max,
                               .input = job->input,
                               .spec = job->spec,
                               .key = job->key,
                               .by = job->by ? job->by : api_user(p),
                               .task_index = -1,
                               .priority = job->priority,
                               .max_attempts = job->max_attempts,
                               .delay = job->delay,
                               .refuse = job->refuse,
                               .shares_slot = job->shares_slot};
    if (from.file || from.yaml || from.built || from.text)
        return api_workflow(&from, job->params, out, arena, err);
    if (job->params && *job->params)
        return err_set(err, E_INVALID, "the job %s is not a workflow, so it has no param %.100s",
                       job->name ? job->name : "without a name", *job->params);
    return 0;
}

int api_submission(struct pawl *p, const struct pawl_job *job, struct arena *arena,
                   struct submission *out, struct err *err)
{
    AUTO_FREE char *applied = NULL;

    if (job->applied)
        TRY(query_applied(p->store, job->applied, &applied, err));
    return api_submission_of(p, job, applied, arena, out, err);
}

/* ---- workflow options of the store ---- */

void api_set_workflow_options(struct store *s, const struct config *c)
{
    struct store_workflow_options o = {.default_attempts = c->retry.max + 1,
                                       .cap = c->queue.enabled ? 0 : c->queue.cap};

    o.defaults.timeout = c->timeout;
    o.defaults.retry = c->retry;
    store_set_workflow_options(s, &o);
}

/* Reads the workflow of a job here, because a server has other files, and checks its params. */
static int make_document(struct pawl *p, const struct pawl_job *job, struct arena *arena,
                         struct pawl_job *out, struct err *err)
{
    struct submission s;

    *out = *job;
    if (job->applied || (!job->workflow && !job->yaml && !job->built && !job->document))
        return 0;
    TRY(api_submission_of(p, job, NULL, arena, &s, err));
    out->document = s.definition;
    out->input = s.input;
    out->params = NULL;
    return 0;
}

static int submit_remote(struct pawl *p, struct pawl_job *jobs, size_t n, struct err *err)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct pawl_job *copies = arena_zalloc(&arena, (n + 1) * sizeof(*copies));

    for (size_t i = 0; i < n; i++)
        TRY(make_document(p, &jobs[i], &arena, &copies[i], err));
    TRY(remote_submit(p->remote, copies, n, err));
    for (size_t i = 0; i < n; i++) {
        jobs[i].id = copies[i].id;
        jobs[i].existed = copies[i].existed;
    }
    return 0;
}

int pawl_submit(struct pawl *p, struct pawl_job *jobs, size_t n, struct pawl_error *e)
{
    AUTO_ARENA texts = ARENA_INIT;
    struct submitting s = {.list = arena_zalloc(&texts, (n + 1) * sizeof(*s.list)), .n = n};
    API_ERR(e);

    if (p->remote)
        return submit_remote(p, jobs, n, err);
    for (size_t i = 0; i < n; i++)
        TRY(api_submission(p, &jobs[i], &texts, &s.list[i], err));
    TRY(submit_all(p, &s, err));
    for (size_t i = 0; i < n; i++) {
        jobs[i].id = s.list[i].id;
        jobs[i].existed = s.list[i].existed;
    }
    return 0;
}
