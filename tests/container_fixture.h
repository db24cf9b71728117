/* container_fixture.h - a container executor that uses tests/engine_double in place of podman or
 * docker. */
#ifndef TESTS_CONTAINER_FIXTURE_H
#define TESTS_CONTAINER_FIXTURE_H

#include "process_fixture.h"

#include <spawn.h>
#include <sys/wait.h>

static inline const char *double_path(void)
{
    static char path[PATH_MAX];

    CHECK(realpath("tests/engine_double", path));
    return path;
}

/* Starts the container engine, which is not a child of any shim. The caller must stop it. */
static inline pid_t double_start(void)
{
    char *argv[] = {(char *)(uintptr_t)double_path(), (char[]){"serve"}, NULL};
    posix_spawnattr_t attr;
    pid_t pid;

    CHECK_OK(mkdir(path_of("engine"), 0700));
    CHECK_OK(mkfifo(path_of("engine/ask"), 0600));
    CHECK_OK(setenv("CONTAINER_HOST", path_of("engine"), 1));
    posix_spawnattr_init(&attr);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSID);
    CHECK_OK(posix_spawn(&pid, argv[0], NULL, &attr, argv, environ));
    posix_spawnattr_destroy(&attr);
    return pid;
}

static inline void double_stop(pid_t engine)
{
    pid_t left = (pid_t)strtol(read_text(path_of("engine/daemon")), NULL, 10);

    if (left > 0)
        CHECK_OK(kill(left, SIGKILL));
    CHECK_OK(kill(-engine, SIGKILL));
    CHECK_EQ(waitpid(engine, NULL, 0), engine);
}

static inline struct worker *container_worker(struct process_options o)
{
    struct container_options c = {.client = double_path(), .image = "default"};

    o.container = &c;
    return worker_with(o);
}

/* ---- an engine, a worker, and a task for them ---- */

struct stage {
    pid_t engine;
    struct worker *w;
    struct job t;
    pid_t main; /* the process in the container, from stage_begin on */
};

/* The spec must live as long as the stage. */
static inline struct stage stage_with(const struct spec *spec, struct process_options o)
{
    struct stage g = {.engine = double_start()};

    g.w = container_worker(o);
    g.t = task_of(spec);
    return g;
}

static inline struct stage stage_of(const struct spec *spec)
{
    return stage_with(spec, (struct process_options){0});
}

/* Waits until the task's command runs; the command must write its pid to the file "main". */
static inline void stage_begin(struct stage *g)
{
    worker_start(g->w, &g->t);
    g->main = read_pid(g->w, path_of("main"));
}

static inline void stage_lose_worker(struct stage *g)
{
    worker_free(g->w);
    g->w = NULL;
}

/* Adopts the attempt with another worker, as an orphan. */
static inline void stage_adopt(struct stage *g, struct process_options o)
{
    g->w = container_worker(o);
    g->t.epoch++;
    worker_reattach(g->w, &g->t);
}

static inline struct seen *stage_seen(struct stage *g)
{
    return seen_of(g->w, g->t.execution, g->t.attempt);
}

static inline struct seen *stage_wait(struct stage *g)
{
    return worker_wait(g->w, &g->t);
}

static inline void stage_end(struct stage *g)
{
    if (g->w)
        worker_free(g->w);
    double_stop(g->engine);
}

/* The number of containers that the container engine has. */
static inline int containers(void)
{
    DIR *d = opendir(path_of("engine"));
    struct dirent *e;
    int n = 0;

    while (d && (e = readdir(d)) != NULL)
        n += !strncmp(e->d_name, "pawl-", 5);
    if (d)
        closedir(d);
    return n;
}

#endif
