/* leased_jobs.c - the table of attempts: the jobs whose leases this worker holds. The heartbeat
 * thread reads it, so every change to the map, to an epoch or to `lost` is made under the
 * heartbeat's lock. */
#include "core/graph.h"
#include "engine/engine_internal.h"

#include <stdlib.h>
#include <string.h>

struct leased_job *leased_job_get(const struct engine *e, int64_t execution)
{
    return idmap_get(&e->leased_jobs, execution);
}

void leased_job_drop(struct engine *e, struct leased_job *h)
{
    struct loop *l = loop_of(e, h->a.root);
    size_t i, kept = 0;

    for (i = 0; i < l->ended.n; i++)
        if (l->ended.at[i] != h || h->settling)
            l->ended.at[kept++] = l->ended.at[i];
    l->ended.n = kept;
    leased_job_remove(e, h);
}

struct leased_job *leased_job_add(struct engine *e, const struct execution *x,
                                  const struct spec *spec, int64_t until)
{
    struct leased_job *h = leased_job_get(e, x->id);
    size_t codes = spec->retry.ncodes * sizeof(*spec->retry.codes);
    bool is_new;

    if (h && h->a.attempt != x->attempts) { /* another worker has settled the attempt in the
                                               table */
        dispatch_forget(e->dispatch, h->a.execution, h->a.attempt);
        start_marks_drop(e->start_marks, h->a.execution, h->a.attempt);
        leased_job_drop(e, h);
        h = NULL;
    }
    is_new = !h;
    if (is_new) {
        h = mem_zalloc(sizeof(*h));
        h->a.execution = x->id;
        h->a.root = x->root;
        h->parent = x->parent;
        h->workflow = x->workflow;
        h->lane = arena_strdup(&h->own, x->lane);
        h->queue = arena_strdup(&h->own, x->queue);
        h->concurrency = arena_strdup(&h->own, x->concurrency);
        h->is_capped = (x->flags & FLAG_CAPPED) != 0;
        h->retry = spec->retry;
        if (codes)
            h->retry.codes = memcpy(arena_alloc(&h->own, codes), spec->retry.codes, codes);
    }
    pthread_mutex_lock(&e->heartbeat.lock);
    h->a.attempt = x->attempts;
    h->a.epoch = x->epoch;
    h->lost = false;
    h->readopt_until = 0;
    h->until = until;
    if (is_new)
        idmap_put(&e->leased_jobs, x->id, h);
    pthread_mutex_unlock(&e->heartbeat.lock);
    return h;
}

static void free_outcome(struct outcome *o)
{
    free((char *)o->result);
    free((char *)o->error);
}

void leased_job_remove(struct engine *e, struct leased_job *h)
{
    pthread_mutex_lock(&e->heartbeat.lock);
    idmap_remove(&e->leased_jobs, h->a.execution);
    pthread_mutex_unlock(&e->heartbeat.lock);
    if (h->settling)
        h->dropped = true;
    else
        leased_job_free(h);
}

void leased_job_free(struct leased_job *h)
{
    free_outcome(&h->outcome);
    arena_release(&h->own);
    free(h);
}

void leased_job_set_outcome(struct engine *e, struct leased_job *h, const struct outcome *o)
{
    h->a.ended = true;
    h->outcome = *o;
    h->outcome.result = mem_strdup(o->result);
    h->outcome.error = mem_strdup(o->error);
    *vec_add(&loop_of(e, h->a.root)->ended) = h;
}
