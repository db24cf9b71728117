/* root.c - a whole file: its keys in their order, and what can be checked only then. */
#include "parse/workflow/reader.h"

#include <stdlib.h>
#include <string.h>

static void check_root(struct reader *r, const struct yaml *root)
{
    size_t i;

    for (i = 0; i < root->n; i++) {
        const struct yaml *key = &yaml_pair(root, i)->key;

        if (key->n && !key_find(&keys_workflow, key->text)) /* an empty one is a problem already */
            reader_unknown_key(r, &keys_workflow, key, "", 0);
    }
    if (!yaml_get(root, "tasks"))
        yaml_error(r->doc, root, "the workflow has no tasks");
}

static size_t length(const char *text)
{
    return text ? strlen(text) + 20 : 0;
}

static void begin_defaults(struct reader *r)
{
    r->common->queue = r->w->queue;
    r->common->priority = r->w->priority;
    r->common->retry.max = -1;
    r->common->retry.policy.jitter = -1;
}

static void measure_defaults(struct reader *r)
{
    const struct workflow_task *c = r->common;
    size_t i;

    r->common_size = 20 + length(c->queue) + length(c->cwd) + length(c->user) +
                     length(c->executor) + length(c->container) + 4 * c->retry.policy.ncodes;
    for (i = 0; i < r->w->secrets.n; i++)
        r->common_size += length(r->w->secrets.at[i]);
}

static void read_root(struct reader *r, const struct yaml *root)
{
    const struct key *k;

    check_root(r, root);
    for (k = keys_workflow.at; k->name; k++) { /* in this order: tasks come after defaults */
        const struct yaml *node = yaml_get(root, k->name);

        r->scope = k->scope;
        if (k->type == KEY_DEFAULTS)
            begin_defaults(r);
        if (k->type == KEY_TASKS)
            measure_defaults(r);
        if (node)
            (void)reader_key(r, k, node, k->name, r->w);
    }
}

/* "nightly" of nightly.flow.yaml, unless the file says otherwise. */
static void default_name(struct reader *r, const struct yaml *root)
{
    const char *file = r->w->file ? r->w->file : "";

    r->w->name = arena_memdup0(r->arena, file, strcspn(file, "."));
    if (!yaml_get(root, "name") && !workflow_is_name(r->w->name))
        yaml_error(r->doc, root,
                   "the workflow has no name, and that of its file can't be one: begin with "
                   "name: NAME");
}

/* ---- at the end ---- */

static void finish(struct reader *r, const struct yaml *root)
{
    struct buf text = BUF_INIT;
    size_t n;
    bool whole;

    if (r->w->on_failure)
        r->w->on_failure->index = r->w->ntasks;
    if (r->w->on_exit)
        r->w->on_exit->index = r->w->ntasks + 1;
    whole = reader_check_graph(r);
    reader_check_texts(r, whole);
    if (r->doc->diagnostics->count)
        return;
    free(workflow_below(r->w, &n));
    if (n > WORKFLOW_MAX_NESTED)
        yaml_error(r->doc, root, "more than %d workflows are nested in this one",
                   WORKFLOW_MAX_NESTED);
    workflow_write(r->w, &text);
    if (text.len > WORKFLOW_MAX_TEXT)
        yaml_error(r->doc, root,
                   "with all that it nests the definition has %zu MB; at most %u "
                   "are taken",
                   text.len >> 20, WORKFLOW_MAX_TEXT >> 20);
    workflow_hash(text.ptr, text.len, r->w->hash);
    buf_release(&text);
}

void reader_root(struct reader *r, const struct yaml *root)
{
    if (!yaml_is_map(r->doc, root, "a workflow"))
        return;
    default_name(r, root);
    read_root(r, root);
    finish(r, root);
}
