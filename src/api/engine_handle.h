/* engine_handle.h - the handle of an engine, for the files that make one of it: engine_handle.c,
 * its life, and engine_executors.c, what it runs jobs with. */
#ifndef API_ENGINE_HANDLE_H
#define API_ENGINE_HANDLE_H

#include "api/api.h"
#include "engine/engine.h"

struct pawl_engine {
    struct pawl *p;
    const struct pawl_engine_options *o; /* while it is opened */
    struct env env;
    struct engine *engine;
    struct functions *functions;
    const char *state; /* the folder, while it is opened */
    int slots;
    bool here, given; /* one job alone; it was submitted */
    pawl_told *on_status;
    void *on_status_arg;
    bool (*give_up)(void *arg);
    void *give_up_arg;
};

/* engine_executors.c: a dispatcher with the executors of the configuration. */
MUST_USE int api_executors_make(struct pawl_engine *e, const struct engine_dispatch_setup *place,
                                struct dispatch **out, struct err *err);

#endif
