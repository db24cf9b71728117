/* job.c - the command of jobs of a chaos campaign. It records what ran, independently of Pawl:
 * see ledger.h.
 *
 *   job MODE MILLISECONDS
 *
 * MODE is ok, fail (always exits with 3), flaky (exits with 3 in its first attempt), out (writes
 * the output n) or daemon (leaves a child behind that holds the lock and must be ended by Pawl). */
#define _GNU_SOURCE
#include "ledger.h"

#include <stdlib.h>
#include <string.h>

static const char *variable(const char *name)
{
    const char *value = getenv(name);

    if (!value) {
        fprintf(stderr, "job: %s is not set\n", name);
        exit(9);
    }
    return value;
}

/* Leaves a child behind in a session of its own, which keeps the lock. */
static void leave_child(void)
{
    if (fork())
        return;
    setsid();
    for (int fd = 0; fd < 3; fd++)
        close(fd);
    sleep(600);
    _exit(0);
}

static void write_output(void)
{
    FILE *f = fopen(variable("PAWL_OUTPUT"), "a");

    if (!f || fprintf(f, "n=%s\n", getenv("INDEX") ? getenv("INDEX") : "0") < 0 || fclose(f))
        exit(8); /* the disk is full */
}

int main(int argc, char **argv)
{
    struct entry e = {.execution = atoll(variable("PAWL_EXECUTION_ID")),
                      .attempt = atoi(variable("PAWL_ATTEMPT")),
                      .epoch = atoi(variable("PAWL_EPOCH")),
                      .key = variable("PAWL_ATTEMPT_KEY"),
                      .mode = argc == 3 ? argv[1] : ""};
    int ledger, locks, code = 0;

    if (argc != 3 || (ledger = ledger_begin(&e, &locks)) < 0) {
        fprintf(stderr, "usage: job MODE MILLISECONDS, in the folder of a round\n");
        return 9;
    }
    wait_milliseconds(atol(argv[2]));
    if (!strcmp(e.mode, "daemon"))
        leave_child();
    if (!strcmp(e.mode, "out"))
        write_output();
    if (!strcmp(e.mode, "fail") || (!strcmp(e.mode, "flaky") && e.attempt == 1))
        code = 3;
    return ledger_append(ledger, 'e', &e, code) ? code : 9;
}
