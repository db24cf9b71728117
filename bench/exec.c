/* exec.c - measures commands that do nothing, through the whole engine: each is a process under its
 * shim, in its own attempt folder, with five events per job.
 *
 *   exec URL STATE JOBS SLOTS [COMMAND]
 *
 * All jobs are queued, then the clock starts and a worker runs SLOTS of them at once. With one slot
 * this is the cost of a chain: the turn that settles one job claims the next. Prints one JSON line;
 * queueing and opening are not counted. */
#include "kit.h"

int main(int argc, char **argv)
{
    struct kit k = {.program = "exec"};
    struct submission s = {.kind = KIND_EXEC, .name = "exec::true", .task_index = -1};
    struct store *store = NULL;
    struct err err = ERR_INIT;
    char spec[512];
    size_t jobs;
    double began, took;

    if (argc != 5 && argc != 6) {
        fprintf(stderr, "usage: exec URL STATE JOBS SLOTS [COMMAND]\n");
        return 2;
    }
    k.url = argv[1];
    k.state = argv[2];
    jobs = strtoul(argv[3], NULL, 10);
    k.slots = (int)strtol(argv[4], NULL, 10);
    snprintf(spec, sizeof(spec), "{\"argv\":[\"%s\"]}", argc == 6 ? argv[5] : "true");
    s.spec = spec;
    kit_must(&k, store_open(k.url, NULL, NULL, &store, &err), &err);
    kit_submit(&k, store, &s, jobs);
    store_close(&store);
    kit_open(&k);
    k.commits = 0;
    began = kit_seconds();
    while (k.ended < jobs)
        kit_step(&k, -1);
    took = kit_seconds() - began;
    printf("{\"what\":\"exec\",\"jobs\":%zu,\"slots\":%d,\"seconds\":%.3f,\"commits\":%ld}\n", jobs,
           k.slots, took, k.commits);
    engine_close(&k.engine);
    return k.failed != 0;
}
