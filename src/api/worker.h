/* worker.h - the inside of a worker handle. */
#ifndef API_WORKER_H
#define API_WORKER_H

#include "api/api.h"
#include "store/turn.h"

struct pawl_worker {
    struct pawl *pawl;
    int64_t id;
    const char *folder;
    struct worker row; /* how it says hello, also again */
    int64_t lease, host_grace;
    struct lane_queue *serves;
    size_t nserves;
    int64_t healthy_since, last_tick; /* boot clock, µs: since when the database answered */
    struct arena own;                 /* what lives as long as the worker */
    struct arena claimed;             /* texts of the last claim */
};

#endif
