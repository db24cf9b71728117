/* known_executors.h - the executors that are known to exist somewhere: those of the caller's
 * pawl.yaml, those that the workers in the database serve, and those that have run attempts before.
 * Any other executor that a job names may be mistyped. */
#ifndef API_KNOWN_EXECUTORS_H
#define API_KNOWN_EXECUTORS_H

#include "api/api.h"

struct known_executors {
    struct arena arena;
    VEC(const char *) keys;
    bool any; /* set if a worker does not say what it serves: then any executor may exist */
};

/* Adds the executors of the configuration and of the workers. */
MUST_USE int known_executors_read(struct pawl *p, struct known_executors *k, struct err *err);
/* Adds the executors that have run attempts, even if no worker serves them now. Reads more rows. */
MUST_USE int known_executors_read_past(struct pawl *p, struct known_executors *k, struct err *err);
/* Adds one executor; lanes of functions are ignored. */
void known_executors_add(struct known_executors *k, const char *key);
bool known_executors_have(const struct known_executors *k, const char *key);
/* The known key that is most similar; NULL if none is. */
const char *known_executors_suggest(const struct known_executors *k, const char *key);
void known_executors_release(struct known_executors *k);

#endif
