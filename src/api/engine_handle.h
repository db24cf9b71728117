/* engine_handle.h - the handle of an engine, shared by engine_handle.c (its life cycle) and
 * engine_executors.c (its executors). */
#ifndef API_ENGINE_HANDLE_H
#define API_ENGINE_HANDLE_H

#include "api/api.h"
#include "engine/engine.h"

struct pawl_engine {
    struct pawl *p;
    const struct pawl_engine_options *o; /* NULL except while the engine is being opened */
    struct env env;
    struct engine *engine;
    struct functions *functions;
    struct old_attempts *old_attempts; /* NULL unless folders of old attempts are being removed */
    const char *state; /* the state folder; NULL except while the engine is being opened */
    struct retention_policy retention; /* used if the database has no retention setting */
    int slots;
    bool here, has_job; /* here: a foreground engine; has_job: its one job was submitted */
    pawl_told *on_status;
    void *on_status_arg;
    bool (*give_up)(void *arg);
    void *give_up_arg;
};

/* engine_executors.c: makes a dispatcher with the executors of the configuration. */
MUST_USE int api_executors_make(struct pawl_engine *e, const struct engine_dispatch_setup *place,
                                struct dispatch **out, struct err *err);

#endif
