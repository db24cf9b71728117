/* old_attempts.h - after a fence: what earlier generations left in the state folder. */
#ifndef API_OLD_ATTEMPTS_H
#define API_OLD_ATTEMPTS_H

#include "base/env.h"
#include "base/err.h"

struct old_attempts;

/* Ends the attempts below `dirs` that still run: they must not run at the same time as those of
 * this generation. env->give_up stops it. */
MUST_USE int old_attempts_end(const char *const *dirs, struct env *env, struct err *err);

/* Starts to remove the folders of the ended attempts, in a thread. One worker of a state folder
 * does this; if it ends, another one continues. Reports progress by notes. NULL if there is nothing
 * to remove, or if the thread can't be started; the next worker removes them then. */
struct old_attempts *old_attempts_remove(const char *const *dirs, struct env *env);
void old_attempts_stop(struct old_attempts **o); /* stops at once; folders that are left stay */

#endif
