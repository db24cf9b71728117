/* engine.c - stepping, submitting and stopping; see engine.h. Turns are in turn/. */
#include "engine/engine_internal.h"

#include "store/query/query.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define STOP_PATIENCE 1000000LL /* µs that a turn waits for the database after engine_stop */
#define GONE_PATIENCE 3000000LL /* µs that a removed database file may take to reappear */

int64_t engine_now(const struct engine *e)
{
    return clock_boot_us() + env_own_offset(e->env);
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

int64_t engine_worker(const struct engine *e)
{
    return e->row.id;
}

void engine_each_store(struct engine *e, void (*each)(void *arg, struct store *s), void *arg)
{
    for (size_t i = 0; i < e->nloops; i++)
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

int engine_watch(struct engine *e, int fd, struct err *err)
{
    struct epoll_event ev = {.events = EPOLLIN, .data.fd = fd};

    if (fd >= 0 && epoll_ctl(e->epoll, EPOLL_CTL_ADD, fd, &ev) && errno != EEXIST)
        return err_set(err, E_UNAVAILABLE, "can't watch a file descriptor: %s", strerror(errno));
    return 0;
}

static void lower_wait(int64_t *wait, int64_t due, int64_t now)
{
    int64_t left = due > now ? due - now : 0;

    if (*wait < 0 || left < *wait)
        *wait = left;
}

/* Returns when the next poll without a notification is due. The interval is shorter while the
 * listener can't receive notifications. Heartbeats also poll, so an interval of one to two
 * heartbeats is raised to two: polls between heartbeats then happen only after a missed
 * heartbeat. */
static int64_t next_poll_due(const struct engine *e)
{
    int64_t pause = (int64_t)e->listener->poll_ms * 1000;

    if (pause >= e->o.heartbeat && pause < 2 * e->o.heartbeat)
        pause = 2 * e->o.heartbeat;
    return e->last_poll_at + pause;
}

int64_t engine_timeout(const struct engine *e)
{
    int64_t now = engine_now(e), wait = -1;

    lower_wait(&wait, next_poll_due(e), now);
    lower_wait(&wait, e->heartbeat_due, now);
    if (turn_is_needed((struct engine *)e))
        return 0;
    for (size_t i = 0; i < e->nloops; i++) {
        const struct loop *l = &e->loops[i];

        if (l->retry_at > now) /* the loop makes no turn before retry_at */
            lower_wait(&wait, l->retry_at, now);
        else if (l->starts_due > now && !l->plan) /* if a turn is under way, its end wakes the
                                                     engine anyway */
            lower_wait(&wait, l->starts_due, now);
    }
    if (e->stopping || e->loops[0].retry_at > now)
        return wait;
    if (e->adopt && e->adopt_at > now)
        lower_wait(&wait, e->adopt_at, now);
    if (e->poll_groups_at)
        lower_wait(&wait, e->poll_groups_at, now);
    if (quarantine_next(&e->quarantined))
        lower_wait(&wait, quarantine_next(&e->quarantined), now);
    if (e->timer_due)
        lower_wait(&wait, e->timer_due, now);
    if (e->schedule_due)
        lower_wait(&wait, e->schedule_due, now);
    if (e->next_due_unknown || e->reap || e->submissions ||
        (e->dead_workers_unchecked && !e->adopt))
        wait = 0;
    return wait;
}

/* Reads the notifications from other processes. If `notified` is false, this is a poll, which
 * assumes that notifications were lost. */
static int handle_notifications(struct engine *e, bool notified, struct err *err)
{
    unsigned wakes = e->listener->drain(e->listener);

    if (wakes & WAKE_JOBS || !notified)
        e->groups_to_poll = UINT64_MAX;
    if (wakes & WAKE_TIMERS || !notified)
        e->next_due_unknown = true;
    if (wakes & WAKE_ORPHANS)
        e->adopt = true;
    if (wakes & WAKE_CANCEL)
        heartbeat_send_soon(e);
    /* A foreground engine leaves SQL submissions to workers. */
    e->submissions |= (wakes & WAKE_SUBMISSIONS) && !e->o.foreground;
    return engine_watch(e, e->listener->fd, err); /* a reconnect changes the descriptor */
}

static int finish_threaded_turns(struct engine *e, struct err *err)
{
    uint64_t count;

    if (read(e->threads.fd, &count, sizeof(count)) < 0)
        count = 0;
    return turns_finish(e, err);
}

static int sleep_and_handle_events(struct engine *e, int64_t timeout, struct err *err)
{
    struct epoll_event events[8];
    int64_t own = engine_timeout(e);
    int64_t wait = timeout < 0 || own < timeout ? own : timeout;
    int n = epoll_wait(e->epoll, events, 8, (int)((wait + 999) / 1000)), i, rc;

    if (next_poll_due(e) <= engine_now(e)) { /* even if other events keep the engine busy */
        e->last_poll_at = engine_now(e);
        if ((rc = handle_notifications(e, false, err)))
            return rc;
    }
    if (e->poll_groups_at && e->poll_groups_at <= engine_now(e)) {
        e->poll_groups_at = 0;
        e->groups_to_poll = UINT64_MAX;
    }
    release_quarantined_jobs(e);
    for (i = 0; i < n; i++) {
        int fd = events[i].data.fd;

        rc = 0;
        if (fd == dispatch_fd(e->dispatch))
            dispatch_poll(e->dispatch);
        else if (fd == e->heartbeat.fd)
            rc = heartbeat_take_results(e, err);
        else if (fd == e->threads.fd)
            rc = finish_threaded_turns(e, err);
        else if (fd == state_folder_fd(e->state_folder)) {
            e->adopt |= state_folder_scan(e->state_folder);
            e->dead_workers_unchecked = true;
        } else
            rc = handle_notifications(e, true, err);
        if (rc)
            return rc;
    }
    return 0;
}

/* A foreground engine gives up if the database's file was removed, because a user is waiting; the
 * file may reappear within GONE_PATIENCE. Workers keep waiting, because a worker that is restarted
 * would create a new file. */
static int check_database_file(struct engine *e, struct err *err)
{
    struct err why = ERR_INIT;
    int64_t now = engine_now(e);

    if (!e->o.foreground || !store_check_present(e->store, &why)) {
        e->database_gone_since = 0;
        return 0;
    }
    if (!e->database_gone_since)
        e->database_gone_since = now;
    if (now - e->database_gone_since < GONE_PATIENCE)
        return 0;
    /* If the database reappears, other workers find this engine's tree through its worker file. */
    e->left_work = true;
    return err_set(err, E_UNAVAILABLE,
                   "%s (running commands continue; workers of this state folder adopt "
                   "them if the database reappears)",
                   why.msg);
}

int engine_step(struct engine *e, int64_t timeout, struct err *err)
{
    int rc;

    if ((rc = check_database_file(e, err)) || (rc = worker_row_announce_lanes(e, err)) ||
        (rc = sleep_and_handle_events(e, timeout, err)) || (rc = heartbeat_if_due(e, err)))
        return rc;
    if (e->drain_requested && !e->draining && !e->stopping) {
        e->draining = true;
        dispatch_drain(e->dispatch);
        if ((rc = worker_row_announce_lanes(e, err)))
            return rc;
    }
    if (e->unresponsive &&
        !e->stopping) /* not done in maintenance_after_tick, which holds the heartbeat's lock */
        engine_stop(e, false);
    if (e->unresponsive &&
        dispatch_in_flight(e->dispatch) <= (size_t)dispatch_count_unresponsive(e->dispatch))
        return err_set(err, E_INTERNAL,
                       "a function did not return after it was asked to stop: the worker "
                       "exits to end it");
    if ((rc = turns_start(e, err)))
        return rc;
    return run_maintenance(e, err);
}

void engine_on_end(struct engine *e,
                   void (*ended)(void *arg, int64_t execution, int status, const struct outcome *o),
                   void *arg)
{
    e->on_end = ended;
    e->on_end_arg = arg;
}

void engine_on_log(struct engine *e, void (*logged)(void *arg, int64_t execution), void *arg)
{
    e->on_log = logged;
    e->on_log_arg = arg;
}

/* Chooses the loop for a submission: a child of a job that this worker has leased goes to the loop
 * of its tree. */
static struct loop *loop_for_submission(struct engine *e, const struct submission *s)
{
    const struct leased_job *parent = s->parent ? leased_job_get(e, s->parent) : NULL;

    return parent ? loop_of(e, parent->a.root) : &e->loops[e->submit_to];
}

/* Copies the submission: the struct and its strings are one allocation, because many submissions
 * may wait. */
void engine_submit(struct engine *e, const struct submission *s, engine_submitted *done, void *arg)
{
    struct submission c = *s;
    const char **const texts[] = {&c.name,       &c.queue, &c.lane,   &c.concurrency,
                                  &c.task_name,  &c.input, &c.spec,   &c.key,
                                  &c.definition, &c.hash,  &c.origin, &c.by};
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
    *p = (struct pending_submit){.s = c, .number = ++e->submits, .done = done, .arg = arg};
    *vec_add(&loop_for_submission(e, s)->submits) = p;
}

/* Stops watching attempts that outlive this worker. Their leases stay: the worker that finds this
 * worker's file unlocked adopts them. */
static void leave_running(struct engine *e)
{
    struct leased_job *h;

    for (size_t at = 0; (h = idmap_next(&e->leased_jobs, &at));) {
        if (h->a.ended || !dispatch_outlives(e->dispatch, h->lane))
            continue;
        leased_job_remove(e, h);
        e->left_work = true;
        at = 0; /* removing moves other entries: start over */
    }
}

void engine_stop(struct engine *e, bool now)
{
    if (!e->stopping)
        dispatch_poll(e->dispatch); /* attempts that have just ended are reported now: the
                                       stop leaves running ones to other workers */
    if (!e->stopping || now)
        dispatch_stop(e->dispatch, now);
    e->stopping = true;
    loops_set_patience(e, STOP_PATIENCE); /* the caller waits for the stop */
    leave_running(e);
    forget_lost_jobs(e, NULL); /* from now on, no job is readopted */
}

const struct worker_drain *engine_drain_request(const struct engine *e)
{
    return e->draining && e->row.drain.at ? &e->row.drain : NULL;
}

bool engine_is_idle(const struct engine *e)
{
    return loops_are_idle(e) && !e->leased_jobs.n;
}

bool engine_is_drained(struct engine *e)
{
    size_t n, i;
    bool groups_to_poll = false;

    (void)dispatch_lane_groups(e->dispatch, &n);
    for (i = 0; i < n; i++)
        groups_to_poll |= (e->groups_to_poll & group_bit(i)) != 0;
    return engine_is_idle(e) && !groups_to_poll && !e->poll_groups_at && !e->adopt &&
           !e->dead_workers_unchecked && !e->submissions && !turn_is_needed(e);
}

int engine_has_open_work(struct engine *e, bool *open, struct err *err)
{
    struct next_due due;
    size_t i;
    int rc = 0;

    if (!e->o.foreground) {
        if ((rc = store_next_due(e->store, &due, err)))
            return rc;
        if ((*open = e->submissions = due.submissions))
            return 0;
    }
    for (i = 0, *open = false; !rc && !*open && i < e->queues.n; i++)
        rc = query_queue_open(e->store, e->queues.at[i], open, err);
    return rc;
}
