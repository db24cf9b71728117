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
    const char *const *queues;         /* owned */
    struct hook_sender *sender;        /* NULL if it does not deliver messages of webhooks */
    int slots;
    bool here, has_job; /* here: a foreground engine; has_job: its one job was submitted */
    pawl_stored *on_status;
    void *on_status_arg;
    bool (*give_up)(void *arg);
    void *give_up_arg;
};

/* engine_executors.c: makes a dispatcher with the executors of the configuration. */
MUST_USE int api_executors_make(struct pawl_engine *e, const struct engine_dispatch_setup *place,
                                struct dispatch **out, struct err *err);

/* hook_deliver.c: delivers messages of webhooks. */
/* Returns the queues that an engine serves, with pawl:hooks if it should deliver; the caller frees
 * the list. Sets *serves to whether pawl:hooks is one of them. */
const char *const *api_hook_queues(const struct pawl_engine_options *o, const struct config *c,
                                   bool *serves);
/* Called before the first step. PAWL_E_UNAVAILABLE: libcurl can't be loaded, and the engine must
 * deliver. */
MUST_USE int api_hooks_serve(struct pawl_engine *e, bool must, struct err *err);
void api_hooks_release(struct pawl_engine *e); /* after the engine was closed */

#endif
