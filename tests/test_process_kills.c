/* test_process_kills.c - many attempts at once, while shims, helpers and workers are killed at
 * random. Every attempt ends once, a success has its begin and its end in the ledger, no command is
 * started twice, and nothing is left on the disk. */
#include "process_fixture.h"

#include <sys/wait.h>

TEST_NO_DB;

#define ATTEMPTS 60

/* Each line of the ledger is one write, so lines stay whole. */
static const char script[] = "echo $PAWL_EXECUTION_ID begin >>ledger; (setsid sleep 0.3 &); sleep "
                             "0.0$((PAWL_EXECUTION_ID % 9)); echo $PAWL_EXECUTION_ID end >>ledger";

static uint64_t random_state = 88172645463325252ULL;

static unsigned random_below(unsigned n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned)(random_state % n);
}

static struct job numbered_task(const struct spec *spec, int i, int epoch)
{
    struct job t = task_of(spec);

    t.execution = 1000 + i;
    t.epoch = epoch;
    return t;
}

static void kill_child_of(pid_t parent)
{
    char path[64];
    int pid = 0;

    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)parent, (int)parent);
    if (sscanf(read_text(path), "%d", &pid) == 1)
        kill(pid, SIGKILL);
}

/* Runs a worker that starts all attempts it can, until it is killed. */
static _Noreturn void run_worker(const struct spec *spec, int from)
{
    struct worker *w = worker_with((struct process_options){.slots = ATTEMPTS});
    struct err err = ERR_INIT;

    for (int i = from; i < ATTEMPTS; i++) {
        struct job t = numbered_task(spec, i, 1);

        while (handles_start(&w->handles, &t, &err) == -E_REFUSED &&
               !strstr(err.msg, "already has a folder"))
            worker_poll(w, 1000);
        worker_poll(w, 1000);
    }
    for (;;)
        worker_poll(w, SECOND);
}

static int lines_of(const char *ledger, int execution, const char *word)
{
    char line[40];
    int n = 0;

    snprintf(line, sizeof(line), "%d %s\n", execution, word);
    for (const char *p = ledger; (p = strstr(p, line)) != NULL; p++)
        n += p == ledger || p[-1] == '\n';
    return n;
}

/* Starts a worker, kills its shims and helpers at random, then the worker itself. */
static void start_and_kill(const struct spec *spec, int from)
{
    pid_t worker = fork();

    CHECK(worker >= 0);
    if (worker == 0)
        run_worker(spec, from);
    for (int i = 0; i < 15; i++) {
        struct job t = numbered_task(spec, (int)random_below(ATTEMPTS), 1);
        pid_t shim = random_below(3) ? shim_of(&t) : 0;

        clock_sleep_us(random_below(8000));
        if (shim > 0 && shim_is_running(&t))
            kill(shim, SIGKILL);
        else if (!random_below(4))
            kill_child_of(worker);
    }
    kill(worker, SIGKILL);
    CHECK_EQ(waitpid(worker, NULL, 0), worker);
}

static void check_all(const struct spec *spec)
{
    struct worker *w = /* tombstones are kept for the time of a lease */
        worker_with((struct process_options){.slots = ATTEMPTS, .lease = SECOND / 5});
    static char ledger[ATTEMPTS * 40];
    FILE *f;

    for (int i = 0; i < ATTEMPTS; i++) {
        struct job t = numbered_task(spec, i, 2);

        worker_reattach(w, &t);
    }
    UNTIL(w, w->x->ops->capacity(w->x) == ATTEMPTS);
    f = fopen(path_of("ledger"), "re");
    CHECK(f != NULL);
    ledger[fread(ledger, 1, sizeof(ledger) - 1, f)] = '\0';
    fclose(f);
    for (int i = 0; i < ATTEMPTS; i++) {
        struct job t = numbered_task(spec, i, 2);
        struct seen *s = seen_of(w, t.execution, 1);
        int begun = lines_of(ledger, 1000 + i, "begin"), ended = lines_of(ledger, 1000 + i, "end");
        int at = folder_of(&t);

        CHECK_EQ(s->ended, 1);
        CHECK(s->o.kind == OUTCOME_OK || s->o.kind == OUTCOME_LOST ||
              (s->o.kind == OUTCOME_REFUSED && s->o.unstarted && !begun));
        CHECK(begun <= 1 && ended <= begun);
        if (s->o.kind == OUTCOME_OK)
            CHECK_EQ(ended, 1);
        CHECK(!attempt_is_locked(at, ATTEMPT_TREE));
        CHECK(!attempt_is_locked(at, ATTEMPT_LOCK));
        close(at);
        w->x->ops->settled(w->x, t.execution, 1);
    }
    UNTIL(w, count_files(attempts_dir()) == 0);
    worker_free(w);
}

static void run_rounds(int n)
{
    struct spec spec = {.run = script, .cwd = test_dir()};

    for (int i = 0; i < n; i++) {
        unlink(path_of("ledger"));
        write_text(path_of("ledger"), "");
        CHECK(mkdir(attempts_dir(), 0700) == 0 || errno == EEXIST);
        start_and_kill(&spec, 0);
        start_and_kill(&spec, ATTEMPTS / 2);
        check_all(&spec);
    }
}

TEST_SLOW(each_attempt_ends_once_despite_random_kills, 600)
{
    run_rounds(test_full() ? 50 : 3);
}

TEST_SLOW(without_cgroups_each_attempt_ends_once_despite_random_kills, 600)
{
    setenv("PAWL_CGROUPS", "off", 1);
    run_rounds(test_full() ? 50 : 3);
}
