/* catalogue.c - reads the catalogue of applied workflows: list, show, versions. */
#include "store/schedule/catalogue.h"
#include "api/api.h"
#include "api/schedule_answer.h"

#include <string.h>

#define MOST        1000 /* at most this many lines in the answer of one call */
#define MAX_PATTERN 1000 /* bytes */

/* ---- list ---- */

#define ROW         struct applied_row
/* The columns of a row that has an applied_row `r`. */
#define APPLIED_COLUMNS(r)                                                                     \
    {"name", TEXT(r name), NULL}, {"description", OPT_TEXT(r description), NULL},              \
        {"definition", TEXT(r hash),                                                           \
         "the hash of the definition: it changes with the definition"},                        \
        {"task_count", INT(r tasks), "without those of nested workflows"},                     \
        {"param_count", INT(r params), NULL}, {"schedule_count", INT(r schedules), NULL},      \
        {"applied_at", TIME(r applied_at),                                                     \
         "when it was last applied, even if that changed nothing"},                            \
        {"applied_by", OPT_TEXT(r applied_by), NULL},                                          \
        {"last_run", ID(r last_run),                                                           \
         "the newest execution of a workflow of this name, however it was submitted"},         \
        {"last_status", OPT_WORD(r last_status, status_text), "the status of that execution"}, \
        {"last_started_at", OPT_TIME(r last_started), NULL},                                   \
    {                                                                                          \
        "last_finished_at", OPT_TIME(r last_finished), NULL                                    \
    }
static const struct column list_columns[] = {APPLIED_COLUMNS()};
const struct noun applied_noun = {"## An applied workflow", NOUN_COLUMNS(list_columns)};
#undef ROW

static size_t lines_wanted(int64_t limit)
{
    return limit > 0 && limit < MOST ? (size_t)limit : MOST;
}

int pawl_applied_list(struct pawl *p, const struct pawl_applied_query *query, pawl_line *each,
                      void *arg, bool *more, struct pawl_error *e)
{
    AUTO_LINES lines = {.each = each, .arg = arg};
    AUTO(applied_list_release) struct applied_list l = {0};
    struct pawl_applied_query q = query ? *query : (struct pawl_applied_query){0};
    API_ERR(e);

    TRY(text_check("name pattern", q.name, MAX_PATTERN, err));
    TRY(text_check("name to start after", q.after && *q.after ? q.after : NULL, MAX_PATTERN, err));
    if (p->remote)
        return remote_applied_list(p->remote, &q, each, arg, more, err);
    TRY(query_catalogue(p->store, q.after ? q.after : "", q.name, lines_wanted(q.limit), &l, err));
    for (size_t i = 0; i < l.n && !lines.closed; i++)
        lines_add(&lines, &applied_noun, &l.at[i]);
    if (more)
        *more = l.more;
    return 0;
}

/* ---- versions ---- */

#define ROW struct applied_version
static const struct column version_columns[] = {
    {"version", INT(number), "from 1; rises each time the name gets another definition"},
    {"definition", TEXT(hash), NULL},
    {"task_count", INT(tasks), NULL},
    {"applied_at", TIME(applied_at), "when the name got this definition"},
    {"applied_by", OPT_TEXT(applied_by), NULL},
    {"current", BOOL(current), "whether the name has it now"},
};
const struct noun applied_version_noun = {"## A workflow version", NOUN_COLUMNS(version_columns)};
#undef ROW

int pawl_applied_versions(struct pawl *p, const char *name, int64_t before, int64_t limit,
                          pawl_line *each, void *arg, bool *more, struct pawl_error *e)
{
    AUTO_LINES lines = {.each = each, .arg = arg};
    AUTO(applied_version_list_release) struct applied_version_list l = {0};
    API_ERR(e);

    TRY(api_check_applied_name(name, err));
    if (p->remote)
        return remote_applied_versions(p->remote, name, before, limit, each, arg, more, err);
    TRY(query_applied_versions(p->store, name, before, lines_wanted(limit), &l, err));
    for (size_t i = 0; i < l.n && !lines.closed; i++)
        lines_add(&lines, &applied_version_noun, &l.at[i]);
    if (more)
        *more = l.more;
    return 0;
}

/* ---- show: params, tasks, the whole ---- */

static void write_type(struct json_writer *w, const void *row)
{
    json_write_text(w, param_types[((const struct workflow_param *)row)->type]);
}

#define ROW struct workflow_param
static const struct column param_columns[] = {
    {"name", TEXT(name), NULL},
    {"type", CUSTOM(write_type, "text"),
     "`string`, `number`, `integer`, `boolean`, `list` or `object`"},
    {"required", BOOL(required), "a submission must give a value, unless there is a default"},
    {"default", JSON(default_value, "any"), "null if there is none"},
    {"description", OPT_TEXT(description), NULL},
};
const struct noun applied_param_noun = {"### A param of an applied workflow",
                                        NOUN_COLUMNS(param_columns)};
#undef ROW

struct task_answer {
    const struct workflow *w;
    struct workflow_task t;
    const char *kind, *nested;
    bool is_fan_out;
};

static void write_needs(struct json_writer *w, const void *row)
{
    const struct task_answer *a = row;

    json_write_begin(w, '[');
    for (uint32_t i = 0; i < a->t.nneeds; i++)
        json_write_text(w, a->w->tasks[a->t.needs[i]].name);
    json_write_end(w, ']');
}

#define ROW struct task_answer
static const struct column task_columns[] = {
    {"name", TEXT(t.name), "`on_failure` and `on_exit` follow after the tasks"},
    {"kind", TEXT(kind),
     "`command`, `function`, `workflow`, or `executor`: one that a custom executor runs"},
    {"description", OPT_TEXT(t.description), NULL},
    {"needs", CUSTOM(write_needs, "array of texts"), "names of tasks"},
    {"if", OPT_TEXT(t.condition), "null for `success()`"},
    {"foreach", BOOL(is_fan_out), "whether it is a fan-out"},
    {"approval", BOOL(t.approval.wanted), "whether it waits for an approval"},
    {"function", OPT_TEXT(t.function), NULL},
    {"workflow", OPT_TEXT(nested), "the name of the workflow that it nests"},
    {"executor", OPT_TEXT(t.executor), "null if the routes decide"},
    {"queue", OPT_TEXT(t.queue), "null for the queue of the run"},
};
const struct noun applied_task_noun = {"### A task of an applied workflow",
                                       NOUN_COLUMNS(task_columns)};
#undef ROW

struct detail_answer {
    struct applied_row row;
    bool current;
    struct noun_rows params, schedules, tasks;
    const char *document, *source;
};

#define ROW struct detail_answer
static const struct column detail_columns[] = {
    APPLIED_COLUMNS(row.),
    {"current", BOOL(current),
     "whether the name has this definition now; schedules and the last run are those of the name, "
     "whatever version is shown"},
    {"params", LIST(params, applied_param_noun), "in the order of the file"},
    {"schedules", LIST(schedules, schedule_noun), "each as [a schedule](#a-schedule)"},
    {"tasks", LIST(tasks, applied_task_noun), "in the order of the file"},
    {"document", JSON(document, "object"), "the definition as it is stored"},
    {"source", OPT_TEXT(source),
     "the text it was last applied from, with comments, without that of nested files; null if an "
     "earlier version of Pawl applied it, or if another user's symbolic link led to the file"},
};
const struct noun applied_detail_noun = {"## An applied workflow in detail",
                                         NOUN_COLUMNS(detail_columns)};
#undef ROW

#define ROW struct definition_answer
struct definition_answer {
    struct stored_definition stored;
    struct noun_rows params;
};
static const struct column definition_columns[] = {
    {"definition", TEXT(stored.hash), "its hash"},
    {"params", LIST(params, applied_param_noun), "in the order of the file"},
    {"document", JSON(stored.definition, "object"), "the definition as it is stored"},
    {"source", OPT_TEXT(stored.source),
     "the text it was last applied from; null if it was not applied, but only submitted"},
};
const struct noun definition_noun = {"## A definition", NOUN_COLUMNS(definition_columns)};
#undef ROW

int pawl_definition_of(struct pawl *p, int64_t id, char **json, struct pawl_error *e)
{
    AUTO(stored_definition_release) struct stored_definition d = {0};
    AUTO_ARENA arena = ARENA_INIT;
    const struct workflow *w;
    API_ERR(e);

    if (p->remote)
        return remote_show(p->remote, id, "/definition", NULL, json, err);
    TRY(query_definition(p->store, id, &d, err));
    TRY(workflow_read(d.definition, strlen(d.definition), &arena, &w, err));
    *json = noun_text(&definition_noun,
                      &(struct definition_answer){d, {w->params, w->nparams, sizeof(*w->params)}});
    return 0;
}

static struct task_answer answer_task(const struct workflow *w, const struct workflow_task *t)
{
    return (struct task_answer){.w = w,
                                .t = *t,
                                .kind = t->nested           ? "workflow"
                                        : t->function       ? "function"
                                        : task_is_custom(t) ? "executor"
                                                            : "command",
                                .nested = t->nested ? t->nested->name : NULL,
                                .is_fan_out = t->foreach != NULL};
}

static struct noun_rows answer_tasks(const struct workflow *w, struct arena *arena)
{
    struct task_answer *all = arena_zalloc(arena, (w->ntasks + 2) * sizeof(*all));
    size_t n = 0;

    for (uint32_t i = 0; i < w->ntasks; i++)
        all[n++] = answer_task(w, &w->tasks[i]);
    if (w->on_failure)
        all[n++] = answer_task(w, w->on_failure);
    if (w->on_exit)
        all[n++] = answer_task(w, w->on_exit);
    return (struct noun_rows){all, n, sizeof(*all)};
}

static struct noun_rows answer_schedules(const struct schedule_list *l, struct arena *arena)
{
    struct schedule_answer *all = arena_zalloc(arena, (l->n + 1) * sizeof(*all));

    for (size_t i = 0; i < l->n; i++)
        schedule_answer(&all[i], &l->at[i], l->now);
    return (struct noun_rows){all, l->n, sizeof(*all)};
}

int pawl_applied_show(struct pawl *p, const char *name, const char *version, char **json,
                      struct pawl_error *e)
{
    AUTO(applied_detail_release) struct applied_detail d = {0};
    AUTO_ARENA arena = ARENA_INIT;
    const struct workflow *w;
    struct detail_answer a;
    API_ERR(e);

    TRY(api_check_applied_name(name, err));
    TRY(text_check_name("version", version, MAX_PATTERN, err));
    if (p->remote)
        return remote_applied_show(p->remote, name, version, json, err);
    TRY(query_applied_detail(p->store, name, version, &d, err));
    TRY(workflow_read(d.definition, strlen(d.definition), &arena, &w, err));
    a = (struct detail_answer){.row = d.row,
                               .current = d.current,
                               .params = {w->params, w->nparams, sizeof(*w->params)},
                               .schedules = answer_schedules(&d.schedules, &arena),
                               .tasks = answer_tasks(w, &arena),
                               .document = d.definition,
                               .source = d.source};
    *json = noun_text(&applied_detail_noun, &a);
    return 0;
}
