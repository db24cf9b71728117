/* engine.c - opening, sleeping and stepping; see engine.h. The turn itself is in turn.c. */
#include "engine/internal.h"

#include "store/query.h"
#include "store/url.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define DEFAULT_LEASE      30000000LL
#define DEFAULT_HOST_GRACE 300000000LL
#define PATIENCE           (86400 * 1000000LL) /* µs: the database may be away for long */
#define STOP_PATIENCE      1000000LL

int64_t engine_now(const struct engine *e)
{
    return clock_boot_us() + __atomic_load_n(&e->env->clock_offset, __ATOMIC_RELAXED);
}

int64_t back_off(int failures, int64_t first, int64_t most)
{
    int64_t wait = failures > 20 ? most : first << (failures > 0 ? failures : 0);
    uint32_t r;

    if (wait > most)
        wait = most;
    env_random(&r, sizeof(r));
    return wait / 2 + (int64_t)(r % (uint32_t)(wait / 2 + 1));
}

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

static int hello_body(struct turn *t, void *arg, struct err *err)
{
    struct engine *e = arg;
    int rc = op_worker_hello(t, &e->row, err);

    e->db_ahead = turn_now(t) - engine_now(e);
    return rc;
}

/* Who waits for what we have served must not believe that we still do. That nobody hears it is no
 * reason to go on. */
static void say_draining(struct engine *e)
{
    struct err ignored = ERR_INIT;

    if (!e->held.n || !e->lanes_told)
        return; /* goodbye comes at once */
    e->lanes_told = 0;
    e->row.serves = "{}"; /* the old text stays: the heartbeat's thread may be reading it */
    if (store_turn(e->store, hello_body, e, &ignored))
        ignored.code = E_NONE;
}

/* Tells who we are and what we serve: at the first step, when all functions are known. */
static int say_hello(struct engine *e, struct err *err)
{
    size_t n, i, k, q, lanes = 0;
    const struct lane_group *groups = dispatch_lanes(e->dispatch, &n);
    struct buf serves = BUF_INIT;
    int rc;

    VEC(struct lane_queue) list = {0};

    if (e->stopping) {
        say_draining(e);
        return 0;
    }
    for (i = 0; i < n; i++)
        lanes += groups[i].nlanes;
    if (lanes == e->lanes_told)
        return 0;
    for (i = 0; i < n; i++)
        for (k = 0; k < groups[i].nlanes; k++)
            for (q = 0; q < e->own_queues; q++)
                *vec_add(&list) = (struct lane_queue){groups[i].lanes[k], e->queues.at[q]};
    serves_json(list.at, list.n, &serves);
    free(e->serves);
    e->row.serves = e->serves = mem_strdup(buf_cstr(&serves));
    e->row.room = dispatch_capacity(e->dispatch);
    if (!(rc = store_turn(e->store, hello_body, e, err)))
        e->lanes_told = lanes;
    buf_release(&serves);
    vec_release(&list);
    return rc;
}

/* With what was counted since the last heartbeat. */
static int bye_body(struct turn *t, void *arg, struct err *err)
{
    struct engine *e = arg;
    const struct beat *b = &e->beat;
    int rc = op_counters(t, e->row.id, b->counters.at, b->counters.n, err);

    return rc ? rc : op_worker_bye(t, e->row.id, err);
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

static int watch(struct engine *e, int fd, struct err *err)
{
    struct epoll_event ev = {.events = EPOLLIN, .data.fd = fd};

    if (fd >= 0 && epoll_ctl(e->epoll, EPOLL_CTL_ADD, fd, &ev) && errno != EEXIST)
        return err_set(err, E_UNAVAILABLE, "can't watch a descriptor: %s", strerror(errno));
    return 0;
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
    if ((rc = store_turn(e->store, hello_body, e, err)) || (rc = beat_open(e, err)) ||
        (rc = watch(e, dispatch_fd(e->dispatch), err)) ||
        (rc = watch(e, folder_fd(e->folder), err)) || (rc = watch(e, e->beat.fd, err)) ||
        (rc = watch(e, e->threads.fd, err)) || (rc = watch(e, e->listener->fd, err)))
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
    struct err err = ERR_INIT;
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
    tally_collect(e);
    if (e->store && e->row.folder && e->last_tick &&
        store_turn(e->store, bye_body, e, &err)) /* else its row goes after a day */
        err.code = E_NONE;
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
    free(e->serves);
    pthread_mutex_destroy(&e->beat.lock);
    free(e);
    *pe = NULL;
}

int64_t engine_worker(const struct engine *e)
{
    return e->row.id;
}

struct store *engine_store(struct engine *e)
{
    return e->store;
}

void engine_each_store(struct engine *e, void (*each)(void *arg, struct store *s), void *arg)
{
    size_t i;

    for (i = 0; i < e->nloops; i++)
        each(arg, e->loops[i].store);
}

struct dispatch *engine_dispatch(struct engine *e)
{
    return e->dispatch;
}

int engine_fd(const struct engine *e)
{
    return e->epoll;
}

static void sooner(int64_t *wait, int64_t due, int64_t now)
{
    int64_t left = due > now ? due - now : 0;

    if (*wait < 0 || left < *wait)
        *wait = left;
}

/* When to look without being called: sooner while nobody can call. A heartbeat has looked too; if
 * it comes as often as we would look, we do so only where it does not come. */
static int64_t look_due(const struct engine *e)
{
    int64_t pause = (int64_t)e->listener->poll_ms * 1000;

    if (pause >= e->o.heartbeat && pause < 2 * e->o.heartbeat)
        pause = 2 * e->o.heartbeat;
    return e->looked_at + pause;
}

int64_t engine_timeout(const struct engine *e)
{
    int64_t now = engine_now(e), wait = -1;
    size_t i;

    sooner(&wait, look_due(e), now);
    sooner(&wait, e->beat_due, now);
    if (turn_is_needed((struct engine *)e))
        return 0;
    for (i = 0; i < e->nloops; i++) {
        const struct loop *l = &e->loops[i];

        if (l->retry_at > now) /* whatever it has to do, it is not done before */
            sooner(&wait, l->retry_at, now);
        else if (l->starts_due > now && !l->plan) /* else it waits for the end of a turn */
            sooner(&wait, l->starts_due, now);
    }
    if (e->stopping || e->loops[0].retry_at > now)
        return wait;
    if (e->timer_due)
        sooner(&wait, e->timer_due, now);
    if (e->schedule_due)
        sooner(&wait, e->schedule_due, now);
    if (e->look_for_timer || e->reap || e->submissions || (e->look_for_trees && !e->adopt))
        wait = 0;
    return wait;
}

/* What others said. A look without being called is the net under lost wake-ups. */
static int hear(struct engine *e, bool called, struct err *err)
{
    unsigned heard = e->listener->drain(e->listener);

    if (heard & WAKE_JOBS || !called)
        e->hungry = UINT64_MAX;
    if (heard & WAKE_TIMERS || !called)
        e->look_for_timer = true;
    if (heard & WAKE_ORPHANS)
        e->adopt = true;
    if (heard & WAKE_CANCEL)
        beat_soon(e);
    e->submissions |= (heard & WAKE_SUBMISSIONS) && !e->o.here; /* those are for workers */
    return watch(e, e->listener->fd, err); /* it may be another after a reconnect */
}

static int end_turns(struct engine *e, struct err *err)
{
    uint64_t count;

    if (read(e->threads.fd, &count, sizeof(count)) < 0)
        count = 0;
    return turns_end(e, err);
}

static int sleep_and_hear(struct engine *e, int64_t timeout, struct err *err)
{
    struct epoll_event events[8];
    int64_t own = engine_timeout(e);
    int64_t wait = timeout < 0 || own < timeout ? own : timeout;
    int n = epoll_wait(e->epoll, events, 8, (int)((wait + 999) / 1000)), i, rc;

    if (look_due(e) <= engine_now(e)) { /* however often we were called for something else */
        e->looked_at = engine_now(e);
        if ((rc = hear(e, false, err)))
            return rc;
    }
    for (i = 0; i < n; i++) {
        int fd = events[i].data.fd;

        rc = 0;
        if (fd == dispatch_fd(e->dispatch))
            dispatch_turn(e->dispatch);
        else if (fd == e->beat.fd)
            rc = beat_take(e, err);
        else if (fd == e->threads.fd)
            rc = end_turns(e, err);
        else if (fd == folder_fd(e->folder)) {
            e->adopt |= folder_scan(e->folder);
            e->look_for_trees = true;
        } else
            rc = hear(e, true, err);
        if (rc)
            return rc;
    }
    return 0;
}

int engine_step(struct engine *e, int64_t timeout, struct err *err)
{
    int rc;

    if ((rc = say_hello(e, err)) || (rc = sleep_and_hear(e, timeout, err)) ||
        (rc = beat_if_due(e, err)))
        return rc;
    if (e->deaf &&
        !e->stopping) /* not where it was found out: that is under the lock of held jobs */
        engine_stop(e, false);
    if (e->deaf && dispatch_in_flight(e->dispatch) <= (size_t)dispatch_deaf(e->dispatch))
        return err_set(err, E_INTERNAL,
                       "a function does not obey its cancel flag: the worker ends with it");
    if ((rc = turns_make(e, err)))
        return rc;
    return upkeep(e, err);
}

void engine_on_end(struct engine *e,
                   void (*ended)(void *arg, int64_t execution, int status, const struct outcome *o),
                   void *arg)
{
    e->on_end = ended;
    e->on_end_arg = arg;
}

void engine_on_log(struct engine *e, void (*said)(void *arg, int64_t execution), void *arg)
{
    e->on_log = said;
    e->on_log_arg = arg;
}

/* What comes below a job that we hold goes to the loop of its tree. */
static struct loop *loop_to_submit(struct engine *e, const struct submission *s)
{
    const struct held *parent = s->parent ? held_get(e, s->parent) : NULL;

    return parent ? loop_of(e, parent->root) : &e->loops[e->submit_to];
}

/* With its texts in one block: many may wait. */
void engine_submit(struct engine *e, const struct submission *s, engine_submitted *done, void *arg)
{
    struct submission c = *s;
    const char **const texts[] = {&c.name,       &c.queue, &c.lane,  &c.concurrency,
                                  &c.task_name,  &c.input, &c.spec,  &c.key,
                                  &c.definition, &c.hash,  &c.origin};
    struct pending_submit *p;
    size_t i, size = 0;
    char *at;

    for (i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        size += *texts[i] ? strlen(*texts[i]) + 1 : 0;
    p = mem_alloc(sizeof(*p) + size);
    for (i = 0, at = (char *)(p + 1); i < sizeof(texts) / sizeof(*texts); i++)
        if (*texts[i]) {
            size_t len = strlen(*texts[i]) + 1;

            *texts[i] = memcpy(at, *texts[i], len);
            at += len;
        }
    *p = (struct pending_submit){.s = c, .done = done, .arg = arg};
    *vec_add(&loop_to_submit(e, s)->submits) = p;
}

/* What outlives us is no longer ours to watch. Its leases stay, for whoever finds our lock free. */
static void leave_running(struct engine *e)
{
    size_t i;

    for (i = 0; i < e->held.cap; i++) {
        struct held *h = e->held.keys[i] ? e->held.values[i] : NULL;

        if (!h || h->ended || !dispatch_outlives(e->dispatch, h->lane))
            continue;
        held_remove(e, h);
        e->left_some = true;
        i = (size_t)-1; /* removing moves others about */
    }
}

void engine_stop(struct engine *e, bool now)
{
    if (!e->stopping)
        dispatch_turn(e->dispatch); /* what ended just now is still told by us */
    if (!e->stopping || now)
        dispatch_hand_over(e->dispatch, now);
    e->stopping = true;
    loops_set_patience(e, STOP_PATIENCE); /* who stops us counts the time */
    leave_running(e);
    forget_lost(e); /* nothing is taken back any more */
}

bool engine_is_idle(const struct engine *e)
{
    return loops_are_idle(e) && !e->held.n;
}

bool engine_is_drained(struct engine *e)
{
    size_t n, i;
    bool hungry = false;

    (void)dispatch_lanes(e->dispatch, &n);
    for (i = 0; i < n; i++)
        hungry |= (e->hungry & group_bit(i)) != 0;
    return engine_is_idle(e) && !hungry && !e->adopt && !e->look_for_trees && !e->submissions &&
           !turn_is_needed(e);
}

int engine_is_awaited(struct engine *e, bool *open, struct err *err)
{
    struct next_due due;
    size_t i;
    int rc = 0;

    if (!e->o.here) {
        if ((rc = store_next_due(e->store, &due, err)))
            return rc;
        if ((*open = e->submissions = due.submissions))
            return 0;
    }
    for (i = 0, *open = false; !rc && !*open && i < e->queues.n; i++)
        rc = query_queue_open(e->store, e->queues.at[i], open, err);
    return rc;
}
