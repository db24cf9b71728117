/* open.c - opens an engine (its database, its file in the state folder, its dispatcher), and closes
 * it so that other workers find what it leaves. */
#include "engine/engine_internal.h"

#include "store/driver/url.h"
#include "store/generation.h"

#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#define DEFAULT_LEASE      30000000LL
#define DEFAULT_HOST_GRACE 300000000LL
#define PATIENCE           (86400 * 1000000LL) /* µs; databases may be down for hours */

static void copy_options(struct engine *e, const struct engine_options *o)
{
    static const char *const default_queues[] = {"default", NULL};

    e->o = *o;
    e->o.url = arena_strdup(&e->own, o->url);
    e->o.tenant = arena_strdup(&e->own, o->tenant);
    e->o.state = arena_strdup(&e->own, o->state);
    e->o.host = arena_strdup(&e->own, o->host ? o->host : "localhost");
    e->o.version = arena_strdup(&e->own, o->version ? o->version : "");
    e->o.queues = o->queues ? o->queues : default_queues;
    e->o.lease = o->lease > 0 ? o->lease : DEFAULT_LEASE;
    e->o.heartbeat = o->heartbeat > 0 ? o->heartbeat : e->o.lease / 3;
    e->o.host_grace = o->host_grace > 0 ? o->host_grace : DEFAULT_HOST_GRACE;
    for (size_t i = 0; !o->foreground && e->o.queues[i]; i++)
        *vec_add(&e->queues) = mem_strdup(e->o.queues[i]);
    if (o->foreground && o->tree) {
        char name[QUEUE_FOREGROUND_SIZE];

        *vec_add(&e->queues) = mem_strdup(queue_foreground(o->tree, name));
        e->foreground_root = o->tree;
    }
    e->own_queues = e->queues.n;
    e->o.queues = NULL;
    e->env = o->env ? o->env : &e->own_env;
}

static int open_store(struct engine *e, struct err *err)
{
    struct store_options options = {.is_checked = e->o.is_checked,
                                    .env = e->env,
                                    .patience = PATIENCE,
                                    .wait_to_connect = PATIENCE,
                                    .share = e->o.share};
    char id[STORE_ID_SIZE];
    int rc;

    if ((rc = store_open(e->o.url, e->o.tenant, &options, &e->store, err)) ||
        (rc = store_identity(e->store, id, &e->generation, err)) ||
        (rc = state_folder_open(e->o.state, id, e->generation, e->row.id, &e->state_folder, err)) ||
        (rc = engine_check_owners(e, err)) ||
        (e->foreground_root &&
         (rc = state_folder_set_foreground(e->state_folder, e->foreground_root, err))))
        return rc;
    e->start_marks = start_marks_new(state_folder_own_file(e->state_folder), e->generation);
    if (start_marks_begin(e->start_marks))
        return state_folder_error(err, "write this worker's file in",
                                  state_folder_dir(e->state_folder));
    e->server = !store_db(e->store)->driver->one_writer;
    /* While this worker can't reach the database, other hosts may adopt its jobs: a turn must not
     * wait so long that this worker fails to notice that it has to end. */
    if (e->server)
        store_set_patience(e->store, e->o.host_grace / 4);
    e->row.folder = state_folder_id(e->state_folder);
    if (e->server)
        store_set_wake(e->store, engine_wake, e);
    if ((rc = loops_open(e, err)) || (rc = connections_open(e, err)))
        return rc;
    return loops_start(e, err);
}

int engine_open(const struct engine_options *options,
                int (*make_dispatch)(void *arg, const struct engine_dispatch_setup *setup,
                                     struct dispatch **out, struct err *err),
                void *arg, struct engine **out, struct err *err)
{
    AUTO(engine_close) struct engine *e = mem_zalloc(sizeof(*e));
    struct engine_dispatch_setup setup;
    int rc;

    e->epoll = epoll_create1(EPOLL_CLOEXEC);
    e->heartbeat.fd = e->heartbeat.requests = e->threads.fd = -1;
    copy_options(e, options);
    pthread_mutex_init(&e->heartbeat.lock, NULL);
    e->row = (struct worker){
        .id = env_random_id(), .host = e->o.host, .version = e->o.version, .pid = (int)getpid()};
    if ((rc = open_store(e, err)))
        return rc;
    setup = (struct engine_dispatch_setup){
        .dir = state_folder_dir(e->state_folder),
        .old_dirs = state_folder_old_dirs(e->state_folder),
        .lease = e->o.lease,
        .marks = e->start_marks,
        .dispatch = {.attempts = &e->leased_jobs, .report = engine_report, .arg = e},
        .fence = e->server ? e->o.host_grace / 2 : 0};
    if ((rc = make_dispatch(arg, &setup, &e->dispatch, err)))
        return rc;
    e->healthy_since = e->last_tick = e->last_poll_at = engine_now(e);
    if ((rc = worker_row_register(e, err)) || (rc = heartbeat_open(e, err)) ||
        (rc = engine_watch(e, dispatch_fd(e->dispatch), err)) ||
        (rc = engine_watch(e, state_folder_fd(e->state_folder), err)) ||
        (rc = engine_watch(e, e->heartbeat.fd, err)) ||
        (rc = engine_watch(e, e->threads.fd, err)) || (rc = engine_watch(e, e->listener->fd, err)))
        return rc;
    e->groups_to_poll = UINT64_MAX;
    e->next_due_unknown = e->dead_workers_unchecked = true;
    e->adopt = true;
    (void)state_folder_scan(e->state_folder);
    *out = e;
    e = NULL;
    return 0;
}

static void free_jobs_and_queues(struct engine *e)
{
    struct leased_job *h;

    for (size_t at = 0; (h = idmap_next(&e->leased_jobs, &at)); at = 0)
        leased_job_remove(e, h);
    while (e->queues.n)
        free((char *)e->queues.at[--e->queues.n]);
}

/* Answers the submitters whose submissions were not stored. */
static void refuse_submits(struct loop *l)
{
    for (size_t i = 0; i < l->submits.n; i++) {
        struct pending_submit *p = l->submits.at[i];

        p->s.rc = err_set(&p->s.err, E_UNAVAILABLE,
                          "the engine was closed before the submission could be stored");
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

    if (!e)
        return;
    e->closing = true;
    loops_close(e);
    for (size_t i = 0; i < e->nloops; i++)
        refuse_submits(&e->loops[i]);
    nothing_left = e->leased_jobs.n == 0 && !e->left_work &&
                   !(e->store && e->foreground_root && tree_is_open(e, e->foreground_root));
    if (e->heartbeat.fd >= 0 || e->heartbeat_due)
        heartbeat_close(e);
    if (e->dispatch)
        dispatch_free(e->dispatch); /* attempts that outlive the worker keep running */
    worker_row_remove(e);
    free_jobs_and_queues(e);
    wakes_send_last(e);
    wakes_close(e);
    loops_release(e);
    store_close(&e->store);
    start_marks_free(e->start_marks);
    state_folder_close(&e->state_folder, nothing_left);
    if (e->epoll >= 0)
        close(e->epoll);
    idmap_release(&e->leased_jobs);
    vec_release(&e->queues);
    arena_release(&e->own);
    pthread_mutex_destroy(&e->heartbeat.lock);
    free(e);
    *pe = NULL;
}
