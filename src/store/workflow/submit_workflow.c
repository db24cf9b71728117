/* submit_workflow.c - submits a workflow: stores its definition under its hash and starts its
 * execution. */
#include "base/text.h"
#include "core/resolve.h"
#include "core/workflow/model.h"
#include "store/door/door.h"
#include "store/store_internal.h"
#include "store/workflow/workflow.h"

#include <jansson.h>
#include <string.h>

/* The key of a submission's definition in turn.submitted_definitions: the address of its text. */
static int64_t definition_key(const struct submission *s)
{
    return (int64_t)(intptr_t)s->definition;
}

/* Finds the stored definition whose hash the submission contains. If it is missing or unreadable,
 * the submission is refused, but the turn does not fail. */
static int find_stored_definition(struct turn *t, struct submission *s,
                                  const struct definition **out, struct err *err)
{
    int rc = definition_use(t, s->hash, NULL, NULL, err);

    if (!rc)
        rc = definition_get(t, s->hash, out, err);
    if (rc == -E_NOT_FOUND || rc == -E_INTERNAL || rc == -E_INVALID) {
        s->rc = err_set(&s->err, E_NOT_FOUND, "%s", err->msg);
        rc = 0;
    }
    return rc;
}

/* Parses the definition whose text the submission contains. */
static void find_given_definition(struct turn *t, struct submission *s,
                                  const struct definition **out)
{
    if (t->last_prepared &&
        !strcmp(t->last_prepared, s->definition)) /* if it is the text of the previous submission */
        *out = idmap_get(&t->submitted_definitions, (int64_t)(intptr_t)t->last_prepared);
    else
        s->rc = definition_from_text(t, s->definition, out, &s->err);
}

int submission_prepare_workflow(struct turn *t, struct submission *s, struct err *err)
{
    const struct definition *def = NULL;
    json_t *params;
    int rc = 0;

    s->rc = 0;
    if (!s->definition && !s->hash)
        return 0;
    if ((s->rc = resolve_read_params(s->input, &params, &s->err)))
        return 0;
    json_decref(params);
    if (s->definition)
        find_given_definition(t, s, &def);
    else
        rc = find_stored_definition(t, s, &def, err);
    if (rc || s->rc)
        return rc;
    t->last_prepared = s->definition;
    s->kind = KIND_WORKFLOW;
    s->name = def->workflow->name;
    s->task_index = -1;
    if (s->definition)
        idmap_put(&t->submitted_definitions, definition_key(s), (void *)def);
    return 0;
}

int submissions_reserve_ids(struct turn *t, const struct submission *list, size_t n,
                            struct err *err)
{
    uint32_t tasks_created = t->tasks_created;
    int64_t last = 0;
    int rc;

    for (size_t i = 0; i < n; i++) {
        const struct definition *def;

        if (list[i].rc || list[i].existed || (!list[i].definition && !list[i].hash))
            continue;
        if (list[i].definition)
            def = idmap_get(&t->submitted_definitions, definition_key(&list[i]));
        else if ((rc = definition_get(t, list[i].hash, &def, err)))
            return rc;
        tasks_created += tasks_slice_size(t, tasks_created, def->workflow->ntasks);
        last = list[i].id > last ? list[i].id : last;
    }
    return turn_reserve_ids(t, tasks_created - t->tasks_created, last, err);
}

int submission_start_workflow(struct turn *t, const struct submission *s,
                              const struct hold_reasons *h, struct err *err)
{
    const struct definition *def =
        s->definition ? idmap_get(&t->submitted_definitions, definition_key(s)) : NULL;
    struct workflow_input in = {.params_checked = s->params_checked, .holds = h};
    char due[TIME_TEXT_SIZE];
    int rc = def ? definition_use(t, def->hash, def->workflow, s->definition, err)
                 : definition_get(t, s->hash, &def, err);

    if (rc || (rc = resolve_read_params(s->input, &in.params, err)))
        return rc;
    turn_row(t, s->id)->reuse = s->reuse;
    if (s->due)
        in.due = turn_keep_json(t, json_string(text_time(s->due, due)));
    return workflow_start(t, turn_row(t, s->id), def, &in, err);
}
