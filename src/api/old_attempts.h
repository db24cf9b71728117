/* old_attempts.h - after a fence: ends the attempts that earlier generations left in the state
 * folder, and removes their folders. */
#ifndef API_OLD_ATTEMPTS_H
#define API_OLD_ATTEMPTS_H

#include "base/env.h"
#include "base/err.h"

struct old_attempts;

/* Ends the attempts below `dirs` that still run: they must not run at the same time as those of
 * this generation. Stops waiting when env->give_up returns true. */
MUST_USE int old_attempts_end(const char *const *dirs, struct env *env, struct err *err);

/* Starts to remove the folders of the ended attempts, in a thread. One worker of a state folder
 * does this; if it ends, another one continues. Reports its progress as notes. Returns NULL if
 * there is nothing to remove, or if the thread can't be started; in that case the next worker that
 * starts removes them. */
struct old_attempts *old_attempts_remove(const char *const *dirs, struct env *env);
void old_attempts_stop(struct old_attempts **o); /* stops at once; the remaining folders stay */

#endif
