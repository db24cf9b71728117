/* old_attempts.c - ends the attempts that were started before a fence, and removes their folders;
 * see old_attempts.h. */
#include "api/old_attempts.h"

#include "base/mem.h"
#include "base/thread.h"
#include "exec/attempt/attempt.h"

#include <stdlib.h>

#define END_PATIENCE 10000000LL /* µs to wait for the end of one attempt */
#define REPORT_EVERY 10000000LL /* µs between two notes about the progress of the removal */
#define RETRY_EVERY  1000000LL  /* µs between tries while another worker removes folders */

struct old_attempts {
    struct env *env;
    VEC(char *) dirs;
    size_t found, removed, kept; /* numbers of folders */
    int64_t report_at;

    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool stopping; /* accessed only under the lock */
};

static bool gives_up(void *arg)
{
    const struct env *env = arg;

    return env->give_up && env->give_up(env->arg);
}

static int count_running(void *arg, int64_t execution, int attempt, bool locked)
{
    (void)execution;
    (void)attempt;
    *(size_t *)arg += locked;
    return 0;
}

int old_attempts_end(const char *const *dirs, struct env *env, struct err *err)
{
    const struct attempt_ending o = {.patience = END_PATIENCE, .stop = gives_up, .arg = env};
    size_t n = 0;

    for (size_t i = 0; dirs[i]; i++)
        TRY(attempt_each(dirs[i], count_running, &n, err));
    if (n)
        env_note(env, "ending %zu running attempt%s of an earlier generation", n,
                 n == 1 ? "" : "s");
    for (size_t i = 0; dirs[i]; i++)
        TRY(attempt_end_running(dirs[i], &o, err));
    return 0;
}

/* ---- the thread ---- */

static bool is_stopping(void *arg)
{
    struct old_attempts *o = arg;
    bool stopping;

    pthread_mutex_lock(&o->lock);
    stopping = o->stopping;
    pthread_mutex_unlock(&o->lock);
    return stopping;
}

static void note_removed(void *arg, const char *problem)
{
    struct old_attempts *o = arg;

    if (problem)
        env_note(o->env, "%s", problem);
    o->kept += problem != NULL;
    o->removed += !problem;
    if (clock_boot_us() < o->report_at)
        return;
    o->report_at = clock_boot_us() + REPORT_EVERY;
    env_note(o->env, "removed %zu of %zu attempt folders of an earlier generation", o->removed,
             o->found);
}

static int count_folder(void *arg, int64_t execution, int attempt, bool locked)
{
    (void)execution;
    (void)attempt;
    (void)locked;
    ++*(size_t *)arg;
    return 0;
}

static size_t count_folders(char *const *dirs, size_t ndirs)
{
    struct err ignored = ERR_INIT;
    size_t n = 0;

    for (size_t i = 0; i < ndirs; i++)
        if (attempt_each(dirs[i], count_folder, &n, &ignored))
            ignored.code = E_NONE;
    return n;
}

/* Returns false if another worker is removing folders (-E_BUSY): try again later. */
static bool remove_folders(struct old_attempts *o)
{
    const struct attempt_ending how = {
        .patience = END_PATIENCE, .stop = is_stopping, .removed = note_removed, .arg = o};
    bool done = true;

    o->found = count_folders(o->dirs.at, o->dirs.n);
    o->removed = o->kept = 0;
    o->report_at = clock_boot_us() + REPORT_EVERY;
    for (size_t i = 0; i < o->dirs.n; i++) {
        struct err err = ERR_INIT;
        int rc = attempt_remove_all(o->dirs.at[i], &how, &err);

        done &= rc != -E_BUSY;
        if (rc && rc != -E_BUSY && !is_stopping(o))
            env_note(o->env, "%s", err.msg);
    }
    if (o->removed && !is_stopping(o))
        env_note(o->env,
                 "finished removing attempt folders of an earlier generation: %zu removed%s",
                 o->removed, o->kept ? "; those named above remain" : "");
    return done;
}

static void *run(void *arg)
{
    struct old_attempts *o = arg;

    pthread_mutex_lock(&o->lock);
    while (!o->stopping) {
        struct timespec until = thread_time_in(RETRY_EVERY);
        bool done;

        pthread_mutex_unlock(&o->lock);
        done = remove_folders(o);
        pthread_mutex_lock(&o->lock);
        if (done)
            break;
        if (!o->stopping)
            pthread_cond_timedwait(&o->changed, &o->lock, &until);
    }
    pthread_mutex_unlock(&o->lock);
    return NULL;
}

static void release(struct old_attempts *o)
{
    for (size_t i = 0; i < o->dirs.n; i++)
        free(o->dirs.at[i]);
    vec_release(&o->dirs);
    pthread_cond_destroy(&o->changed);
    pthread_mutex_destroy(&o->lock);
    free(o);
}

struct old_attempts *old_attempts_remove(const char *const *dirs, struct env *env)
{
    struct old_attempts *o = mem_zalloc(sizeof(*o));
    size_t n;

    o->env = env;
    pthread_mutex_init(&o->lock, NULL);
    thread_cond_init(&o->changed);
    for (size_t i = 0; dirs[i]; i++)
        *vec_add(&o->dirs) = mem_strdup(dirs[i]);
    n = count_folders(o->dirs.at, o->dirs.n);
    if (n && !thread_start(&o->thread, run, o)) {
        env_note(env, "removing %zu attempt folder%s of an earlier generation in the background", n,
                 n == 1 ? "" : "s");
        return o;
    }
    release(o);
    return NULL;
}

void old_attempts_stop(struct old_attempts **po)
{
    struct old_attempts *o = *po;

    if (!o)
        return;
    *po = NULL;
    pthread_mutex_lock(&o->lock);
    o->stopping = true;
    pthread_cond_signal(&o->changed);
    pthread_mutex_unlock(&o->lock);
    pthread_join(o->thread, NULL);
    release(o);
}
