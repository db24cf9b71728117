/* follow.c - waits between the reads of a command that follows the database; see follow.h. */
#include "cli/follow.h"

#include "base/env.h"

#include <stdio.h>

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

bool follow_retries(struct pawl *p, int rc)
{
    return rc == -PAWL_E_UNAVAILABLE && pause_reading(p);
}
