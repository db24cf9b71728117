/* kit.h - shared by the benchmarks of the whole engine: an engine that runs a function and, if
 * requested, commands; a clock; percentiles. */
#ifndef BENCH_KIT_H
#define BENCH_KIT_H

#include "base/mem.h"
#include "engine/engine.h"
#include "exec/function/function.h"
#include "exec/process/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct kit {
    const char *program; /* for error messages */
    const char *url, *state;
    const char *queue;     /* the queue it serves; NULL for the default */
    function_fn *function; /* for the lane function:bench */
    int threads, local;    /* how many functions run, and how many may wait */
    int slots;             /* commands at once; 0 to run none */
    int loops;             /* 0 means one */
    bool no_push;
    bool traced; /* count statements, which costs a clock reading for each */

    struct engine *engine;
    struct env env;
    size_t ended, failed; /* executions */
    long commits, statements;
};

static inline void kit_must(const struct kit *k, int rc, const struct err *err)
{
    if (!rc)
        return;
    fprintf(stderr, "%s: %s\n", k->program, err->msg);
    exit(1);
}

static inline double kit_seconds(void)
{
    return (double)clock_boot_us() / 1e6;
}

/* Another program of this build: build/bench/x -> build/NAME. */
static inline const char *kit_sibling(const char *name)
{
    static char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 64);
    char *slash;
    int up;

    path[n < 0 ? 0 : n] = 0;
    for (up = 0; up < 2 && (slash = strrchr(path, '/')); up++)
        *slash = 0;
    n = (ssize_t)strlen(path);
    snprintf(path + n, sizeof(path) - (size_t)n, "/%s", name);
    return path;
}

static inline int kit_make(void *arg, const struct engine_dispatch_setup *place,
                           struct dispatch **out, struct err *err)
{
    struct kit *k = arg;
    struct function_options fo = {
        .threads = k->threads, .queue = k->local, .marks = place->marks, .env = &k->env};
    struct process_options po = {.dir = place->dir,
                                 .shim = kit_sibling("pawl-shim"),
                                 .slots = k->slots,
                                 .lease = place->lease,
                                 .fence = place->fence,
                                 .env = &k->env};
    struct functions *functions;
    struct executor *processes;

    kit_must(k, dispatch_new(&place->dispatch, out, err), err);
    if (k->function) {
        kit_must(k, function_new(&fo, &functions, err), err);
        kit_must(k, function_add(functions, "bench", k->function, k, err), err);
        kit_must(k, dispatch_add_executor(*out, function_executor(functions), 0, err), err);
    }
    if (k->slots) {
        kit_must(k, process_new(&po, &processes, err), err);
        kit_must(k, dispatch_add_executor(*out, processes, 0, err), err);
    }
    return 0;
}

static inline void kit_ended(void *arg, int64_t execution, int status, const struct outcome *o)
{
    struct kit *k = arg;

    (void)execution;
    k->ended++;
    if (status == S_SUCCEEDED)
        return;
    k->failed++;
    fprintf(stderr, "%s: a job failed: %s\n", k->program, o->error ? o->error : "");
}

static inline void kit_note(void *arg, const char *sentence)
{
    fprintf(stderr, "%s: %s\n", ((const struct kit *)arg)->program, sentence);
}

static inline void kit_point(void *arg, const char *where)
{
    struct kit *k = arg;

    if (!strcmp(where, "committed"))
        __atomic_fetch_add(&k->commits, 1, __ATOMIC_RELAXED); /* loops have threads */
}

static inline void kit_trace(void *arg, const char *what, int64_t took_us, long rows)
{
    struct kit *k = arg;

    (void)what;
    (void)took_us;
    (void)rows;
    __atomic_fetch_add(&k->statements, 1, __ATOMIC_RELAXED);
}

static inline void kit_open(struct kit *k)
{
    const char *const queues[] = {k->queue ? k->queue : "default", NULL};
    struct engine_options o = {.url = k->url,
                               .env = &k->env,
                               .state = k->state,
                               .queues = queues,
                               .host = "bench",
                               .loops = k->loops,
                               .no_push = k->no_push};
    struct err err = ERR_INIT;

    k->env = (struct env){
        .note = kit_note, .point = kit_point, .trace = k->traced ? kit_trace : NULL, .arg = k};
    kit_must(k, engine_open(&o, kit_make, k, &k->engine, &err), &err);
    engine_on_end(k->engine, kit_ended, k);
}

static inline void kit_step(struct kit *k, int64_t timeout)
{
    struct err err = ERR_INIT;

    kit_must(k, engine_step(k->engine, timeout, &err), &err);
}

struct kit_submissions {
    struct submission *list;
    size_t n;
};

static inline int kit_submit_body(struct turn *t, void *arg, struct err *err)
{
    struct kit_submissions *s = arg;

    return op_submit(t, s->list, s->n, err);
}

/* Submits as another process would: in its own turn, through the outbox. */
static inline void kit_submit(const struct kit *k, struct store *store, const struct submission *s,
                              size_t n)
{
    struct kit_submissions all = {.list = mem_alloc(n * sizeof(*s)), .n = n};
    struct err err = ERR_INIT;
    size_t i;

    for (i = 0; i < n; i++)
        all.list[i] = *s;
    kit_must(k, store_turn(store, kit_submit_body, &all, &err), &err);
    free(all.list);
}

/* Waits until the engine has done its start-up work. */
static inline void kit_settle_down(struct kit *k)
{
    do
        kit_step(k, 0);
    while (engine_timeout(k->engine) == 0);
    k->commits = k->statements = 0;
}

static inline int kit_by_time(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

#endif
