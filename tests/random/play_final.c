/* play_final.c - the values that on_failure and on_exit can refer to: their variables TASKS and
 * WORKFLOW have the statuses of all tasks and of the workflow; see play_inner.h. */
#include "play_inner.h"

#include <jansson.h>
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

        compare_word(p, n, task, json_object_get(json_object_get(tasks, task), "status"),
                     up->children[i]->status);
    }
    json_decref(tasks);
    json_decref(env);
}
