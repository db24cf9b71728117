/* play_work.c - workers: they claim, settle, are lost and are replaced; see play_inner.h. */
#include "play_inner.h"

size_t claim(struct player *p)
{
    struct act a = new_act(p, 1 + plan_below(&p->rng, 3),
                           1 + plan_below(&p->rng, p->plan->nests ? BATCHES : 8));

    do_turn(p, &a);
    work_out(p);
    note_claims(p, &a);
    return a.ngot;
}

static void fill_settlement(struct player *p, const struct running *r, struct settlement *s)
{
    static const enum outcome_kind kinds[] = {[PLAN_OK] = OUTCOME_OK,
                                              [PLAN_FAIL] = OUTCOME_FAILED,
                                              [PLAN_TIMEOUT] = OUTCOME_TIMED_OUT,
                                              [PLAN_CANCEL] = OUTCOME_CANCELLED,
                                              [PLAN_LOST] = OUTCOME_LOST,
                                              [PLAN_DEFER] = OUTCOME_DEFERRED,
                                              [PLAN_REFUSE] = OUTCOME_REFUSED};
    static const char *const results[] = {"{\"n\":1,\"list\":[]}", "{\"n\":1,\"list\":[0]}",
                                          "{\"n\":1,\"list\":[0,1]}", "{\"n\":1,\"list\":[0,1,2]}"};
    enum plan_end end = plan_end(p->plan, r->node->path, r->j.attempt);

    *s = (struct settlement){
        .lease = {.execution = r->j.id, .root = r->j.root, .epoch = r->j.epoch},
        .outcome = {.kind = kinds[end],
                    .error = end == PLAN_OK ? NULL : "it was made to fail",
                    .result = end == PLAN_OK
                                  ? results[plan_list_length(p->plan, r->node->path, r->j.attempt)]
                                  : NULL,
                    .duration = 1,
                    .retry_delay = plan_chance(&p->rng, 30) ? SECOND : 0}};
}

static void note_settled(struct player *p, const struct running *r, const struct settlement *s)
{
    static const char *const words[] = {"ok",   "failed",   "timed out", "cancelled",
                                        "lost", "deferred", "refused"};
    enum plan_end end = plan_end(p->plan, r->node->path, r->j.attempt);

    buf_addf(&p->out->trace, "end %s: %s\n", r->node->path, words[end]);
    if (s->lease.rc)
        buf_addf(&p->out->wrong, "%s could not be settled: %d\n", r->node->path, s->lease.rc);
    model_end(r->node, end, plan_list_length(p->plan, r->node->path, r->j.attempt));
    if (s->status != (int)r->node->status)
        buf_addf(&p->out->wrong, "%s was settled as %d, which is %s in the model\n", r->node->path,
                 s->status, model_words[r->node->status]);
}

/* Settles some jobs of one worker at once; it may claim in the same turn. */
void settle(struct player *p)
{
    size_t first = plan_below(&p->rng, (unsigned)p->nheld), i, k;
    int64_t worker = p->held[first].j.worker;
    unsigned most = p->plan->nests ? BATCHES : BATCH;
    size_t max = plan_chance(&p->rng, p->plan->batches) ? 1 + plan_below(&p->rng, most) : 1;
    struct act a = new_act(p, worker, plan_chance(&p->rng, 50) ? 1 + plan_below(&p->rng, 4) : 0);
    struct running done[BATCHES];

    for (i = first; i < p->nheld && a.nsettle < max; i++)
        if (p->held[i].j.worker == worker) {
            fill_settlement(p, &p->held[i], &a.settle[a.nsettle]);
            done[a.nsettle++] = p->held[i];
            p->held[i].node = NULL;
        }
    do_turn(p, &a);
    for (i = 0; i < a.nsettle; i++)
        note_settled(p, &done[i], &a.settle[i]);
    if (a.nsettle > 1)
        buf_addf(&p->out->trace, "(these %zu at once)\n", a.nsettle);
    for (k = i = 0; i < p->nheld; i++)
        if (p->held[i].node)
            p->held[k++] = p->held[i];
    p->nheld = k;
    work_out(p);
    note_claims(p, &a);
}

/* All workers but one are gone for longer than a lease; another worker adopts their jobs. */
static void lose_workers(struct player *p)
{
    struct act a;
    size_t i, k;

    if (p->nheld)
        p->stale = p->held[0].j;
    pass(p, LEASE + SECOND);
    for (k = i = 0; i < p->nheld; i++)
        if (p->held[i].j.worker == 3 && !heartbeat(play_store(p), p->held[i].j))
            p->held[k++] = p->held[i];
    p->nheld = k;
    reap(play_store(p));
    a = new_act(p, 3, HELD_MAX);
    a.adopt = true;
    do_turn(p, &a);
    note_claims(p, &a);
}

static void settle_too_late(struct player *p)
{
    if (p->stale.id && p->stale.worker != 3 &&
        settle_as(play_store(p), p->stale, OUTCOME_OK, -1) != -E_LEASE_LOST)
        buf_addstr(&p->out->wrong, "a worker settled what it had lost\n");
}

void crash(struct player *p)
{
    struct store **s = &p->ground->stores[plan_below(&p->rng, PLAY_STORES)];

    if (plan_chance(&p->rng, 30)) {
        buf_addstr(&p->out->trace, "an engine starts again\n");
        store_close(s);
        *s = playground_store();
    } else {
        buf_addstr(&p->out->trace, "workers are lost\n");
        lose_workers(p);
        settle_too_late(p);
    }
}
