/* leased_jobs.c - the table of jobs whose leases this worker holds. The heartbeat thread reads it,
 * so every change is made under the heartbeat's lock. */
#include "engine/engine_internal.h"

#include <stdlib.h>
#include <string.h>

struct leased_job *leased_job_get(const struct engine *e, int64_t execution)
{
    return idmap_get(&e->leased_jobs, execution);
}

void leased_job_drop(struct engine *e, struct leased_job *h)
{
    struct loop *l = loop_of(e, h->root);
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
    bool fresh;

    if (h && h->attempt != x->attempts) { /* another worker has settled our attempt */
        e->leases_lost++;
        dispatch_forget(e->dispatch, h->execution, h->attempt);
        leased_job_drop(e, h);
        h = NULL;
    }
    fresh = !h;

    if (fresh) {
        h = mem_zalloc(sizeof(*h));
        h->execution = x->id;
        h->root = x->root;
        h->parent = x->parent;
        h->workflow = x->workflow;
        h->lane = mem_strdup(x->lane);
        h->queue = mem_strdup(x->queue);
        h->concurrency = mem_strdup(x->concurrency);
        h->retry = spec->retry;
        if (spec->retry.ncodes) {
            size_t size = spec->retry.ncodes * sizeof(*spec->retry.codes);
            int *codes = arena_alloc(&h->own, size);

            memcpy(codes, spec->retry.codes, size);
            h->retry.codes = codes;
        }
    }
    pthread_mutex_lock(&e->heartbeat.lock);
    h->attempt = x->attempts;
    h->epoch = x->epoch;
    h->lost = false;
    h->readopt_until = 0;
    h->until = until;
    if (fresh)
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
    idmap_remove(&e->leased_jobs, h->execution);
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
    free(h->lane);
    free(h->queue);
    free(h->concurrency);
    free(h);
}

void leased_job_set_outcome(struct engine *e, struct leased_job *h, const struct outcome *o)
{
    if (h->ended)
        return;
    h->ended = true;
    h->outcome = *o;
    h->outcome.result = mem_strdup(o->result);
    h->outcome.error = mem_strdup(o->error);
    *vec_add(&loop_of(e, h->root)->ended) = h;
}
