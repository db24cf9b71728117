/* connect_wait.c - waits for a free connection of a server; see connect_wait.h. */
#include "store/driver/connect_wait.h"

#define FIRST_PAUSE 100000LL /* µs */
/* µs: the longest pause; many waiting clients must not keep the server busy. */
#define MAX_PAUSE   5000000LL
#define SLICE       100000LL /* µs: give_up is called this often */

static bool gives_up(const struct env *env)
{
    return env->give_up && env->give_up(env->arg);
}

/* Returns the next pause. A part of it is random, so that many clients do not retry in step. */
static int64_t next_pause(struct connect_wait *w)
{
    int64_t pause = w->pause;
    uint32_t r;

    w->pause = pause * 2 > MAX_PAUSE ? MAX_PAUSE : pause * 2;
    env_random(&r, sizeof(r));
    return pause / 2 + (int64_t)(r % (uint32_t)(pause / 2 + 1));
}

bool connect_wait_again(struct connect_wait *w, const struct env *env, int64_t limit_us,
                        const struct err *err)
{
    int64_t now = clock_boot_us(), until;

    if (!w->since) {
        if (limit_us <= 0)
            return false;
        *w = (struct connect_wait){.since = now, .pause = FIRST_PAUSE};
        env_note(env, "%s; waiting until it accepts the connection", err->msg);
    }
    until = now + next_pause(w);
    if (limit_us < INT64_MAX - w->since && until > w->since + limit_us)
        until = w->since + limit_us;
    if (until <= now)
        return false;
    for (; now < until; now = clock_boot_us()) {
        if (gives_up(env))
            return false;
        clock_sleep_us(until - now < SLICE ? until - now : SLICE);
    }
    return true;
}

void connect_wait_end(const struct connect_wait *w, const struct env *env)
{
    if (w->since)
        env_note(env, "the server accepts connections again, after %lld s",
                 (long long)(clock_boot_us() - w->since) / 1000000);
}

bool connect_wait_helps(const struct connect_wait *w, int rc)
{
    return rc == -E_BUSY || (rc == -E_CONN_LOST && w->since);
}

int connect_wait_error(int rc, struct err *err)
{
    if (rc == -E_BUSY || rc == -E_CONN_LOST)
        rc = -(int)(err->code = E_UNAVAILABLE);
    return rc;
}

int db_open_waiting(const struct db_url *url, struct env *env, int64_t limit_us, struct db **out,
                    struct err *err)
{
    struct connect_wait wait = {0};
    int rc;

    do
        rc = db_open(url, env, out, err);
    while (connect_wait_helps(&wait, rc) && connect_wait_again(&wait, env, limit_us, err));
    if (!rc)
        connect_wait_end(&wait, env);
    return limit_us ? connect_wait_error(rc, err) : rc;
}
