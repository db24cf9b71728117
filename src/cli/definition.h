/* definition.h - shared by the commands that take a workflow file. */
#ifndef CLI_DEFINITION_H
#define CLI_DEFINITION_H

#include "cli/cli.h"

/* Reads a workflow file, once. If it has problems, prints all of them on stderr, with the source
 * lines, and returns the exit code. The caller frees *out with pawl_workflow_free. */
MUST_USE int cli_load(const char *file, struct pawl_workflow **out);

#endif
