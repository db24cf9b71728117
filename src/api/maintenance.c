/* maintenance.c - verify and retention, for operators. */
#include "api/api.h"

#include "api/host.h"

#define SLICE 500 /* trees removed in one turn */

/* ---- verify ---- */

static void on_violation(void *arg, const struct violation *b)
{
    const struct pawl_verify_options *o = arg;

    if (o->violation)
        o->violation(o->arg, b->invariant, b->execution, b->detail);
}

static int verify_store(struct pawl *p, struct pawl_verify_options *o,
                        struct pawl_verify_result *out, struct err *err)
{
    struct verify_options v = {
        .lease = o->lease, .save = o->save, .since = o->since, .report = on_violation, .arg = o};
    struct verify_result r = {0};
    int rc = store_verify(p->store, &v, &r, err);

    out->checks = r.checks;
    out->violations = r.violations;
    out->executions = r.executions;
    out->events = r.events;
    return rc;
}

static int verify_host(struct pawl *p, struct pawl_verify_options *o,
                       struct pawl_verify_result *out, struct err *err)
{
    struct host_options h = {
        .grace = p->config->worker.host_grace, .report = on_violation, .arg = o};
    struct host_result r = {0};

    TRY(api_state(o->state, p->config, &h.state, err));
    TRY(host_verify(p->store, &h, &r, err));
    out->checks += r.checks;
    out->violations += r.violations;
    out->attempts = r.attempts;
    out->workers = r.workers;
    return 0;
}

int pawl_verify(struct pawl *p, const struct pawl_verify_options *options,
                struct pawl_verify_result *result, struct pawl_error *e)
{
    struct pawl_verify_options o = options ? *options : (struct pawl_verify_options){0};
    struct pawl_verify_result r = {0};
    API_ERR(e);

    if (o.save || o.since)
        TRY(api_needs_database(p, "a checkpoint works", err));
    if (o.host)
        TRY(api_needs_database(p, "a check of this host works", err));
    TRY(p->remote ? remote_verify(p->remote, &o, &r, err) : verify_store(p, &o, &r, err));
    if (o.host)
        TRY(verify_host(p, &o, &r, err));
    if (result)
        *result = r;
    return !r.violations ? 0
                         : err_set(err, E_VIOLATION, "%zu violation%s of the invariants",
                                   r.violations, r.violations == 1 ? "" : "s");
}

/* ---- retention ---- */

struct cleaning {
    struct retention from, to;
};

static int clean_body(struct turn *t, void *arg, struct err *err)
{
    struct cleaning *c = arg;

    return op_retain(t, &c->from, &c->to, err);
}

int pawl_cleanup(struct pawl *p, int64_t older_than, bool dry_run,
                 struct pawl_cleanup_result *result, struct pawl_error *e)
{
    struct cleaning c = {
        .from = {.older_than = older_than, .dry_run = dry_run, .max_trees = SLICE}};
    API_ERR(e);

    TRY(api_needs_database(p, "a cleanup works", err));
    do {
        TRY(store_long_turn(p->store, clean_body, &c, err));
        c.from = c.to;
    } while (c.to.more);
    if (result)
        *result = (struct pawl_cleanup_result){c.to.trees, c.to.executions, c.to.events};
    return 0;
}
