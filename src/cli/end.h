/* end.h - how commands report the end of an execution. */
#ifndef CLI_END_H
#define CLI_END_H

#include "cli/cli.h"

/* Returns the exit code for a final status; -1 if it is not final. */
int end_exit_code(const char *status);
/* Prints the execution, which has ended: as JSON on stdout if `json` is set, and its status and
 * error on stderr unless it succeeded. */
MUST_USE int end_print(struct pawl *p, int64_t id, bool json, struct pawl_error *err);

#endif
