/* open.c - opens an engine: its database, its place in the state folder, its dispatcher; and closes
 * it, so that others find what it leaves. */
#include "engine/internal.h"

#include "store/url.h"

#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#define DEFAULT_LEASE      30000000LL
#define DEFAULT_HOST_GRACE 300000000LL
#define PATIENCE           (86400 * 1000000LL) /* µs: the database may be away for long */

static void copy_options(struct engine *e, const struct engine_options *o)
{
    static const char *const usual[] = {"default", NULL};
    size_t i;

    e->o = *o;
    e->o.url = arena_strdup(&e->own, o->url);
    e->o.tenant = arena_strdup(&e->own, o->tenant);
    e->o.state = arena_strdup(&e->own, o->state);
    e->o.host = arena_strdup(&e->own, o->host ? o->host : "localhost");
    e->o.version = arena_strdup(&e->own, o->version ? o->version : "");
    e->o.queues = o->queues ? o->queues : usual;
    e->o.lease = o->lease > 0 ? o->lease : DEFAULT_LEASE;
    e->o.heartbeat = o->heartbeat > 0 ? o->heartbeat : e->o.lease / 3;
    e->o.host_grace = o->host_grace > 0 ? o->host_grace : DEFAULT_HOST_GRACE;
    for (i = 0; !o->here && e->o.queues[i]; i++)
        *vec_add(&e->queues) = mem_strdup(e->o.queues[i]);
    if (o->here && o->tree) {
        char name[QUEUE_HERE_SIZE];

        *vec_add(&e->queues) = mem_strdup(queue_here(o->tree, name));
        e->here = o->tree;
    }
    e->own_queues = e->queues.n;
    e->o.queues = NULL;
    e->env = o->env ? o->env : &e->own_env;
}

static int open_store(struct engine *e, struct err *err)
{
    struct store_options options = {.env = e->env, .patience = PATIENCE};
    char id[STORE_ID_SIZE];
    int rc;

    if ((rc = store_open(e->o.url, e->o.tenant, &options, &e->store, err)) ||
        (rc = store_identity(e->store, id, &e->generation, err)) ||
        (rc = folder_open(e->o.state, id, e->generation, e->row.id, &e->folder, err)) ||
        (e->here && (rc = folder_set_here(e->folder, e->here, err))))
        return rc;
    e->server = !store_db(e->store)->driver->one_writer;
    /* Other hosts may take over what we hold while we can't reach the database: a turn must not
     * keep the loop from noticing that this worker has to end. */
    if (e->server)
        store_set_patience(e->store, e->o.host_grace / 4);
    e->row.folder = folder_id(e->folder);
    if ((rc = loops_open(e, err)))
        return rc;
    return store_db(e->store)->driver->listen(
        store_url(e->store), e->env,
        WAKE_JOBS | WAKE_CANCEL | WAKE_TIMERS | WAKE_ORPHANS | WAKE_SUBMISSIONS, &e->listener, err);
}

int engine_open(const struct engine_options *options,
                int (*make)(void *arg, const struct engine_place *place, struct dispatch **out,
                            struct err *err),
                void *arg, struct engine **out, struct err *err)
{
    struct engine *e = mem_zalloc(sizeof(*e));
    struct engine_place place;
    int rc;

    e->epoll = epoll_create1(EPOLL_CLOEXEC);
    e->beat.fd = e->threads.fd = -1;
    copy_options(e, options);
    pthread_mutex_init(&e->beat.lock, NULL);
    e->row = (struct worker){
        .id = env_random_id(), .host = e->o.host, .version = e->o.version, .pid = (int)getpid()};
    if ((rc = open_store(e, err)))
        goto done;
    place = (struct engine_place){.dir = folder_dir(e->folder),
                                  .old = folder_old_dirs(e->folder),
                                  .lease = e->o.lease,
                                  .report = engine_report,
                                  .arg = e,
                                  .fence = e->server ? e->o.host_grace / 2 : 0};
    if ((rc = make(arg, &place, &e->dispatch, err)) || (rc = dispatch_check(e->dispatch, err)))
        goto done;
    e->healthy_since = e->last_tick = e->looked_at = engine_now(e);
    if ((rc = worker_hello(e, err)) || (rc = beat_open(e, err)) ||
        (rc = engine_watch(e, dispatch_fd(e->dispatch), err)) ||
        (rc = engine_watch(e, folder_fd(e->folder), err)) ||
        (rc = engine_watch(e, e->beat.fd, err)) || (rc = engine_watch(e, e->threads.fd, err)) ||
        (rc = engine_watch(e, e->listener->fd, err)))
        goto done;
    e->hungry = UINT64_MAX;
    e->look_for_timer = e->look_for_trees = true;
    e->adopt = true;
    (void)folder_scan(e->folder);
    *out = e;
    e = NULL;
done:
    engine_close(&e);
    return rc;
}

static void free_pending(struct engine *e)
{
    size_t i;

    for (i = 0; i < e->held.cap; i++)
        if (e->held.keys && e->held.keys[i]) {
            held_remove(e, e->held.values[i]);
            i = (size_t)-1;
        }
    while (e->queues.n)
        free((char *)e->queues.at[--e->queues.n]);
}

/* Nobody waits for an answer that never comes. */
static void refuse_submits(struct loop *l)
{
    size_t i;

    for (i = 0; i < l->submits.n; i++) {
        struct pending_submit *p = l->submits.at[i];

        p->s.rc =
            err_set(&p->s.err, E_UNAVAILABLE, "the engine was closed before it could be stored");
        if (p->done)
            p->done(p->arg, &p->s);
        free(p);
    }
    l->submits.n = 0;
}

void engine_close(struct engine **pe)
{
    struct engine *e = *pe;
    bool nothing_left;
    size_t i;

    if (!e)
        return;
    e->closing = true;
    loops_close(e);
    for (i = 0; i < e->nloops; i++)
        refuse_submits(&e->loops[i]);
    nothing_left =
        e->held.n == 0 && !e->left_some && !(e->store && e->here && tree_is_open(e, e->here));
    if (e->beat.fd >= 0 || e->beat_due)
        beat_close(e);
    if (e->dispatch)
        dispatch_free(e->dispatch); /* what outlives us runs on */
    worker_bye(e);
    vec_release(&e->beat.counters);
    arena_release(&e->beat.counter_texts);
    free_pending(e);
    if (e->listener)
        e->listener->close(e->listener);
    loops_release(e);
    store_close(&e->store);
    folder_close(&e->folder, nothing_left);
    tally_release(e);
    if (e->epoll >= 0)
        close(e->epoll);
    idmap_release(&e->held);
    vec_release(&e->queues);
    arena_release(&e->own);
    pthread_mutex_destroy(&e->beat.lock);
    free(e);
    *pe = NULL;
}
