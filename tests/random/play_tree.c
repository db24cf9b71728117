/* play_tree.c - what is in the store, by the paths of the model; see play_inner.h. */
#include "play_inner.h"

#include "store/query.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_id(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    return (x->id > y->id) - (x->id < y->id);
}

const struct place *find_id(const struct tree *t, int64_t id)
{
    struct place key = {.id = id};

    return bsearch(&key, t->at, t->n, sizeof(*t->at), by_id);
}

static void name_place(struct tree *t, struct place *at, const char *task, int item)
{
    const struct place *up = find_id(t, at->parent);

    if (!up)
        snprintf(at->path, sizeof(at->path), "w");
    else if (item >= 0)
        snprintf(at->path, sizeof(at->path), "%.100s[%d]", up->path, item);
    else
        snprintf(at->path, sizeof(at->path), "%.80s/%.20s", up->path, task);
}

/* Children have higher ids than their parents. */
struct tree tree_of(struct player *p)
{
    struct execution_list l = {0};
    struct err err = ERR_INIT;
    struct tree t = {0};
    size_t i;

    CHECK_OK_ERR(query_tree(play_store(p), p->out->root, &l, &err), &err);
    t.at = calloc(l.n + 1, sizeof(*t.at));
    for (t.n = l.n, i = 0; i < l.n; i++)
        t.at[i] = (struct place){.nth = i,
                                 .id = l.at[i].id,
                                 .parent = l.at[i].parent,
                                 .status = l.at[i].status,
                                 .attempts = l.at[i].attempts};
    qsort(t.at, t.n, sizeof(*t.at), by_id);
    for (i = 0; i < t.n; i++)
        name_place(&t, &t.at[i], l.at[t.at[i].nth].task_name, l.at[t.at[i].nth].task_index);
    execution_list_release(&l);
    return t;
}

const struct place *find_path(const struct tree *t, const char *path)
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
        const struct place *at = find_path(&t, n->path);

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
