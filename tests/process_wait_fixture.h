/* process_wait_fixture.h - a task that runs until the test lets it end with an exit code, under a
 * process executor (process_fixture.h), and functions that disturb its shim and helper. */
#ifndef TESTS_PROCESS_WAIT_FIXTURE_H
#define TESTS_PROCESS_WAIT_FIXTURE_H

#include "process_fixture.h"

#include <sys/resource.h>

/* Writes a line each time it is started. */
#define WAITS "echo $$ >>begun; echo output; echo a=1 >>$PAWL_OUTPUT; read x <fifo; exit $x"

/* The shim writes its record a second time just after it has started the task, before it copies the
 * first output. A task that changes files of its folder waits for that. */
#define AWAITS_SHIM \
    "d=${PAWL_OUTPUT%/*}; echo output; until [ -s \"$d/log\" ]; do sleep 0.01; done; "

static inline struct spec waiting_spec(void)
{
    CHECK_OK(mkfifo(path_of("fifo"), 0600));
    return (struct spec){.run = WAITS, .cwd = test_dir()};
}

static inline pid_t begin(struct worker *w, const struct job *t)
{
    worker_start(w, t);
    return read_pid(w, path_of("begun"));
}

/* For a task with a short timeout, which may expire on a stalled machine before the task has
 * started; then the next attempt is made. */
static inline pid_t begin_in_time(struct worker *w, struct job *t)
{
    for (;; t->attempt++) {
        struct seen *s = seen_of(w, t->execution, t->attempt);

        worker_start(w, t);
        UNTIL(w, s->ended || strchr(read_text(path_of("begun")), '\n'));
        if (!s->ended)
            return read_pid(w, path_of("begun"));
        CHECK_EQ(s->o.kind, OUTCOME_TIMED_OUT);
        unlink(path_of("begun"));
    }
}

/* Ends worker `a` while its attempt runs. Returns a new worker that has adopted the attempt. */
static inline struct worker *next_worker(struct worker *a, struct job *t)
{
    struct worker *b;

    worker_free(a);
    b = worker_new();
    t->epoch = 2;
    worker_reattach(b, t);
    return b;
}

static inline int times_begun(void)
{
    int n = 0;

    for (const char *p = read_text(path_of("begun")); (p = strchr(p, '\n')) != NULL; p++)
        n++;
    return n;
}

static inline void let_end(const char *code)
{
    write_text(path_of("fifo"), code);
}

/* From now on each write of the shim fails, or succeeds again. */
static inline void let_shim_write(pid_t shim, bool may)
{
    struct rlimit limit = {.rlim_cur = may ? RLIM_INFINITY : 0, .rlim_max = RLIM_INFINITY};

    CHECK_OK(prlimit(shim, RLIMIT_FSIZE, &limit, NULL));
}

/* Returns when the command has ended and its shim has failed to write the exit record. */
static inline void end_unwritten(struct worker *w, const struct job *t)
{
    int at = folder_of(t);

    let_end("0\n");
    UNTIL(w, attempt_is_end_known(at));
    close(at);
}

static inline void poll_for(struct worker *w, int64_t us)
{
    for (int64_t until = clock_boot_us() + us; clock_boot_us() < until;)
        worker_poll(w, 10000);
}

/* The helper is the only child of this process that runs pawl-shim. */
static inline pid_t helper_pid(void)
{
    char path[64];
    int pid = 0;

    snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    CHECK_EQ(sscanf(read_text(path), "%d", &pid), 1);
    return pid;
}

static inline bool is_stopped(pid_t pid)
{
    char path[80];

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    return strstr(read_text(path), ") T ") != NULL;
}

/* Limits this process to n open files; -1 restores the former limit. */
static inline void allow_files(int n)
{
    static struct rlimit before;
    struct rlimit few;
    int next;

    if (n < 0) {
        CHECK_OK(setrlimit(RLIMIT_NOFILE, &before));
        return;
    }
    CHECK_OK(getrlimit(RLIMIT_NOFILE, &before));
    next = open("/dev/null", O_RDONLY | O_CLOEXEC);
    CHECK(next >= 0);
    close(next);
    few = (struct rlimit){.rlim_cur = (rlim_t)(next + n), .rlim_max = before.rlim_max};
    CHECK_OK(setrlimit(RLIMIT_NOFILE, &few));
}

/* A worker whose shims stop before they take their lock. */
static inline struct worker *worker_with_late_shims(void)
{
    struct worker *w;

    setenv("PAWL_SHIM_POINT", "=before-lock", 1);
    w = worker_new();
    unsetenv("PAWL_SHIM_POINT");
    return w;
}

/* Returns its only shim, once it was started and has stopped. */
static inline pid_t late_shim(struct worker *w, const struct job *t)
{
    char path[64];
    int shim = 0;

    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)helper_pid(), (int)helper_pid());
    worker_start(w, t);
    UNTIL(w, sscanf(read_text(path), "%d", &shim) == 1 && is_stopped(shim));
    return shim;
}

#endif
