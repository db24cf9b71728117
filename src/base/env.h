/* env.h - the process environment: clocks, random bytes, and the callbacks through which the
 * library reports. The library never prints; tests move the clock and hook into statements here. */
#ifndef BASE_ENV_H
#define BASE_ENV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct env {
    /* Added to the database's time, in µs. Tests change it instead of sleeping; 0 outside tests. */
    int64_t clock_offset;
    /* The part of clock_offset that simulates a change of the database's clock alone. The host's
     * clock, which measures durations, is not moved by it. 0 outside tests. */
    int64_t clock_set;
    /* Makes PostgreSQL time out after minutes, not seconds, when it waits for a lock, for the end
     * of a statement or for the next statement of a transaction, so that no test fails because the
     * machine stalls. False outside tests. */
    bool long_timeouts;
    /* If true, wake-ups of other processes are sent with the next transaction or when the
     * connection is closed, not by a thread with a connection of its own. Meant for programs that
     * make few transactions. PostgreSQL only. */
    bool one_connection;
    /* Called with the name of each statement and its duration in µs; NULL for no trace. */
    void (*trace)(void *arg, const char *what, int64_t took_us, long rows);
    /* Called with each message for the operator (a lost connection, a repeated turn); NULL to drop
     * the messages. */
    void (*note)(void *arg, const char *sentence);
    /* Called with the reason each time a turn is redone, which is normal; NULL outside tests. */
    void (*redone)(void *arg, const char *reason);
    /* Called at each point where the process may die or another process may intervene: before every
     * statement (with its name), before and after a commit ("commit", "committed"). Tests kill the
     * process or wait there; NULL outside tests. */
    void (*point)(void *arg, const char *where);
    /* Called repeatedly while the database is unreachable. Returning true ends the retries before
     * the timeout. NULL to retry until the timeout. */
    bool (*give_up)(void *arg);
    void *arg;
};

static inline void env_point(const struct env *env, const char *where)
{
    if (env->point)
        env->point(env->arg, where);
}

/* The offset that tests have added to the host's clock, as opposed to the database's. */
static inline int64_t env_own_offset(const struct env *env)
{
    return __atomic_load_n(&env->clock_offset, __ATOMIC_RELAXED) -
           __atomic_load_n(&env->clock_set, __ATOMIC_RELAXED);
}

/* Passes the formatted sentence to env->note, if that is set. */
void env_note(const struct env *env, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

int64_t env_random_id(void); /* a random number of 63 bits, never 0 */
void env_random(void *p, size_t len);

int64_t clock_wall_us(void); /* CLOCK_REALTIME */
int64_t clock_boot_us(void); /* CLOCK_BOOTTIME: never jumps, counts while suspended */
void clock_sleep_us(int64_t us);

#endif
