/* definition.h - what the commands share that take a workflow file. */
#ifndef CLI_DEFINITION_H
#define CLI_DEFINITION_H

#include "cli/cli.h"

/* Says all that is wrong with a file: on stderr, with its lines, or as JSON lines on stdout.
 * Returns 0, or what to exit with. *out, if wanted: what a good one holds. */
MUST_USE int cli_validate(const char *file, bool json, struct pawl_definition *out);

#endif
