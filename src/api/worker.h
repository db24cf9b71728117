/* worker.h - the handle of an embedder's worker, shared by worker.c and settle.c. */
#ifndef API_WORKER_H
#define API_WORKER_H

#include "api/api.h"
#include "store/turn.h"

struct pawl_worker {
    struct pawl *pawl;
    int64_t id;
    const char *folder;
    struct worker row; /* the worker's row in the database, written at registration and by each
                          tick */
    int64_t lease, host_grace;
    struct lane_queue *serves;
    size_t nserves;
    int64_t healthy_since; /* CLOCK_BOOTTIME, µs: every tick since then succeeded in time */
    int64_t last_tick;     /* CLOCK_BOOTTIME, µs */
    bool draining;         /* an operator has asked this worker to drain */
    struct arena own;      /* strings that live as long as the worker */
    struct arena claimed;  /* strings of the last claim */
};

#endif
