/* container_stop.c - ends what the task has outside of its tree: the container that its engine runs
 * for it.
 *
 * The engine is asked first, so that it finds its own records in order. One that is away, or hangs,
 * can't keep the work alive: its processes carry the key of the attempt, and are killed by that.
 * But only the engine can say that nothing is left, so it is asked until it does; our lock is held
 * meanwhile, and nobody begins it anew. */
#include "base/env.h"
#include "exec/shim/shim.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#define PATIENCE      10000000 /* µs that the engine has, before force */
#define PAUSE         5000     /* µs between looks */

#define CLIENT_FAILED 125 /* what a client exits with if it could not do what it was asked to */

/* In the attempt's log, where people look first. */
static void log_container_state(struct shim *s, const char *what)
{
    char text[sizeof(s->undo.message) + 80];
    int n = snprintf(text, sizeof(text), "pawl: the container %s: %s\n", what,
                     *s->undo.message ? s->undo.message : "its engine does not answer");

    if (n > 0)
        log_append(&s->log, text, strlen(text));
}

/* Before another host may begin it there is less time than usual. */
static int64_t patience(const struct shim *s)
{
    return s->kind == END_FENCED && s->fence / 4 < PATIENCE ? s->fence / 4 : PATIENCE;
}

/* Podman's client, told to end before its container began, exits with 0. So its word is nothing but
 * a word, until the engine says the same; or has no container any more, which `--rm` among the
 * options may do. */
int64_t container_exit_kind(const struct shim *s)
{
    int code = WIFEXITED(s->status) ? WEXITSTATUS(s->status) : -1;

    if (s->undo.found == FOUND_ENDED && code == s->undo.code)
        return END_EXITED;
    if (s->undo.done && !s->undo.found && code >= 0 && code != CLIENT_FAILED)
        return END_EXITED;
    return END_CLIENT;
}

void end_container(struct shim *s)
{
    int64_t deadline = clock_boot_us() + patience(s);
    bool logged = false, noted = false;

    test_point("before-undo");
    while (!undo_poll(&s->undo)) {
        if (s->undo.found && !noted) /* nobody could find it out after us */
            noted = write_ending(s);
        if (clock_boot_us() > deadline) {
            attempt_kill_remains(s->folder, &s->self);
            if (!logged)
                log_container_state(s, "is not gone yet");
            logged = true;
            deadline = clock_boot_us() + PATIENCE / 10;
        }
        clock_sleep_us(PAUSE);
    }
    if (s->undo.unremovable)
        log_container_state(s, "has ended, but could not be removed");
    test_point("undone");
    while (attempt_kill_remains(s->folder, &s->self)) /* engines have said so too early */
        clock_sleep_us(PAUSE);
}
