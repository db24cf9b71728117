/* env.h - the machine as an argument: time, randomness and what is said to people come through this
 * structure, so that a test can move the clock and a library never prints. */
#ifndef BASE_ENV_H
#define BASE_ENV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct env {
    /* Added to the database's time, in µs. 0 outside tests; tests move it instead of sleeping. */
    int64_t clock_offset;
    /* So much of it is as if somebody had set the database's clock: the host's own, by which spans
     * are counted, does not follow. 0 outside tests. */
    int64_t clock_set;
    /* Has PostgreSQL wait for minutes, not seconds, for a lock, a statement's end and the next
     * statement of a transaction, so that a machine that stands still fails no test. false outside
     * tests. */
    bool long_limits;
    /* One statement and its time in µs; NULL = no trace. */
    void (*trace)(void *arg, const char *what, int64_t took_us, long rows);
    /* A sentence for the operator (a lost connection, a redone turn); NULL = silent. */
    void (*note)(void *arg, const char *sentence);
    /* Called at each place where a process may die or others may slip in between: before every
     * statement (its name), before and after a commit ("commit", "committed"). Tests kill or wait
     * there; NULL outside tests. */
    void (*point)(void *arg, const char *where);
    /* Asked while the database is away: whether to stop trying before patience ends; NULL = no. */
    bool (*give_up)(void *arg);
    void *arg;
};

static inline void env_point(const struct env *env, const char *where)
{
    if (env->point)
        env->point(env->arg, where);
}

/* What tests have moved the host's own clock by. */
static inline int64_t env_own_offset(const struct env *env)
{
    return __atomic_load_n(&env->clock_offset, __ATOMIC_RELAXED) -
           __atomic_load_n(&env->clock_set, __ATOMIC_RELAXED);
}

int64_t env_random_id(void); /* 63 random bits, never 0 */
void env_random(void *p, size_t len);

int64_t clock_wall_us(void); /* CLOCK_REALTIME */
int64_t clock_boot_us(void); /* CLOCK_BOOTTIME: never jumps, goes on while suspended */
void clock_sleep_us(int64_t us);

#endif
