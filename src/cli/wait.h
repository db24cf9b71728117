/* wait.h - waits until executions have ended, and prints each as it ends. */
#ifndef CLI_WAIT_H
#define CLI_WAIT_H

#include "cli/cli.h"

/* Waits for all of them, at most `timeout` µs (negative: no limit), and prints a line for each that
 * ends. One that can't be found is reported, and the others are still waited for. Returns the exit
 * code of the first of `ids` that did not succeed, or the negative code of the error in c->err. */
MUST_USE int wait_for_ends(struct cli *c, const int64_t *ids, size_t n, int64_t timeout);

#endif
