/* threads.c - the loops of an engine and their threads; see struct loop in engine_internal.h. By
 * default there is one loop, which makes its turns on the engine's thread. On PostgreSQL there may
 * be several; each then has a thread and a connection, on which plan_execute runs. The engine's
 * thread plans the turns and handles their results, so the engine's state still belongs to one
 * thread. */
#include "base/thread.h"
#include "engine/turn/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define CLOSE_PATIENCE 2000000LL /* µs that a turn waits for the database during a close */

struct loop *loop_of(const struct engine *e, int64_t root)
{
    return &e->loops[e->threads.n ? 1 + (uint64_t)root % e->threads.n : 0];
}

size_t loop_count_commands(const struct loop *l)
{
    return l->ended.n + l->submits.n;
}

bool loop_may_claim(const struct loop *l)
{
    return l->threaded || !l->e->threads.n;
}

bool loop_may_adopt(const struct loop *l)
{
    return !l->threaded;
}

bool loops_are_idle(const struct engine *e)
{
    for (size_t i = 0; i < e->nloops; i++) {
        const struct loop *l = &e->loops[i];

        if (l->plan || l->ended.n || l->submits.n || l->logs.n || l->starts.n)
            return false;
    }
    return true;
}

void loops_set_patience(struct engine *e, int64_t us)
{
    for (size_t i = 0; i < e->nloops; i++)
        if (e->loops[i].store)
            store_set_patience(e->loops[i].store, us);
}

/* ---- threads ---- */

static void *loop_thread_main(void *arg)
{
    struct loop *l = arg;
    struct loop_threads *t = &l->e->threads;

    pthread_mutex_lock(&t->lock);
    for (;;) {
        while (!l->has_turn && !t->closing)
            pthread_cond_wait(&l->wakeup, &t->lock);
        if (!l->has_turn)
            break;
        pthread_mutex_unlock(&t->lock);
        l->err.code = E_NONE;
        l->rc = plan_execute(l->plan, &l->err);
        pthread_mutex_lock(&t->lock);
        l->has_turn = false;
        l->done = true;
        pthread_cond_signal(&t->ended);
        (void)eventfd_write(t->fd, 1); /* fails only if the eventfd is readable already */
    }
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

void loop_start_turn(struct loop *l)
{
    struct loop_threads *t = &l->e->threads;

    pthread_mutex_lock(&t->lock);
    l->has_turn = true;
    pthread_cond_signal(&l->wakeup);
    pthread_mutex_unlock(&t->lock);
}

bool loop_poll_turn(struct loop *l)
{
    struct loop_threads *t = &l->e->threads;
    bool done;

    pthread_mutex_lock(&t->lock);
    done = l->done;
    l->done = false;
    pthread_mutex_unlock(&t->lock);
    return done;
}

void loop_wait_turn(struct loop *l)
{
    struct loop_threads *t = &l->e->threads;

    pthread_mutex_lock(&t->lock);
    while (!l->done)
        pthread_cond_wait(&t->ended, &t->lock);
    l->done = false;
    pthread_mutex_unlock(&t->lock);
}

/* ---- opening and closing ---- */

int loops_connect(struct engine *e, struct err *err)
{
    struct store_options options = {
        .env = e->env, .no_migrate = true, .patience = e->o.host_grace / 4};

    for (size_t i = 1; i < e->nloops; i++) {
        TRY(store_open(e->o.url, e->o.tenant, &options, &e->loops[i].store, err));
        store_set_wake(e->loops[i].store, engine_wake, e);
    }
    return 0;
}

void loops_disconnect(struct engine *e)
{
    for (size_t i = 1; i < e->nloops; i++)
        store_close(&e->loops[i].store);
}

static int start_loop(struct loop *l, struct err *err)
{
    int rc;

    pthread_cond_init(&l->wakeup, NULL);
    rc = thread_start(&l->thread, loop_thread_main, l);
    l->threaded = !rc;
    if (l->threaded)
        return 0;
    pthread_cond_destroy(&l->wakeup);
    return err_set(err, E_UNAVAILABLE, "can't start a worker thread: %s", strerror(rc));
}

int loops_open(struct engine *e, struct err *err)
{
    struct loop_threads *t = &e->threads;
    size_t i, n = e->o.loops > 1 && !e->o.foreground ? (size_t)e->o.loops : 0;

    if (n && !e->server)
        return err_set(err, E_INVALID,
                       "worker.loops is %zu, but SQLite has only one writer at a time: set "
                       "worker.loops to 1, or use PostgreSQL",
                       n);
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->ended, NULL);
    e->loops = mem_zalloc((n + 1) * sizeof(*e->loops));
    e->nloops = n + 1;
    for (i = 0; i < e->nloops; i++)
        e->loops[i].e = e;
    e->loops[0].store = e->store;
    t->n = n;
    e->submit_to = n ? 1 : 0;
    if (n && (t->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) < 0)
        return err_set(err, E_UNAVAILABLE,
                       "can't create an eventfd for the threads of the worker: %s",
                       strerror(errno));
    return 0;
}

int loops_start(struct engine *e, struct err *err)
{
    for (size_t i = 1; i < e->nloops; i++)
        TRY(start_loop(&e->loops[i], err));
    return 0;
}

/* Finishes the turns under way and ends the threads. engine.closing is set: jobs that these turns
 * claim are not started, but left to other workers. */
void loops_close(struct engine *e)
{
    if (!e->loops)
        return;
    loops_set_patience(e, CLOSE_PATIENCE);
    for (size_t i = 0; i < e->nloops; i++)
        turn_finish(&e->loops[i]);
    pthread_mutex_lock(&e->threads.lock);
    e->threads.closing = true;
    for (size_t i = 0; i < e->nloops; i++)
        if (e->loops[i].threaded)
            pthread_cond_signal(&e->loops[i].wakeup);
    pthread_mutex_unlock(&e->threads.lock);
    for (size_t i = 0; i < e->nloops; i++)
        if (e->loops[i].threaded) {
            pthread_join(e->loops[i].thread, NULL);
            pthread_cond_destroy(&e->loops[i].wakeup);
        }
}

void loops_release(struct engine *e)
{
    for (size_t i = 0; i < e->nloops; i++) {
        struct loop *l = &e->loops[i];

        for (size_t k = 0; k < l->logs.n; k++)
            free(l->logs.at[k].bytes);
        vec_release(&l->ended);
        vec_release(&l->starts);
        vec_release(&l->logs);
        vec_release(&l->submits);
        if (i)
            store_close(&l->store);
    }
    if (e->loops) {
        pthread_mutex_destroy(&e->threads.lock);
        pthread_cond_destroy(&e->threads.ended);
    }
    if (e->threads.fd >= 0)
        close(e->threads.fd);
    vec_release(&e->capacity);
    free(e->loops);
}
