/* follow.c - waits between the reads of a command that follows the database; see follow.h. */
#include "cli/follow.h"

#include "base/env.h"

#include <stdio.h>

#define SETTLE_US 2000000LL

/* Sleeps if the server has few connections left. */
static bool pause_reading(struct pawl *p)
{
    int pause = pawl_yield(p);

    if (pause)
        clock_sleep_us(pause * 1000LL);
    return pause != 0;
}

bool follow_wait(struct pawl *p, struct pawl_listener *l, int ms)
{
    fflush(stdout);
    if (pause_reading(p))
        return false;
    if (l)
        return pawl_listener_wait(l, ms) != 0;
    clock_sleep_us(ms * 1000LL);
    return false;
}

/* Soon after a wake-up a transaction that has an earlier event may still be about to commit. */
int follow_pause_ms(const struct pawl_listener *l, int64_t news_at, int busy_ms)
{
    bool quiet = l && pawl_listener_is_complete(l) && clock_boot_us() - news_at > SETTLE_US;

    return quiet ? pawl_listener_poll_ms(l) : busy_ms;
}

bool follow_retries(struct pawl *p, int rc)
{
    return rc == -PAWL_E_UNAVAILABLE && pause_reading(p);
}
