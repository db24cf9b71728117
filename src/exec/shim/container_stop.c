/* container_stop.c - ends the container that a container engine runs for the task.
 *
 * The engine is asked first, so that its own records stay consistent. If it is down or hangs, the
 * container's processes, which have the attempt's key in their environment, are killed. But only
 * the engine can confirm that nothing is left, so it is asked until it does; the shim holds its
 * lock meanwhile, so that no worker starts the job again. */
#include "base/env.h"
#include "exec/shim/shim.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#define PATIENCE      10000000 /* µs to wait for the engine before processes are killed */
#define PAUSE         5000     /* µs between two polls */

#define CLIENT_FAILED 125 /* exit code of a client that could not start the container */

/* Writes to the attempt's log, which users read first. */
static void log_container_state(struct shim *s, const char *what)
{
    char text[sizeof(s->undo.message) + 80];
    int n = snprintf(text, sizeof(text), "pawl: the container %s: %s\n", what,
                     *s->undo.message ? s->undo.message
                                      : "the container engine (podman or docker) does not respond");

    if (n > 0)
        log_append(&s->log, text, strlen(text));
}

/* How long to wait for the engine: less for a fenced attempt, which must end before another host
 * may start the job. */
static int64_t patience(const struct shim *s)
{
    return s->kind == END_FENCED && s->fence / 4 < PATIENCE ? s->fence / 4 : PATIENCE;
}

/* Podman's client exits with 0 if it is terminated before its container starts. So the client's
 * exit code counts only if the engine confirms it, or if the container no longer exists, which
 * happens with the option `--rm`. */
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
        if (s->undo.found && !noted) /* record the state now: once the container is removed, its
                                        state is lost */
            noted = write_ending(s);
        if (clock_boot_us() > deadline) {
            attempt_kill_remains(s->folder, &s->self);
            if (!logged)
                log_container_state(s, "still exists");
            logged = true;
            deadline = clock_boot_us() + PATIENCE / 10;
        }
        clock_sleep_us(PAUSE);
    }
    if (s->undo.unremovable)
        log_container_state(s, "has ended, but could not be removed");
    test_point("undone");
    /* A container engine may confirm the removal too early. */
    while (attempt_kill_remains(s->folder, &s->self))
        clock_sleep_us(PAUSE);
}
