/* worker.c - a worker inside the server: an engine on a thread of its own, with its own database
 * handle. */
#include "server/worker.h"

#include "base/env.h"
#include "base/fd.h"
#include "base/thread.h"
#include "server/server.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define STOP_US (5 * 1000000LL)

struct worker {
    struct server *server;
    pthread_t thread;
    int stop;   /* eventfd: readable when the worker must stop */
    int failed; /* eventfd: readable when the engine can't continue, for the reason in `err` */
    struct pawl_error err;
    struct pawl *p;
    struct pawl_engine *engine;
    bool draining; /* the request to drain was reported */
};

static void notify(int eventfd)
{
    uint64_t one = 1;

    (void)!write(eventfd, &one, sizeof(one));
}

static bool is_stopping(void *arg)
{
    const struct worker *w = arg;

    return poll(&(struct pollfd){.fd = w->stop, .events = POLLIN}, 1, 0) > 0;
}

static int step(struct worker *w, struct pawl_error *err)
{
    struct pollfd fds[] = {{.fd = pawl_engine_fd(w->engine), .events = POLLIN},
                           {.fd = w->stop, .events = POLLIN}};

    poll(fds, 2, pawl_engine_timeout_ms(w->engine));
    return pawl_engine_step(w->engine, 0, err);
}

static void stop_engine(struct worker *w, struct pawl_error *err)
{
    int64_t until = clock_boot_us() + STOP_US;
    int rc = 0;

    pawl_engine_stop(w->engine, true);
    while (!rc && !pawl_engine_idle(w->engine) && clock_boot_us() < until)
        rc = pawl_engine_step(w->engine, 100, err);
}

/* A worker that was asked to drain claims nothing more. Its heartbeats and its maintenance continue
 * until the server stops. */
static void note_drain(struct worker *w)
{
    const char *by;

    if (w->draining || !pawl_engine_is_draining(w->engine, &by, NULL))
        return;
    w->draining = true;
    fprintf(stderr, "pawl-server: %s has asked the worker to drain: it claims no more jobs\n",
            by ? by : "someone");
}

static void *work(void *arg)
{
    struct worker *w = arg;
    struct pawl_error err = {0};
    int rc = 0;

    while (!rc && !is_stopping(w)) {
        rc = step(w, &err);
        note_drain(w);
    }
    if (!rc) {
        stop_engine(w, &err);
    } else if (!is_stopping(w)) { /* else the stop ended a wait for the database */
        w->err = err;
        notify(w->failed);
    }
    return NULL;
}

static int open_engine(struct worker *w, struct pawl_error *err)
{
    const struct server_options *so = &w->server->options;
    struct pawl_options o = {.url = so->db, .tenant = so->tenant, .config = so->config};
    struct pawl_engine_options eo = {
        .slots = so->worker, .hooks = true, .give_up = is_stopping, .arg = w};

    TRY(pawl_open(&o, &w->p, err));
    return pawl_engine_open(w->p, &eo, &w->engine, err);
}

int worker_start(struct server *s, struct err *err)
{
    struct pawl_error e = {0};
    struct worker *w;
    int rc;

    if (!s->options.worker)
        return 0;
    w = s->worker = mem_zalloc(sizeof(*w));
    w->server = s;
    w->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    w->failed = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if ((rc = open_engine(w, &e)))
        return err_set(err, (enum error_code) - rc, "%s", e.message);
    if ((rc = thread_start(&w->thread, work, w)))
        return err_set(err, E_REFUSED, "the thread of the built-in worker can't be started: %s",
                       strerror(rc));
    return 0;
}

int worker_failed_fd(const struct server *s)
{
    return s->worker ? s->worker->failed : -1;
}

int worker_stop(struct server *s, struct err *err)
{
    struct worker *w = s->worker;
    int rc = 0;

    if (!w)
        return 0;
    notify(w->stop);
    pthread_join(w->thread, NULL);
    if (w->err.code)
        rc = err_set(err, (enum error_code)w->err.code, "the worker can't continue: %s",
                     w->err.message);
    pawl_engine_close(w->engine);
    pawl_close(w->p);
    fd_close(&w->stop);
    fd_close(&w->failed);
    free(w);
    s->worker = NULL;
    return rc;
}
