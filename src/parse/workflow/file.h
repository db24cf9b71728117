/* file.h - reads a workflow file and all files that it nests into a checked definition
 * (core/workflow/model.h). All errors are collected as diagnostics, each with its location. */
#ifndef PARSE_WORKFLOW_FILE_H
#define PARSE_WORKFLOW_FILE_H

#include "core/workflow/model.h"
#include "parse/diagnostics.h"

/* Loads a workflow file. Returns 0 if no error was added; *out then lives in the arena. Returns
 * -E_INVALID if errors were added; `err` contains the first one. Any other code means that the file
 * can't be read. */
MUST_USE int workflow_load(const char *path, struct diagnostics *diagnostics, struct arena *arena,
                           const struct workflow **out, struct err *err);

/* Like workflow_load, for text that is not from a file. Relative paths of nested workflows start at
 * `folder`, which is absolute; if it is NULL, only absolute paths are allowed. The source is owned
 * by the diagnostics. */
MUST_USE int workflow_parse(const struct source *source, const char *folder,
                            struct diagnostics *diagnostics, struct arena *arena,
                            const struct workflow **out, struct err *err);

#endif
