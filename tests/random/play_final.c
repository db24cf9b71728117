/* play_final.c - the values that on_failure and on_exit can refer to: their variables TASKS and
 * WORKFLOW have the status, outputs and error of all tasks, and of all items of a fan-out, and the
 * status of the workflow; see play_inner.h. */
#include "play_inner.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

/* The environment in the spec of a job; the caller releases it. */
static json_t *read_env(struct store *s, int64_t id)
{
    static const char sql[] = "SELECT spec FROM executions WHERE id = $1";
    static const struct stmt stmt = {.name = "random_spec",
                                     .sql = {[DIALECT_SQLITE] = sql, [DIALECT_POSTGRES] = sql},
                                     .nscalars = 1,
                                     .types = {T_I64}};
    struct args a = {.stmt = &stmt};
    struct rows r = ROWS_INIT;
    struct err err = ERR_INIT;
    json_t *spec, *env;

    args_int(&a, id);
    CHECK_OK_ERR(db_begin(store_db(s), TX_READ, &err), &err);
    CHECK_OK_ERR(db_query(store_db(s), &a, &r, &err), &err);
    db_rollback(store_db(s));
    args_release(&a);
    spec = json_loads(rows_text(&r, 0, 0), 0, NULL);
    env = json_incref(json_object_get(spec, "env"));
    json_decref(spec);
    rows_release(&r);
    return env;
}

static void compare_word(struct player *p, const struct model_node *n, const char *of,
                         const json_t *got, enum model_status want)
{
    const char *word = json_string_value(got);

    if (!word || strcmp(word, model_words[want]) != 0)
        buf_addf(&p->out->wrong, "for %s, %s is %s, and %s in the model\n", n->path, of,
                 word ? word : "unknown", model_words[want]);
}

static void compare_item(struct player *p, const struct model_node *n, const char *of,
                         const struct model_node *fan_out, const json_t *got, int nth);

/* The outputs of a job that succeeded, of a fan-out that has started, or {}. */
static void compare_outputs(struct player *p, const struct model_node *n, const char *of,
                            const struct model_node *task, const json_t *got)
{
    bool items = task->kind == M_FAN_OUT && task->children;
    const json_t *list = items ? got : json_object_get(got, "list");
    int want = items                                                ? task->nchildren
               : task->kind == M_JOB && task->status == M_SUCCEEDED ? task->list
                                                                    : -1;
    int have = json_is_array(list) ? (int)json_array_size(list) : -1, i;

    if (have != want || (want < 0 && (!json_is_object(got) || json_object_size(got))))
        buf_addf(&p->out->wrong, "for %s, the outputs of %s have %d values, and %d in the model\n",
                 n->path, of, have, want);
    for (i = 0; items && i < have && i < want; i++)
        compare_item(p, n, of, task, json_array_get(list, (size_t)i), i);
}

/* A task that failed has an error; one that succeeded or was skipped has none. */
static void compare_error(struct player *p, const struct model_node *n, const char *of,
                          enum model_status status, const json_t *got)
{
    bool failed = status == M_FAILED || status == M_TIMED_OUT;

    if (status != M_CANCELLED && (failed ? !json_is_string(got) : !json_is_null(got)))
        buf_addf(&p->out->wrong, "for %s, %s is %s and has %s error\n", n->path, of,
                 model_words[status], failed ? "no" : "an");
}

/* An item that was not created, because its fan-out was stopped, counts as cancelled. */
static void compare_item(struct player *p, const struct model_node *n, const char *of,
                         const struct model_node *fan_out, const json_t *got, int nth)
{
    const struct model_node *item = fan_out->children[nth];
    enum model_status status = item ? item->status : M_CANCELLED;
    const json_t *value = json_object_get(got, "item");
    const char *key = fan_out->task->bad >> nth & 1 ? "b" : "a";
    char name[160];

    snprintf(name, sizeof(name), "%s[%d]", of, nth);
    compare_word(p, n, name, json_object_get(got, "status"), status);
    compare_error(p, n, name, status, json_object_get(got, "error"));
    if (item)
        compare_outputs(p, n, name, item, json_object_get(got, "outputs"));
    if (fan_out->task->each == PLAN_LIST)
        value = json_object_get(value, key);
    if (!json_is_integer(value) || json_integer_value(value) != nth)
        buf_addf(&p->out->wrong, "for %s, %s has another item\n", n->path, name);
}

void compare_final_task(struct player *p, int64_t id, const struct model_node *n)
{
    const struct model_node *up = n->parent;
    int all = up && up->kind == M_WORKFLOW ? up->workflow->ntasks : 0, i;
    json_t *env, *tasks;
    char name[16];

    if (!all || (n != up->children[all] && n != up->children[all + 1]))
        return;
    env = read_env(play_store(p), id);
    tasks = json_loads(json_string_value(json_object_get(env, "TASKS")), 0, NULL);
    compare_word(p, n, "the workflow", json_object_get(env, "WORKFLOW"), model_end_status(up));
    if ((int)json_object_size(tasks) != all)
        buf_addf(&p->out->wrong, "for %s, there are %zu tasks instead of %d\n", n->path,
                 json_object_size(tasks), all);
    for (i = 0; i < all; i++) {
        const char *task = plan_name(up->workflow, i, name);
        const json_t *got = json_object_get(tasks, task);

        compare_word(p, n, task, json_object_get(got, "status"), up->children[i]->status);
        compare_error(p, n, task, up->children[i]->status, json_object_get(got, "error"));
        compare_outputs(p, n, task, up->children[i], json_object_get(got, "outputs"));
    }
    json_decref(tasks);
    json_decref(env);
}
