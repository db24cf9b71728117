/* process_fixture.h - a process executor in the test's folder, and a record of its reports. */
#ifndef TESTS_PROCESS_FIXTURE_H
#define TESTS_PROCESS_FIXTURE_H

#include "base/mem.h"
#include "exec/attempt/attempt.h"
#include "exec/process/process.h"
#include "handle_fixture.h"
#include "harness.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECOND 1000000LL
#define PATIENT \
    (240 * SECOND) /* for something that must happen eventually; less than a test's time limit */

/* The reports about one attempt. */
struct seen {
    int64_t execution;
    int attempt;
    int started, ended;
    int64_t ago;
    struct outcome o;
    char *result, *error;
    struct buf log; /* the output as a reader of the reports sees it */
    int64_t dropped;
    int64_t chunk_at[64]; /* where its chunks start */
    int nchunks;
};

struct worker {
    struct executor *x;
    struct handles handles;
    struct seen seen[128];
    size_t nseen;
};

static inline struct seen *seen_of(struct worker *w, int64_t execution, int attempt)
{
    for (size_t i = 0; i < w->nseen; i++)
        if (w->seen[i].execution == execution && w->seen[i].attempt == attempt)
            return &w->seen[i];
    CHECK(w->nseen < sizeof(w->seen) / sizeof(*w->seen));
    w->seen[w->nseen] = (struct seen){.execution = execution, .attempt = attempt};
    return &w->seen[w->nseen++];
}

/* A chunk continues where the last one ended, or replaces the output from the start of an earlier
 * chunk on. */
static inline void add_chunk(struct seen *s, const struct report *r)
{
    if (r->offset != (int64_t)s->log.len) {
        while (s->nchunks && s->chunk_at[s->nchunks - 1] != r->offset)
            s->nchunks--;
        CHECK(s->nchunks-- > 0);
    }
    CHECK(r->log_len > 0);
    CHECK(s->nchunks < (int)(sizeof(s->chunk_at) / sizeof(*s->chunk_at)));
    s->chunk_at[s->nchunks++] = r->offset;
    s->log.len = (size_t)r->offset;
    buf_add(&s->log, r->log, r->log_len);
    s->dropped = r->dropped;
}

static inline void record_report(void *arg, struct executor *x, const struct report *r)
{
    struct seen *s = seen_of(arg, r->execution, r->attempt);

    (void)x;
    CHECK_EQ(s->ended, 0);
    handles_report(&((struct worker *)arg)->handles, r);
    if (r->kind == REPORT_STARTED) {
        CHECK_EQ(s->started++, 0);
        s->ago = r->ago;
    } else if (r->kind == REPORT_LOG) {
        CHECK_EQ(s->started, 1);
        add_chunk(s, r);
    } else {
        s->ended++;
        s->o = r->outcome;
        s->result = mem_strdup(r->outcome.result);
        s->error = mem_strdup(r->outcome.error);
        CHECK(r->outcome.kind == OUTCOME_OK || (r->outcome.error && *r->outcome.error));
    }
}

/* The shim of the build that this program belongs to. */
static inline const char *shim_path(void)
{
    static char path[PATH_MAX + 20];
    char exe[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

    CHECK(n > 0);
    exe[n] = '\0';
    *strrchr(exe, '/') = '\0';
    snprintf(path, sizeof(path), "%s/../pawl-shim", exe);
    return path;
}

static inline const char *attempts_dir(void)
{
    static char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s/attempts", test_dir());
    return path;
}

/* Ends all attempts below `dir` and removes their folders, as workers do after a fence. */
static inline int end_all_attempts(const char *dir, int64_t patience, struct err *err)
{
    const struct attempt_ending o = {.patience = patience};
    int rc = attempt_end_running(dir, &o, err);

    return rc ? rc : attempt_remove_all(dir, &o, err);
}

static inline struct worker *worker_with(struct process_options o)
{
    struct worker *w = mem_zalloc(sizeof(*w));
    struct err err = ERR_INIT;

    o.dir = attempts_dir();
    o.shim = shim_path();
    o.slots = o.slots ? o.slots : 8;
    CHECK_OK_ERR(process_new(&o, &w->x, &err), &err);
    w->handles.x = w->x;
    w->x->report = record_report;
    w->x->arg = w;
    return w;
}

static inline struct worker *worker_new(void)
{
    return worker_with((struct process_options){0});
}

static inline void worker_free(struct worker *w)
{
    handles_release(&w->handles);
    for (size_t i = 0; i < w->nseen; i++) {
        free(w->seen[i].result);
        free(w->seen[i].error);
        buf_release(&w->seen[i].log);
    }
    free(w);
}

/* A task with this spec, which must live until the test ends. */
static inline struct job task_of(const struct spec *spec)
{
    return (struct job){.execution = 7,
                        .root = 5,
                        .attempt = 1,
                        .max_attempts = 3,
                        .epoch = 1,
                        .name = "exec::test",
                        .spec = spec,
                        .lease_until = clock_boot_us() + 30 * SECOND};
}

static inline void worker_start(struct worker *w, const struct job *t)
{
    struct err err = ERR_INIT;

    CHECK_OK_ERR(handles_start(&w->handles, t, &err), &err);
}

/* Starts a task with this much of its lease left. Nothing is started with less than half of it
 * left, so a start on a stalled machine is tried again. */
static inline void worker_start_leased(struct worker *w, struct job *t, int64_t left)
{
    struct err err = ERR_INIT;
    int rc;

    do {
        t->lease_until = clock_boot_us() + left;
        rc = handles_start(&w->handles, t, &err);
    } while (rc == -E_REFUSED);
    CHECK_OK_ERR(rc, &err);
}

static inline void worker_reattach(struct worker *w, const struct job *t)
{
    struct err err = ERR_INIT;

    CHECK_OK_ERR(handles_reattach(&w->handles, t, &err), &err);
}

/* Polls when there is something to do, for at most that long. */
static inline void worker_poll(struct worker *w, int64_t us)
{
    struct pollfd p = {.fd = w->x->ops->fd(w->x), .events = POLLIN};

    if (poll(&p, 1, (int)(us / 1000)) > 0)
        w->x->ops->poll(w->x);
}

/* Polls until the condition holds. */
#define UNTIL(w, cond)                                \
    do {                                              \
        int64_t until_ = clock_boot_us() + PATIENT;   \
        while (!(cond)) {                             \
            CHECK(clock_boot_us() < until_ && #cond); \
            worker_poll(w, 10000);                    \
        }                                             \
    } while (0)

static inline struct seen *worker_wait(struct worker *w, const struct job *t)
{
    struct seen *s = seen_of(w, t->execution, t->attempt);

    UNTIL(w, s->ended);
    return s;
}

static inline struct seen *worker_run(struct worker *w, const struct job *t)
{
    worker_start(w, t);
    return worker_wait(w, t);
}

/* --- files and processes ------------------------------------------------------------------------
 */

static inline char *path_of(const char *name)
{
    static char paths[4][PATH_MAX];
    static unsigned at;
    char *path = paths[at++ % 4];

    snprintf(path, PATH_MAX, "%s/%s", test_dir(), name);
    return path;
}

static inline void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "we");

    CHECK(f != NULL);
    fputs(text, f);
    CHECK_OK(fclose(f));
}

/* The content of a file, at most 4 kB; "" if it does not exist. */
static inline const char *read_text(const char *path)
{
    static char text[4097];
    FILE *f = fopen(path, "re");
    size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

    if (f)
        fclose(f);
    text[n] = '\0';
    return text;
}

/* Waits for the file and returns the number that a task wrote into it. */
static inline pid_t read_pid(struct worker *w, const char *path)
{
    UNTIL(w, strchr(read_text(path), '\n'));
    return (pid_t)strtol(read_text(path), NULL, 10);
}

/* Gone, a zombie that waits for its parent, or being ended by the kernel: a killed process has
 * released its locks some time before it is a zombie. None of these runs its program any more. */
static inline bool is_gone(pid_t pid)
{
    const unsigned exiting = 4; /* PF_EXITING */
    char path[40], state = 0;
    const char *after_name;
    unsigned flags = 0;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    after_name = strrchr(read_text(path), ')');
    return !after_name ||
           sscanf(after_name + 1, " %c %*d %*d %*d %*d %*d %u", &state, &flags) != 2 ||
           state == 'Z' || state == 'X' || (flags & exiting);
}

static inline int folder_of(const struct job *t)
{
    int dir = open(attempts_dir(), O_RDONLY | O_DIRECTORY | O_CLOEXEC), at;

    CHECK(dir >= 0);
    at = attempt_open_folder(dir, t->execution, t->attempt);
    close(dir);
    return at;
}

static inline bool shim_is_running(const struct job *t)
{
    int at = folder_of(t);
    bool running = at >= 0 && attempt_is_locked(at, ATTEMPT_LOCK);

    if (at >= 0)
        close(at);
    return running;
}

static inline pid_t shim_of(const struct job *t)
{
    struct attempt_shim s = {0};
    int at = folder_of(t), rc;

    if (at < 0)
        return 0;
    rc = record_read(at, &RECORD_SHIM, &s);
    close(at);
    return rc == 1 ? (pid_t)s.pid : 0;
}

static inline int count_files(const char *path)
{
    DIR *d = opendir(path);
    struct dirent *e;
    int n = 0;

    while (d && (e = readdir(d)) != NULL)
        n += e->d_name[0] != '.';
    if (d)
        closedir(d);
    return n;
}

#endif
