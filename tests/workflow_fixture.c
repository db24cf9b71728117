/* workflow_fixture.c - see workflow_fixture.h. */
#include "workflow_fixture.h"

#include <stdlib.h>
#include <unistd.h>

/* ---- workflows ---- */

const char *workflow_text(const char *yaml)
{
    struct diagnostics diagnostics = DIAGNOSTICS_INIT;
    struct arena arena = ARENA_INIT;
    struct buf shown = BUF_INIT, text = BUF_INIT;
    const struct source *source =
        diagnostics_take(&diagnostics, "test.flow.yaml", yaml, strlen(yaml));
    const struct workflow *w;
    struct err err = ERR_INIT;

    if (workflow_parse(source, NULL, &diagnostics, &arena, &w, &err)) {
        diagnostics_show(&diagnostics, &shown);
        test_fail(__FILE__, __LINE__, "%s\n%s", err.msg, buf_cstr(&shown));
    }
    workflow_write(w, &text);
    diagnostics_release(&diagnostics);
    arena_release(&arena);
    return text.ptr; /* never freed: tests are short */
}

const char *workflow_text_of_files(const char *const *files)
{
    struct diagnostics diagnostics = DIAGNOSTICS_INIT;
    struct arena arena = ARENA_INIT;
    struct buf shown = BUF_INIT, text = BUF_INIT;
    char folder[] = "/tmp/pawl-flow.XXXXXX", path[200];
    const struct workflow *w;
    struct err err = ERR_INIT;
    size_t i;
    int rc;

    CHECK(mkdtemp(folder));
    for (i = 0; files[i]; i += 2) {
        FILE *f;

        snprintf(path, sizeof(path), "%s/%s", folder, files[i]);
        f = fopen(path, "w");
        CHECK(f && fputs(files[i + 1], f) >= 0 && !fclose(f));
    }
    snprintf(path, sizeof(path), "%s/%s", folder, files[0]);
    if ((rc = workflow_load(path, &diagnostics, &arena, &w, &err)))
        diagnostics_show(&diagnostics, &shown);
    else
        workflow_write(w, &text);
    for (i = 0; files[i]; i += 2) {
        snprintf(path, sizeof(path), "%s/%s", folder, files[i]);
        unlink(path);
    }
    rmdir(folder);
    if (rc)
        test_fail(__FILE__, __LINE__, "%s\n%s", err.msg, buf_cstr(&shown));
    diagnostics_release(&diagnostics);
    arena_release(&arena);
    return text.ptr;
}

int submit_workflow_body(struct turn *t, void *arg, struct err *err)
{
    return op_submit(t, arg, 1, err);
}

int64_t submit_workflow_text(struct store *s, const char *definition, const char *params)
{
    struct submission w = {.definition = definition, .input = params};
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, submit_workflow_body, &w, &err), &err);
    CHECK_OK_ERR(w.rc, &w.err);
    free((char *)w.definition);
    return w.id;
}

int64_t submit_workflow(struct store *s, const char *yaml, const char *params)
{
    return submit_workflow_text(s, workflow_text(yaml), params);
}

int64_t task_of(struct store *s, int64_t workflow, const char *name)
{
    struct execution_list l = {0};
    struct err err = ERR_INIT;
    const char *end;
    int64_t id = 0;
    size_t i;

    CHECK_OK_ERR(query_tree(s, workflow, &l, &err), &err);
    for (i = 0; i < l.n && !id; i++) {
        end = strstr(l.at[i].name, "::");
        for (; end && strstr(end + 2, "::"); end = strstr(end + 2, "::"))
            ;
        if (end && !strcmp(end + 2, name))
            id = l.at[i].id;
    }
    execution_list_release(&l);
    return id;
}

int task_status(struct store *s, int64_t workflow, const char *name)
{
    int64_t id = task_of(s, workflow, name);

    return id ? status_of(s, id) : S_NONE;
}

const char *tree_text(struct store *s, int64_t workflow)
{
    static char shape[8192];
    struct execution_list l = {0};
    struct err err = ERR_INIT;
    size_t used = 0, i;

    CHECK_OK_ERR(query_tree(s, workflow, &l, &err), &err);
    shape[0] = 0;
    for (i = 1; i < l.n; i++) {
        const char *name =
            strrchr(l.at[i].name, ':') ? strrchr(l.at[i].name, ':') + 1 : l.at[i].name;

        used += (size_t)snprintf(shape + used, sizeof(shape) - used, "%s%s:%s", i > 1 ? " " : "",
                                 name, status_text(l.at[i].status));
    }
    execution_list_release(&l);
    return shape;
}

static int claim_body(struct turn *t, void *arg, struct err *err)
{
    static const struct lane_queue serves[] = {{"process", "default"}, {"function:f", "default"}};
    struct task_claim *k = arg;
    struct claim c = {.worker = 7,
                      .folder = "here",
                      .lease = LEASE,
                      .serves = serves,
                      .nserves = 2,
                      .max = 200,
                      .push = k->push};
    int rc = op_claim(t, &c, &k->jobs, err);
    size_t i;

    for (k->n = 0, i = 0; !rc && i < k->jobs.n; i++) {
        const struct execution *e = k->jobs.at[i];
        const char *name = strrchr(e->name, ':') + 1;

        snprintf(k->names[k->n], sizeof(k->names[0]), "%s", name);
        snprintf(k->spec, sizeof(k->spec), "%s", e->spec ? e->spec : "");
        snprintf(k->input, sizeof(k->input), "%s", e->input ? e->input : "");
        k->held[k->n++] = (struct held_job){
            .id = e->id, .root = e->root, .worker = 7, .epoch = e->epoch, .attempt = e->attempts};
    }
    return rc;
}

size_t claim_tasks(struct store *s, struct task_claim *k)
{
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, claim_body, k, &err), &err);
    return k->n;
}

int settle_task_body(struct turn *t, void *arg, struct err *err)
{
    struct task_settlement *f = arg;
    struct settlement s = {
        .lease = {.execution = f->j.id, .root = f->j.root, .epoch = f->j.epoch},
        .outcome = {.kind = f->kind,
                    .error = f->kind == OUTCOME_OK ? NULL : "it was made to fail",
                    .result = f->result,
                    .duration = 1,
                    .retry_delay = -1}};
    int rc = op_settle(t, 7, &s, 1, err);

    return rc ? rc : s.lease.rc;
}

void settle_task(struct store *s, struct held_job j, enum outcome_kind kind, const char *result)
{
    struct task_settlement f = {j, kind, result};
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, settle_task_body, &f, &err), &err);
}

struct both {
    struct task_settlement f;
    struct task_claim *k;
};

static int both_body(struct turn *t, void *arg, struct err *err)
{
    struct both *b = arg;
    int rc = settle_task_body(t, &b->f, err);

    if (rc || (rc = op_advance(t, err)))
        return rc;
    b->k->push = true;
    return claim_body(t, b->k, err);
}

void settle_and_claim(struct store *s, struct held_job j, struct task_claim *k)
{
    struct both b = {.f = {j, OUTCOME_OK, NULL}, .k = k};
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, both_body, &b, &err), &err);
    k->push = false;
}

static int settle_set_body(struct turn *t, void *arg, struct err *err)
{
    const struct task_claim *k = arg;
    struct settlement set[200];
    size_t i;
    int rc;

    for (i = 0; i < k->n; i++)
        set[i] = (struct settlement){
            .lease = {.execution = k->held[i].id,
                      .root = k->held[i].root,
                      .epoch = k->held[i].epoch},
            .outcome = {
                .kind = OUTCOME_OK, .result = "{\"n\":1}", .duration = 1, .retry_delay = -1}};
    if ((rc = op_settle(t, 7, set, k->n, err)))
        return rc;
    for (i = 0; i < k->n && !rc; i++)
        rc = set[i].lease.rc;
    return rc;
}

void run_workflows_settled_by(struct store *s,
                              int (*settle_body)(struct turn *, void *, struct err *))
{
    static struct task_claim k;
    struct err err = ERR_INIT;

    for (;;) {
        size_t fired = run_timers(s);

        if (!claim_tasks(s, &k) && !fired)
            return;
        CHECK_OK_ERR(store_turn(s, settle_body, &k, &err), &err);
    }
}

void run_workflows_in_sets(struct store *s)
{
    run_workflows_settled_by(s, settle_set_body);
}

void run_workflows(struct store *s, const char *fails)
{
    static struct task_claim k;
    char word[120];
    size_t i;

    for (;;) {
        size_t fired = run_timers(s);

        if (!claim_tasks(s, &k) && !fired)
            return;
        for (i = 0; i < k.n; i++) {
            snprintf(word, sizeof(word), " %s ", k.names[i]);
            settle_task(s, k.held[i], strstr(fails, word) ? OUTCOME_FAILED : OUTCOME_OK,
                        "{\"n\":1}");
        }
    }
}

/* ---- operator requests ---- */

struct why_query {
    enum control_verb verb;
    struct request request;
    size_t slice;
    bool more;
};

static int ask_body(struct turn *t, void *arg, struct err *err)
{
    struct why_query *a = arg;
    struct request *q = &a->request;

    switch (a->verb) {
    case CONTROL_CANCEL:
    case CONTROL_LET_FINISH:
        return op_cancel(t, q, 1, a->slice, &a->more, err);
    case CONTROL_PAUSE:
        return op_pause(t, q, 1, a->slice, &a->more, err);
    case CONTROL_RESUME:
        return op_resume(t, q, 1, a->slice, &a->more, err);
    case CONTROL_SKIP:
        return op_skip(t, q, 1, err);
    case CONTROL_APPROVE:
    case CONTROL_REJECT:
        break;
    }
    return op_approve(t, q, 1, a->verb == CONTROL_APPROVE, err);
}

int control_first_slice(struct store *s, enum control_verb verb, int64_t id, size_t slice)
{
    struct why_query a = {.verb = verb,
                          .request = {.execution = id,
                                      .by = "ada",
                                      .reason = "a test",
                                      .let_finish = verb == CONTROL_LET_FINISH},
                          .slice = slice};
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, ask_body, &a, &err), &err);
    return a.request.rc;
}

int control_execution(struct store *s, enum control_verb verb, int64_t id)
{
    return control_first_slice(s, verb, id, fixture_slice());
}
