/* root.c - reads a whole file: its keys in the order of their table, then the checks that need the
 * complete definition. */
#include "parse/workflow/reader.h"

#include <stdlib.h>
#include <string.h>

static void check_root(struct reader *r, const struct yaml *root)
{
    size_t i;

    for (i = 0; i < root->n; i++) {
        const struct yaml *key = &yaml_pair(root, i)->key;

        /* The YAML reader reports empty keys. */
        if (key->n && !key_find(&keys_workflow, key->text))
            reader_unknown_key(r, &keys_workflow, key, "", 0);
    }
    if (!yaml_get(root, "tasks"))
        yaml_error(r->doc, root, "the workflow has no tasks");
}

static size_t stored_length(const char *text)
{
    return text ? strlen(text) + 20 : 0;
}

static void init_defaults(struct reader *r)
{
    r->common->queue = r->w->queue;
    r->common->priority = r->w->priority;
    r->common->retry.max = -1;
    r->common->retry.policy.jitter = -1;
}

static void estimate_defaults_size(struct reader *r)
{
    const struct workflow_task *c = r->common;
    size_t i;

    r->common_size = 20 + stored_length(c->queue) + stored_length(c->cwd) + stored_length(c->user) +
                     stored_length(c->executor) + stored_length(c->container) +
                     4 * c->retry.policy.ncodes;
    for (i = 0; i < r->w->secrets.n; i++)
        r->common_size += stored_length(r->w->secrets.at[i]);
}

static void read_root(struct reader *r, const struct yaml *root)
{
    const struct key *k;

    check_root(r, root);
    for (k = keys_workflow.at; k->name; k++) { /* in table order: defaults before tasks */
        const struct yaml *node = yaml_get(root, k->name);

        r->scope = k->scope;
        if (k->type == KEY_DEFAULTS)
            init_defaults(r);
        if (k->type == KEY_TASKS)
            estimate_defaults_size(r);
        if (node)
            (void)reader_key(r, k, node, k->name, r->w);
    }
}

/* Names the workflow after its file, "nightly" for nightly.flow.yaml; `name` overrides that. */
static void default_name(struct reader *r, const struct yaml *root)
{
    const char *file = r->w->file ? r->w->file : "";

    r->w->name = arena_memdup0(r->arena, file, strcspn(file, "."));
    if (!yaml_get(root, "name") && !workflow_is_name(r->w->name))
        yaml_error(r->doc, root,
                   "the workflow has no name, and its file name is not a valid one: add "
                   "name: NAME");
}

/* ---- final checks ---- */

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
                   "the definition with all nested workflows has %zu MB; at most %u MB are "
                   "allowed",
                   text.len >> 20, WORKFLOW_MAX_TEXT >> 20);
    workflow_hash(text.ptr, text.len, r->w->hash);
    buf_release(&text);
}

void reader_root(struct reader *r, const struct yaml *root)
{
    if (!yaml_is_map(r->doc, root, "the workflow"))
        return;
    default_name(r, root);
    read_root(r, root);
    finish(r, root);
}
