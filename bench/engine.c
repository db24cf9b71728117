/* engine.c - measures whole lives of functions that do nothing, through the whole engine: submitted
 * to its loop, claimed, run on its threads and settled, with five events per job. Each engine is a
 * separate process with its own queue.
 *
 *   engine URL STATE BATCH ENGINES JOBS [LOOPS]
 *
 * BATCH is how many jobs are submitted at once, and how many may wait in the worker for a thread;
 * the next BATCH jobs are submitted while those run. LOOPS is how many turns each engine makes at
 * once; with more loops, more jobs are submitted before earlier ones have ended. Prints one JSON
 * line. */
#include "kit.h"

#include <sys/mman.h>
#include <sys/wait.h>

static long *commits; /* the commits of all processes */

static int noop(struct function_call *c, void *arg)
{
    (void)c;
    (void)arg;
    return 0;
}

static void run(struct kit k, size_t batch, size_t jobs, int number, int ready, int go)
{
    static char queue[32];
    struct submission s = {.kind = KIND_EXEC,
                           .name = "exec::noop",
                           .lane = "function:bench",
                           .queue = queue,
                           .task_index = -1,
                           .input = "{\"argv\":[\"true\"]}"};
    size_t submitted = 0, i;
    char c = 0;

    snprintf(queue, sizeof(queue), "q%d", number);
    k.queue = queue;
    k.function = noop;
    k.threads = 1;
    k.local = (int)batch;
    kit_open(&k);
    kit_settle_down(&k);
    if (write(ready, &c, 1) != 1 || read(go, &c, 1) < 0)
        exit(1);
    while (k.ended < jobs) {
        while (submitted < jobs && submitted - k.ended <= batch * (size_t)k.loops)
            for (i = 0; i < batch; i++, submitted++)
                engine_submit(k.engine, &s, NULL, NULL);
        kit_step(&k, -1);
    }
    __atomic_fetch_add(commits, k.commits, __ATOMIC_SEQ_CST);
    if (write(ready, &c, 1) != 1)
        exit(1);
    engine_close(&k.engine);
    exit(k.failed != 0);
}

static void await(int fd, int n)
{
    char c;

    while (n--)
        if (read(fd, &c, 1) != 1)
            exit(1);
}

int main(int argc, char **argv)
{
    struct kit k = {.program = "engine"};
    int ready[2], go[2], engines, i, status, failed = 0;
    size_t batch, jobs;
    double began, took;

    if (argc != 6 && argc != 7) {
        fprintf(stderr, "usage: engine URL STATE BATCH ENGINES JOBS [LOOPS]\n");
        return 2;
    }
    k.url = argv[1];
    k.state = argv[2];
    batch = strtoul(argv[3], NULL, 10);
    engines = (int)strtol(argv[4], NULL, 10);
    jobs = strtoul(argv[5], NULL, 10) / (size_t)engines / batch * batch;
    k.loops = argc > 6 ? (int)strtol(argv[6], NULL, 10) : 1;
    commits =
        mmap(NULL, sizeof(*commits), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (commits == MAP_FAILED || pipe(ready) || pipe(go))
        return 1;
    for (i = 0; i < engines; i++)
        if (fork() == 0) {
            close(go[1]);
            run(k, batch, jobs, i, ready[1], go[0]);
        }
    close(ready[1]); /* so that a process that fails is not waited for */
    await(ready[0], engines);
    began = kit_seconds();
    close(go[1]);
    await(ready[0], engines);
    took = kit_seconds() - began;
    for (i = 0; i < engines; i++) {
        wait(&status);
        failed |= status;
    }
    jobs *= (size_t)engines;
    printf("{\"what\":\"engine\",\"batch\":%zu,\"engines\":%d,\"loops\":%d,\"jobs\":%zu,"
           "\"seconds\":%.3f,\"lives_per_s\":%.0f,\"commits\":%ld}\n",
           batch, engines, k.loops, jobs, took, (double)jobs / took, *commits);
    return failed != 0;
}
