/* play_tree.c - the rows of the store, by the paths of the model; see play_inner.h. */
#include "play_inner.h"

#include "base/env.h"
#include "core/event_effect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_id(const void *a, const void *b)
{
    const struct tree_row *x = a, *y = b;

    return (x->id > y->id) - (x->id < y->id);
}

const struct tree_row *find_id(const struct tree *t, int64_t id)
{
    struct tree_row key = {.id = id};

    return bsearch(&key, t->at, t->n, sizeof(*t->at), by_id);
}

static void set_path(struct tree *t, struct tree_row *at, const char *task, int item)
{
    const struct tree_row *up = find_id(t, at->parent);

    if (!up)
        snprintf(at->path, sizeof(at->path), "w");
    else if (item >= 0)
        snprintf(at->path, sizeof(at->path), "%.100s[%d]", up->path, item);
    else
        snprintf(at->path, sizeof(at->path), "%.80s/%.20s", up->path, task);
}

/* Runs after each turn, so it reads only what is needed: query_tree reads more. */
static void read_tree(struct store *s, int64_t root, struct rows *out)
{
    static const char sql[] =
        "WITH RECURSIVE tree(id, parent, status, attempts, item, name) AS ("
        "SELECT id, parent, status, attempts, task_index, task_name FROM executions WHERE id = $1 "
        "UNION ALL "
        "SELECT e.id, e.parent, e.status, e.attempts, e.task_index, e.task_name "
        "FROM tree t JOIN executions e ON e.parent = t.id) "
        "SELECT id, COALESCE(parent, 0), status, attempts, COALESCE(item, -1), name "
        "FROM tree ORDER BY id";
    static const struct stmt stmt = {.name = "random_tree",
                                     .sql = {[DIALECT_SQLITE] = sql, [DIALECT_POSTGRES] = sql},
                                     .nscalars = 1,
                                     .types = {T_I64}};
    struct args a = {.stmt = &stmt};
    struct err err = ERR_INIT;

    args_int(&a, root);
    CHECK_OK_ERR(db_begin(store_db(s), TX_READ, &err), &err);
    CHECK_OK_ERR(db_query(store_db(s), &a, out, &err), &err);
    db_rollback(store_db(s));
    args_release(&a);
}

struct tree tree_of(struct player *p)
{
    struct rows r = ROWS_INIT;
    struct tree t = {0};
    size_t i;

    read_tree(play_store(p), p->out->root, &r);
    t.at = calloc(r.n + 1, sizeof(*t.at));
    for (i = 0; i < r.n; i++) {
        t.at[i] = (struct tree_row){.id = rows_int(&r, i, 0),
                                    .parent = rows_int(&r, i, 1),
                                    .status = (int)rows_int(&r, i, 2),
                                    .attempts = (int)rows_int(&r, i, 3)};
        set_path(&t, &t.at[i], rows_text(&r, i, 5), (int)rows_int(&r, i, 4));
        t.n++; /* its children come after it */
    }
    rows_release(&r);
    return t;
}

const struct tree_row *find_path(const struct tree *t, const char *path)
{
    size_t i;

    for (i = 0; i < t->n; i++)
        if (!strcmp(t->at[i].path, path))
            return &t->at[i];
    return NULL;
}

void compare(struct player *p)
{
    struct tree t = tree_of(p);
    struct model_node *n;
    size_t i, nodes = 0;

    for (n = p->model->all; n; n = n->next) {
        const struct tree_row *at = find_path(&t, n->path);

        nodes++;
        if (!at || at->status != (int)n->status)
            buf_addf(&p->out->wrong, "%s is %s, and %s in the model\n", n->path,
                     at ? model_words[at->status] : "not there", model_words[n->status]);
        else if (n->kind == M_JOB && at->attempts != n->starts)
            buf_addf(&p->out->wrong, "%s had %d attempts, and %d in the model\n", n->path,
                     at->attempts, n->starts);
    }
    for (i = 0; i < t.n && nodes < t.n; i++)
        if (!model_find(p->model, t.at[i].path))
            buf_addf(&p->out->wrong, "%s is %s, and not there in the model\n", t.at[i].path,
                     model_words[t.at[i].status]);
    free(t.at);
}

void compare_durations(struct player *p)
{
    /* the store's clock also advances by itself */
    int64_t real = clock_boot_us() - p->begun + SECOND, off;
    struct execution_list l = {0};
    struct tree t = tree_of(p);
    struct err err = ERR_INIT;
    size_t i;

    model_note_times(p->model);
    CHECK_OK_ERR(query_tree(play_store(p), p->out->root, &l, &err), &err);
    for (i = 0; i < l.n; i++) {
        const struct tree_row *at = find_id(&t, l.at[i].id);
        const struct model_node *n = at ? model_find(p->model, at->path) : NULL;
        int64_t ran = execution_duration(&l.at[i].state, 0); /* -1 if it never started */

        off = n ? (ran > 0 ? ran : 0) - n->ran : 0;
        if (off < 0 || off > real)
            buf_addf(&p->out->wrong, "%s ran for %lld s, and for %lld s in the model\n", at->path,
                     (long long)(ran / SECOND), (long long)(n->ran / SECOND));
    }
    execution_list_release(&l);
    free(t.at);
}
