/* outside.c - ends what the task has outside of its tree: the container that its engine runs for
 * it.
 *
 * The engine is asked first, so that it finds its own records in order. One that is away, or hangs,
 * can't keep the work alive: its processes carry the key of the attempt, and are killed by that.
 * But only the engine can say that nothing is left, so it is asked until it does; our lock is held
 * meanwhile, and nobody begins it anew. */
#include "base/env.h"
#include "exec/shim/shim.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#define PATIENCE 10000000 /* µs that the engine has, before force */
#define PAUSE    5        /* ms between looks */

/* The client must be able to say what it still has to. */
static void wait_a_bit(struct shim *s, int ms)
{
    struct pollfd p = {.fd = s->task.output, .events = POLLIN};

    if (poll(&p, 1, ms) > 0)
        pump(s);
}

bool end_outside(struct shim *s)
{
    int64_t deadline = clock_boot_us() + PATIENCE;

    if (!s->outside)
        return true;
    point("before-undo");
    while (!undo_go_on(&s->undo) && clock_boot_us() < deadline)
        wait_a_bit(s, PAUSE);
    point("undone");
    return s->undo.done;
}

/* In the attempt's log, where people look first. */
static void tell_why(struct shim *s)
{
    char text[sizeof(s->undo.said) + 80];
    int n = snprintf(text, sizeof(text), "pawl: the container is not gone yet: %s\n",
                     *s->undo.said ? s->undo.said : "its engine does not answer");

    if (n > 0)
        log_append(&s->log, text, strlen(text));
}

void end_outside_at_last(struct shim *s)
{
    if (s->undo.done)
        return;
    tell_why(s);
    while (!undo_go_on(&s->undo)) {
        if (!s->undo.pid)
            attempt_kill_remains(s->folder, &s->self);
        clock_sleep_us(PAUSE * 1000);
    }
}
