/* root.c - reads a whole workflow file: its keys in the order of their table, then the checks that
 * need the complete definition. */
#include "parse/workflow/reader.h"

#include "base/json.h"

#include <stdlib.h>
#include <string.h>

static void init_defaults(struct reader *r)
{
    keys_init(&keys_task, &r->w->defaults);
    r->w->defaults.queue = r->w->queue;
    r->w->defaults.priority = r->w->priority;
}

/* Estimates the bytes that the defaults and the workflow's secrets add to the canonical text of
 * each task. */
static void measure_defaults(struct reader *r)
{
    struct workflow_task added = r->w->defaults;
    AUTO_BUF text = BUF_INIT;
    struct json_writer w = JSON_WRITER(&text);

    added.command.env = NULL;
    added.command.nenv = 0;
    added.command.secrets = r->w->secrets.at;
    added.command.nsecrets = r->w->secrets.n;
    keys_write(&w, &keys_task, &added);
    r->common_size = text.len + 20;
}

static void read_root(struct reader *r, const struct yaml *root)
{
    const struct key *k;

    (void)reader_known_keys(r, &keys_workflow, root, "");
    if (!yaml_get(root, "tasks"))
        yaml_error(r->doc, root, "the workflow has no tasks");
    /* In the order of the table, in which defaults come before tasks. */
    KEYS_EACH(&keys_workflow, k)
    {
        const struct yaml *node = yaml_get(root, k->name);

        r->scope = k->scope;
        if (k->type == KEY_DEFAULTS)
            init_defaults(r);
        if (k->type == KEY_TASKS)
            measure_defaults(r);
        if (node)
            (void)reader_key(r, k, node, k->name, r->w);
    }
    reader_defaults_of(r, &keys_workflow, r->w, false);
}

/* Names the workflow after its file, such as "nightly" for nightly.flow.yaml. The key `name`
 * overrides this name. */
static void default_name(struct reader *r, const struct yaml *root)
{
    const char *file = r->w->file ? r->w->file : "";

    r->w->name = arena_memdup0(r->arena, file, strcspn(file, "."));
    if (!yaml_get(root, "name") && !workflow_is_name(r->w->name))
        yaml_error(r->doc, root,
                   "the workflow has no name, and its file name can't be used as one: add "
                   "`name: NAME`");
}

/* ---- final checks ---- */

static void finish(struct reader *r, const struct yaml *root)
{
    AUTO_BUF text = BUF_INIT;
    size_t n;
    bool acyclic;

    if (r->w->on_failure)
        r->w->on_failure->index = r->w->ntasks;
    if (r->w->on_exit)
        r->w->on_exit->index = r->w->ntasks + 1;
    acyclic = reader_check_graph(r);
    reader_check_texts(r, acyclic);
    if (r->doc->diagnostics->count)
        return;
    free(workflow_below(r->w, &n));
    if (n > WORKFLOW_MAX_NESTED)
        yaml_error(r->doc, root, "more than %d workflows are nested in this workflow",
                   WORKFLOW_MAX_NESTED);
    workflow_write(r->w, &text);
    if (text.len > WORKFLOW_MAX_TEXT)
        yaml_error(r->doc, root,
                   "the definition with all nested workflows is %zu MB long; at most %u MB are "
                   "allowed",
                   text.len >> 20, WORKFLOW_MAX_TEXT >> 20);
    workflow_hash(text.ptr, text.len, r->w->hash);
}

void reader_root(struct reader *r, const struct yaml *root)
{
    if (!yaml_is_map(r->doc, root, "the workflow"))
        return;
    default_name(r, root);
    read_root(r, root);
    finish(r, root);
}
