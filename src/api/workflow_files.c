/* workflow_files.c - validates workflow files, and returns their JSON schema. */
#include "api/api.h"
#include "core/workflow/keys.h"
#include "parse/workflow/file.h"

#include <string.h>

/* ---- validate ---- */

static void report_diagnostics(struct diagnostics *diagnostics, pawl_problem_fn *each, void *arg)
{
    AUTO_BUF shown = BUF_INIT;

    for (size_t i = 0; each && i < diagnostics->list.n; i++) {
        const struct diagnostic *p = &diagnostics->list.at[i];

        buf_reset(&shown);
        source_show(p->source, p->line, p->column, &shown);
        each(arg, &(struct pawl_problem){.file = p->source->name,
                                         .line = p->line,
                                         .column = p->column,
                                         .message = p->sentence,
                                         .shown = buf_cstr(&shown)});
    }
}

static size_t names_executor(const struct workflow_task *t)
{
    return t && t->executor && !executor_is_built_in(t->executor);
}

static size_t count_executors(const struct workflow *w)
{
    size_t n = names_executor(w->on_failure) + names_executor(w->on_exit);

    for (uint32_t i = 0; i < w->ntasks; i++)
        n += names_executor(&w->tasks[i]);
    return n;
}

void api_describe(const struct workflow *w, struct pawl_definition *out)
{
    AUTO_FREE const struct workflow **nested = NULL;
    size_t n;

    *out = (struct pawl_definition){.tasks = w->ntasks, .schedules = w->nschedules};
    memcpy(out->hash, w->hash, sizeof(out->hash));
    stpncpy(out->name, w->name, sizeof(out->name) - 1);
    nested = workflow_below(w, &n);
    out->nested = n;
    out->executors = count_executors(w);
    for (size_t i = 0; i < n; i++)
        out->executors += count_executors(nested[i]);
}

static int validate(const struct api_source *from, pawl_problem_fn *each, void *arg,
                    struct pawl_definition *out, struct pawl_error *e)
{
    AUTO(diagnostics_release) struct diagnostics diagnostics = DIAGNOSTICS_INIT;
    AUTO_ARENA arena = ARENA_INIT;
    const struct workflow *w;
    int rc;
    API_ERR(e);

    rc = api_parse_workflow(from, &diagnostics, &arena, &w, err);
    if (diagnostics.count)
        report_diagnostics(&diagnostics, each, arg);
    else if (!rc && out)
        api_describe(w, out);
    return rc;
}

int pawl_validate(const char *file, pawl_problem_fn *each, void *arg, struct pawl_definition *out,
                  struct pawl_error *e)
{
    return validate(&(struct api_source){.file = file}, each, arg, out, e);
}

int pawl_workflow_check(struct pawl_workflow *built, pawl_problem_fn *each, void *arg,
                        struct pawl_definition *out, struct pawl_error *e)
{
    return validate(&(struct api_source){.built = built}, each, arg, out, e);
}

int pawl_workflow_load(const char *file, pawl_problem_fn *each, void *arg,
                       struct pawl_workflow **out, struct pawl_error *e)
{
    struct pawl_workflow *w = api_built_of_file(file);
    int rc = pawl_workflow_check(w, each, arg, NULL, e);

    if (rc)
        pawl_workflow_free(w);
    else
        *out = w;
    return rc;
}

/* ---- schema ---- */

char *pawl_schema(void)
{
    struct buf text = BUF_INIT;

    keys_schema(&text);
    return text.ptr;
}
