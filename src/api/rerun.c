/* rerun.c - pawl_rerun: runs an ended execution again, in place or as a new execution. */
#include "api/api.h"
#include "base/json.h"
#include "base/text.h"
#include "core/workflow/model.h"
#include "store/operator.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static int body(struct turn *t, void *arg, struct err *err)
{
    return op_rerun(t, arg, err);
}

static size_t is_busy(void *arg)
{
    const struct rerun *r = arg;

    return r->request.rc == -E_BUSY;
}

static char *nodes_json(int64_t id, int64_t rerun_of, const struct rerun *r)
{
    struct buf b = BUF_INIT;
    struct json_writer w = JSON_WRITER(&b);
    size_t i;

    json_write_begin(&w, '{');
    json_field_i64(&w, "id", id);
    json_field_id(&w, "rerun_of", rerun_of);
    json_write_key(&w, "nodes");
    json_write_begin(&w, '[');
    for (i = 0; r && i < r->reruns.n; i++) {
        json_write_begin(&w, '{');
        json_field_i64(&w, "id", r->reruns.at[i].id);
        json_field_text(&w, "name", r->reruns.at[i].name);
        json_field_text(&w, "status", status_text(r->reruns.at[i].status));
        json_write_end(&w, '}');
    }
    json_write_end(&w, ']');
    json_write_end(&w, '}');
    return b.ptr;
}

static int rerun_in_place(struct pawl *p, int64_t id, struct rerun *r, char **json, struct err *err)
{
    int rc = api_turns(p, body, is_busy, r, err);

    if (rc == -E_INVALID && r->dry_run && r->planned)
        rc = 0;
    if (!rc && r->request.rc)
        rc = query_explain_missing(p->store, id, err);
    if (!rc && json)
        *json = nodes_json(id, 0, r);
    return rc;
}

/* ---- as a new execution ---- */

/* Copies the start of the old run: its params become the input of the new one, and if a schedule
 * started it, the new run gets the same due time. */
static int copy_variables(const char *variables, struct arena *arena, struct submission *s,
                          struct err *err)
{
    json_t *all = json_loads(variables, JSON_ALLOW_NUL, NULL);
    char *text = json_text(json_object_get(all, "params"));
    const char *due = json_string_value(json_object_get(all, "due_at"));
    struct err ignored;

    if (!all)
        return err_set(err, E_INTERNAL, "the variables of workflow %lld can't be read",
                       (long long)s->rerun_of);
    s->input = text ? arena_strdup(arena, text) : NULL;
    if (due && text_parse_time(due, &s->due, &ignored))
        s->due = 0;
    free(text);
    json_decref(all);
    return 0;
}

static const char *reuse_of(const struct pawl_rerun *how, struct arena *arena)
{
    struct buf b = BUF_INIT;
    struct json_writer w = JSON_WRITER(&b);
    const char *kept;

    if (!how->failed && !how->from)
        return NULL;
    json_write_begin(&w, '{');
    if (how->from)
        json_field_text(&w, "from", how->from);
    else {
        json_write_key(&w, "failed");
        json_write_bool(&w, true);
    }
    json_write_end(&w, '}');
    kept = arena_strdup(arena, buf_cstr(&b));
    buf_release(&b);
    return kept;
}

static int check_task(const char *definition, const char *name, struct err *err)
{
    struct arena arena = ARENA_INIT;
    const struct workflow *w;
    const struct workflow_task *task;
    int rc = workflow_read(definition, strlen(definition), &arena, &w, err);

    if (!rc && (!(task = workflow_task(w, name)) || task->index >= w->ntasks))
        rc = workflow_no_task(w, name, err);
    arena_release(&arena);
    return rc;
}

/* The queue of the new run: that of the old one. A foreground run gets its own queue again if the
 * new one is a foreground run, too; else the default queue. */
static const char *queue_of(const char *old, bool foreground)
{
    if (strncmp(old, QUEUE_FOREGROUND, strlen(QUEUE_FOREGROUND)) != 0)
        return old;
    return foreground ? QUEUE_FOREGROUND : NULL;
}

static int rerun_as_new(struct pawl *p, int64_t id, const struct pawl_rerun *how, char **json,
                        struct err *err)
{
    struct submission s = {.rerun_of = id, .task_index = -1};
    struct arena texts = ARENA_INIT;
    struct api_source from = {.file = how->file};
    struct workflow_start_info old;
    int rc;

    if ((rc = query_workflow_start_info(p->store, id, &texts, &old, err)) ||
        (rc = copy_variables(old.variables, &texts, &s, err)))
        goto done;
    s.queue = queue_of(old.queue, how->here);
    s.priority = old.priority;
    s.reuse = reuse_of(how, &texts);
    from.text = old.definition;
    if ((rc = api_workflow(&from, how->params, &s, &texts, err)) ||
        (how->from && (rc = check_task(s.definition, how->from, err))))
        goto done;
    if (!how->dry_run && (rc = api_submit_one(p, &s, err)))
        goto done;
    if (json)
        *json = nodes_json(s.id, id, NULL);
done:
    arena_release(&texts);
    return rc;
}

int pawl_rerun(struct pawl *p, int64_t id, const struct pawl_rerun *how, char **json,
               struct pawl_error *e)
{
    char *user = how->by ? NULL : api_user();
    struct rerun r = {
        .request = {.execution = id, .by = how->by ? how->by : user, .reason = how->reason},
        .what = how->from     ? RERUN_FROM_TASK
                : how->failed ? RERUN_ONLY_FAILED
                              : RERUN_WHOLE,
        .from = how->from,
        .dry_run = how->dry_run};
    struct err err = ERR_INIT;
    int rc = api_check_who(how->by, how->reason, &err);

    if (!rc && how->failed && how->from)
        rc = err_set(&err, E_INVALID,
                     "rerun either the failed tasks or one task with its followers, not both");
    if (!rc)
        rc = how->file || (how->params && *how->params) ? rerun_as_new(p, id, how, json, &err)
                                                        : rerun_in_place(p, id, &r, json, &err);
    rerun_release(&r);
    free(user);
    return api_end(rc, &err, e);
}
