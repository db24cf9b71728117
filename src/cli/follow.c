/* follow.c - waits between the reads of a command that follows the database; see follow.h. */
#include "cli/follow.h"

#include "base/env.h"

#include <stdio.h>

void follow_wait(struct pawl *p, struct pawl_listener *l, int ms)
{
    int pause;

    fflush(stdout);
    while ((pause = pawl_yield(p)))
        clock_sleep_us(pause * 1000LL);
    if (l)
        pawl_listener_wait(l, ms);
    else
        clock_sleep_us(ms * 1000LL);
}
