/* follow_runs.c - starts the workflows that follow a run (`on: workflow`). The turn that ends the
 * run writes a submission for each of them, with the params that it gets, so the run starts exactly
 * once, whatever happens afterwards; an engine creates the execution from it, as from any SQL
 * submission (ops/sql_submissions.h).
 *
 * A follower whose params can't be computed, or that would continue a chain of CHAIN_MAX runs, is
 * refused: the submission says why, and the run that ended is not affected. */
#include "store/store_internal.h"
#include "store/workflow/workflow.h"

#include "base/json.h"
#include "core/resolve.h"

#include <jansson.h>
#include <string.h>

#define CHAIN_MAX 32 /* runs that start each other, so that a cycle of workflows ends */

/* A row of workflow_triggers. */
struct follower {
    const char *source, *workflow;
    int statuses;
};

int follow_statuses(const struct workflow_follow *f)
{
    static const int bits[] = {
        [END_SUCCEEDED] = 1 << S_SUCCEEDED,
        [END_FAILED] = 1 << S_FAILED,
        [END_TIMED_OUT] = 1 << S_TIMED_OUT,
        [END_CANCELLED] = 1 << S_CANCELLED,
        [END_ANY] = 1 << S_SUCCEEDED | 1 << S_FAILED | 1 << S_TIMED_OUT | 1 << S_CANCELLED,
    };
    return bits[f->status];
}

/* ---- who follows ---- */

/* Reads the followers again if something has changed since they were read. */
static int refresh_followers(struct turn *t, struct err *err)
{
    struct store *s = t->store;
    AUTO_ROWS r = ROWS_INIT;
    int64_t version = 0;

    TRY(settings_find_version(t, &version, err));
    if (version == s->followers.version)
        return 0;
    s->followers.version = 0;
    s->followers.n = 0;
    arena_reset(&s->followers.arena);
    if (version > SETTINGS_FIRST_VERSION)
        TRY(ask(t->db, &r, err, Q_TRIGGERS_ALL));
    s->followers.at = arena_zalloc(&s->followers.arena, (r.n + 1) * sizeof(*s->followers.at));
    for (size_t i = 0; i < r.n; i++)
        rows_read(&r, i, 0, &s->followers.arena, &s->followers.at[i].source,
                  &s->followers.at[i].workflow, &s->followers.at[i].statuses);
    s->followers.n = r.n;
    s->followers.version = version;
    return 0;
}

/* ---- what expressions see of the run ---- */

static json_t *json_or_object(const char *text)
{
    json_t *v = text ? json_loads(text, JSON_ALLOW_NUL, NULL) : NULL;

    return v ? v : json_object();
}

static int build_trigger(struct turn *t, struct row *row, json_t **out, struct err *err)
{
    const struct execution *e = &row->now;
    struct workflow_state *f = NULL;
    json_t *params, *v;

    TRY(workflow_state_get(t, e->id, e->root, &f, err));
    params = f ? json_object_get(f->variables, "params") : NULL;
    *out = v =
        turn_keep_json(t, json_pack("{s:s, s:I, s:s, s:s?}", "workflow", e->name, "execution",
                                    (json_int_t)e->id, "status", status_text(e->status), "error",
                                    row->outcome_changed ? e->error : NULL));
    json_object_set_new(v, "params", params ? json_incref(params) : json_object());
    json_object_set_new(v, "outputs", json_or_object(row->outcome_changed ? e->result : NULL));
    return 0;
}

/* ---- the submission ---- */

struct following {
    struct row *row;
    json_t *trigger;
    int chain;
};

/* Evaluates the params of one trigger; *why is the reason if it is refused. */
static const char *find_params(struct turn *t, const struct following *g,
                               const struct definition *def, size_t number, const char **why)
{
    struct err refused = ERR_INIT;
    json_auto_t *params = NULL;
    const char *text;

    if (g->chain > CHAIN_MAX) {
        err_set(&refused, E_REFUSED,
                "%d runs have started each other: remove the cycle from the `on: workflow` of %s, "
                "or submit it yourself",
                CHAIN_MAX, def->workflow->name);
    } else if (!resolve_trigger(def->templates, def->templates->follows[number], g->trigger,
                                &params, &refused)) {
        text = json_arena_text(params, &t->arena);
        if (!json_check(text, strlen(text), STORE_MAX_INPUT, "the params object", &refused))
            return text;
    }
    *why = arena_strdup(&t->arena, refused.msg);
    return "{}";
}

static int submit_follower(struct turn *t, const struct following *g, const struct definition *def,
                           size_t number, struct err *err)
{
    const struct execution *e = &g->row->now;
    const char *params, *why = NULL;
    int64_t id;

    params = find_params(t, g, def, number, &why);
    TRY(turn_new_ids(t, 1, &id, err));
    t->wake |= WAKE_JOBS | WAKE_TIMERS;
    return db_queue(
        t->db, NULL, 1, err, Q_TRIGGER_SUBMISSION, id, t->now, def->workflow->name, def->hash,
        params, arena_printf(&t->arena, "workflow %s, execution %lld", e->name, (long long)e->id),
        e->id, e->seq, (int)number, g->chain, why, val_or_null(why ? t->now : 0));
}

/* Submits a workflow for each of its triggers that this end matches. The definition decides: the
 * rows of workflow_triggers only say where to look. */
static int submit_matching(struct turn *t, const struct following *g, const char *workflow,
                           struct err *err)
{
    const struct execution *e = &g->row->now;
    const struct definition *def;
    AUTO_ROWS r = ROWS_INIT;
    int rc;

    TRY(ask(t->db, &r, err, Q_TRIGGER_DEFINITION, workflow));
    if (!r.n) /* its name was deleted a moment ago */
        return 0;
    rc = definition_get(t, rows_text(&r, 0, 0), &def, err);
    if (rc == -E_INVALID || rc == -E_INTERNAL) /* damaged: nothing that uses it can run */
        return 0;
    if (rc)
        return rc;
    for (size_t i = 0; i < def->workflow->nfollows; i++) {
        const struct workflow_follow *f = &def->workflow->follows[i];

        if (!strcmp(f->name, e->name) && (follow_statuses(f) & 1 << e->status))
            TRY(submit_follower(t, g, def, i, err));
    }
    return 0;
}

int workflow_follow_run(struct turn *t, struct row *row, struct err *err)
{
    const struct execution *e = &row->now;
    struct following g = {.row = row};
    int64_t chain = 0;

    TRY(refresh_followers(t, err));
    for (size_t i = 0; i < t->store->followers.n; i++) {
        const struct follower *f = &t->store->followers.at[i];

        if (strcmp(f->source, e->name) != 0 || !(f->statuses & 1 << e->status))
            continue;
        if (!g.trigger) {
            TRY(build_trigger(t, row, &g.trigger, err));
            TRY(ask_one(t->db, INTO(&chain), err, Q_TRIGGER_CHAIN, e->id));
            g.chain = (int)chain + 1;
        }
        TRY(submit_matching(t, &g, f->workflow, err));
    }
    return 0;
}
