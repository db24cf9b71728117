/* rerun.c - pawl_rerun: runs an ended execution again, in place or as a new execution. */
#include "api/api.h"
#include "base/json.h"
#include "base/text.h"
#include "core/workflow/model.h"
#include "store/operator.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

TURN_BODY(body, op_rerun)

struct answer {
    int64_t id, rerun_of;
    struct noun_rows nodes;
};

#define ROW struct rerun_row
static const struct column node_columns[] = {
    {"id", INT(id), NULL},
    {"name", TEXT(name), NULL},
    {"status", WORD(status, status_text), "its status before the rerun"},
};
const struct noun rerun_node_noun = {"### nodes", NOUN_COLUMNS(node_columns)};
#undef ROW

#define ROW struct answer
static const struct column columns[] = {
    {"id", INT(id), "the execution that runs; 0 for a new one that --dry-run did not create"},
    {"rerun_of", ID(rerun_of), "for a new execution: the one that it is a rerun of"},
    {"nodes", LIST(nodes, rerun_node_noun),
     "executions that run again, with all their descendants; empty for a new execution"},
};
const struct noun rerun_noun = {"## A rerun", NOUN_COLUMNS(columns)};

static char *nodes_json(int64_t id, int64_t rerun_of, const struct rerun *r)
{
    struct answer a = {.id = id, .rerun_of = rerun_of};

    if (r)
        a.nodes = (struct noun_rows){r->reruns.at, r->reruns.n, sizeof(*r->reruns.at)};
    return noun_text(&rerun_noun, &a);
}

static int rerun_in_place(struct pawl *p, int64_t id, struct rerun *r, char **json, struct err *err)
{
    int rc = api_turns(p, body, api_request_busy, r, err);

    if (rc && !(rc == -E_INVALID && r->dry_run && r->planned))
        return rc;
    if (r->request.rc)
        TRY(query_explain_missing(p->store, id, err));
    if (json)
        *json = nodes_json(id, 0, r);
    return 0;
}

/* ---- as a new execution ---- */

/* Starts the new run like the old one: the old params become its input, and if a schedule started
 * the old run, the new one gets the same due time. */
static int copy_variables(const char *variables, struct arena *arena, struct submission *s,
                          struct err *err)
{
    json_auto_t *all = json_loads(variables, JSON_ALLOW_NUL, NULL);
    const char *due = json_string_value(json_object_get(all, "due_at"));
    struct err ignored;

    if (!all)
        return err_set(err, E_INTERNAL,
                       "the stored variables of workflow %lld are not valid JSON: restore the "
                       "database from a backup",
                       (long long)s->rerun_of);
    s->input = json_arena_text(json_object_get(all, "params"), arena);
    if (due && text_parse_time(due, &s->due, &ignored))
        s->due = 0;
    return 0;
}

/* Returns the document that says which results of the old run the new one keeps. */
static const char *reuse_of(const struct pawl_rerun *how, struct arena *arena)
{
    AUTO_BUF from = BUF_INIT;

    if (!how->from)
        return how->failed ? "{\"failed\":true}" : NULL;
    json_quote(&from, how->from, strlen(how->from));
    return arena_printf(arena, "{\"from\":%s}", from.ptr);
}

static int check_task(const char *definition, const char *name, struct err *err)
{
    AUTO_ARENA arena = ARENA_INIT;
    const struct workflow *w;
    const struct workflow_task *task;

    TRY(workflow_read(definition, strlen(definition), &arena, &w, err));
    task = workflow_task(w, name);
    return task && task->index < w->ntasks ? 0 : workflow_no_task(w, name, err);
}

/* Returns the queue for the new run: the old run's, unless that was the private queue of a
 * foreground run. Then a new foreground run gets a private queue, too, and any other run the
 * default queue. */
static const char *queue_of(const char *old, bool foreground)
{
    if (strncmp(old, QUEUE_FOREGROUND, strlen(QUEUE_FOREGROUND)) != 0)
        return old;
    return foreground ? QUEUE_FOREGROUND : NULL;
}

static int rerun_as_new(struct pawl *p, const struct request *request, const struct pawl_rerun *how,
                        char **json, struct err *err)
{
    int64_t id = request->execution;
    struct submission s = {.rerun_of = id, .task_index = -1, .by = request->by};
    AUTO_ARENA texts = ARENA_INIT;
    struct api_source from = {.file = how->file, .text = how->document};
    struct workflow_start_info old;

    TRY(query_workflow_start_info(p->store, id, &texts, &old, err));
    TRY(copy_variables(old.variables, &texts, &s, err));
    s.queue = queue_of(old.queue, how->here);
    s.priority = old.priority;
    s.reuse = reuse_of(how, &texts);
    if (!from.text)
        from.text = old.definition;
    TRY(api_workflow(&from, how->params, &s, &texts, err));
    if (how->from)
        TRY(check_task(s.definition, how->from, err));
    if (!how->dry_run)
        TRY(api_submit_one(p, &s, err));
    if (json)
        *json = nodes_json(s.id, id, NULL);
    return 0;
}

struct rerunning {
    struct rerun r;
    const struct pawl_rerun *how;
    char **json;
};

/* The file is read here: a server has other files. */
static int rerun_remote(struct pawl *p, int64_t id, const struct pawl_rerun *how, char **json,
                        struct err *err)
{
    AUTO_ARENA arena = ARENA_INIT;
    AUTO_BUF document = BUF_INIT;
    const struct workflow *w;

    if (how->file) {
        TRY(api_load_workflow(&(struct api_source){.file = how->file}, &arena, &w, err));
        workflow_write(w, &document);
    }
    return remote_rerun(p->remote, id, how, document.ptr, json, err);
}

static int rerun(struct pawl *p, void *arg, struct err *err)
{
    struct rerunning *a = arg;
    int64_t id = a->r.request.execution;

    if (a->how->failed && a->how->from)
        return err_set(err, E_INVALID,
                       "rerun either the failed tasks or one task with its followers, not both");
    if (p->remote)
        return rerun_remote(p, id, a->how, a->json, err);
    if (a->how->file || a->how->document || (a->how->params && *a->how->params))
        return rerun_as_new(p, &a->r.request, a->how, a->json, err);
    return rerun_in_place(p, id, &a->r, a->json, err);
}

int pawl_rerun(struct pawl *p, int64_t id, const struct pawl_rerun *how, char **json,
               struct pawl_error *e)
{
    struct rerunning a = {.r = {.request = {.execution = id, .by = how->by, .reason = how->reason},
                                .what = how->from     ? RERUN_FROM_TASK
                                        : how->failed ? RERUN_ONLY_FAILED
                                                      : RERUN_WHOLE,
                                .from = how->from,
                                .dry_run = how->dry_run},
                          .how = how,
                          .json = json};
    int rc = api_request(p, &a.r.request.by, how->reason, rerun, &a, e);

    rerun_release(&a.r);
    return rc;
}
