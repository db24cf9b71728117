/* definition.h - shared by the commands that take a workflow file. */
#ifndef CLI_DEFINITION_H
#define CLI_DEFINITION_H

#include "cli/cli.h"

/* Prints all problems of a file: on stderr, with the source lines, or as JSON lines on stdout.
 * Returns 0, or the exit code. *out (may be NULL) describes a valid definition. */
MUST_USE int cli_validate(const char *file, bool json, struct pawl_definition *out);

#endif
