/* play.c - see play.h. */
#include "play_inner.h"

#include "base/env.h"
#include "parse/workflow/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RERUNS 3

/* Power cuts are not part of this test, so writes need not be durable. */
struct store *playground_store(void)
{
    struct store_options options = {.env = fixture_env()};
    struct err err = ERR_INIT;
    struct store *s = NULL;
    char url[4200];

    snprintf(url, sizeof(url), "%s%s", fixture_url(),
             strcmp(test_db(), "sqlite") ? "" : "?synchronous=normal");
    CHECK_OK_ERR(store_open(url, fixture_tenant(), &options, &s, &err), &err);
    return s;
}

/* A store's cache of fan-outs is useful only if the same store is used again. */
struct store *play_store(struct player *p)
{
    bool same = p->plan->nests && plan_chance(&p->rng, 80);
    struct store *s = p->ground->stores[same ? 0 : plan_below(&p->rng, PLAY_STORES)];

    store_set_workflow_options(s,
                               &(struct store_workflow_options){.notify_max = p->plan->notify_max});
    return s;
}

/* ---- from start to end ---- */

static int submit_body(struct turn *t, void *arg, struct err *err)
{
    return op_submit(t, arg, 1, err);
}

static bool write_files(const struct plan *p)
{
    struct buf text = BUF_INIT;
    char path[300];
    FILE *f;
    int i;

    for (i = 0; i < p->nworkflows; i++) {
        buf_reset(&text);
        plan_yaml(p, i, &text);
        snprintf(path, sizeof(path), "%s/w%d.flow.yaml", test_dir(), i);
        f = fopen(path, "w");
        CHECK(f && fputs(text.ptr, f) >= 0 && !fclose(f));
    }
    buf_release(&text);
    return true;
}

/* False if the workflow is invalid, as a reduced plan may be. */
static bool submit_plan(struct player *p)
{
    struct diagnostics diagnostics = DIAGNOSTICS_INIT;
    struct arena arena = ARENA_INIT;
    struct submission sub = {0};
    struct buf text = BUF_INIT;
    const struct workflow *w;
    struct err err = ERR_INIT;
    char path[300];

    write_files(p->plan);
    snprintf(path, sizeof(path), "%s/w0.flow.yaml", test_dir());
    if (!workflow_load(path, &diagnostics, &arena, &w, &err)) {
        workflow_write(w, &text);
        sub.definition = text.ptr;
        CHECK_OK_ERR(store_turn(play_store(p), submit_body, &sub, &err), &err);
        CHECK_OK_ERR(sub.rc, &sub.err);
        continue_slices(p);
    } else {
        buf_addf(&p->out->trace, "%s\n", err.msg);
    }
    p->out->root = sub.id;
    buf_release(&text);
    diagnostics_release(&diagnostics);
    arena_release(&arena);
    return sub.id != 0;
}

/* Called when there is nothing to do. False if no timer will be due either. */
static bool idle(struct player *p)
{
    if (pass(p, 2 * SECOND))
        return true;
    if (plan_chance(&p->rng, 50))
        return pass_until_due(p) || unblock_run(p);
    return unblock_run(p) || pass_until_due(p);
}

/* False if nothing is left to do. */
static bool step(struct player *p)
{
    if (plan_chance(&p->rng, p->plan->operates))
        operate_somehow(p);
    else if (plan_chance(&p->rng, p->plan->crashes))
        crash(p);
    else if (plan_chance(&p->rng, p->plan->passes))
        pass_somehow(p);
    else if (p->nheld && (p->nheld > HELD_MAX / 2 || plan_chance(&p->rng, 60)))
        settle(p);
    else if (!claim(p) && !p->nheld)
        return idle(p);
    return true;
}

static void play_to_the_end(struct player *p)
{
    int nothing = 0;

    while (!is_wrong(p) && nothing < 3 && !model_ended(p->model->root->status)) {
        nothing = step(p) ? 0 : nothing + 1;
        if (plan_chance(&p->inspect_rng, 5))
            snapshot_take(&p->snapshots, p->ground->stores[0], p->out->root);
    }
    if (!is_wrong(p) && nothing)
        buf_addstr(&p->out->wrong, "it never ends\n");
    if (!is_wrong(p) && claim(p))
        buf_addstr(&p->out->wrong, "there are jobs after the end\n");
    compare(p);
    if (!is_wrong(p))
        compare_durations(p);
}

void play(struct playground *g, const struct plan *plan, struct played *out)
{
    struct player p = {.ground = g,
                       .plan = plan,
                       .rng = {plan_mix(plan->seed, 11)},
                       .inspect_rng = {plan_mix(plan->seed, 12)},
                       .out = out,
                       .begun = clock_boot_us()};
    char codes[200];
    int i;

    *out = (struct played){.trace = BUF_INIT};
    if (!submit_plan(&p))
        return;
    p.model = model_new(plan);
    work_out(&p);
    play_to_the_end(&p);
    for (i = 0; i < RERUNS && !is_wrong(&p) && plan_chance(&p.rng, plan->reruns); i++) {
        pass(&p, (int64_t)plan_below(&p.rng, 7200) * SECOND); /* not part of any duration */
        rerun_somehow(&p);
        if (plan_chance(&p.rng, 10) && verify_count(play_store(&p), codes, sizeof(codes)))
            buf_addf(&out->wrong, "verify finds %s\n", codes);
        play_to_the_end(&p);
    }
    snapshots_compare(&p.snapshots, g->stores[0], &out->wrong);
    remove_limit(&p);
    model_free(p.model);
}

void played_release(struct played *out)
{
    buf_release(&out->trace);
    buf_release(&out->wrong);
}

void playground_open(struct playground *g)
{
    int i;

    for (i = 0; i < PLAY_STORES; i++)
        g->stores[i] = playground_store();
}

void playground_close(struct playground *g)
{
    int i;

    for (i = 0; i < PLAY_STORES; i++)
        store_close(&g->stores[i]);
}
