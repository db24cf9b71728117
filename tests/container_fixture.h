/* container_fixture.h - an executor of containers beside tests/engine_double. */
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

/* The engine itself, no child of any shim. It has to be stopped. */
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

/* How many containers the engine has. */
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
