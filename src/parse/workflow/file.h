/* file.h - a workflow file and all that it nests -> a checked definition (core/workflow/model.h).
 * All that is wrong is collected in the problems, with its place. */
#ifndef PARSE_WORKFLOW_FILE_H
#define PARSE_WORKFLOW_FILE_H

#include "core/workflow/model.h"
#include "parse/diagnostics.h"

/* 0: *out lives in the arena, and no problem was added. -E_INVALID: problems were added, and err
 * holds the first. Any other error: the file itself can't be read. */
MUST_USE int workflow_load(const char *path, struct diagnostics *diagnostics, struct arena *arena,
                           const struct workflow **out, struct err *err);

/* The same with a text that is no file: `folder` (absolute) is where its relative paths begin;
 * NULL: it can't have any nested workflow. The source lives in the problems. */
MUST_USE int workflow_parse(const struct source *source, const char *folder,
                            struct diagnostics *diagnostics, struct arena *arena,
                            const struct workflow **out, struct err *err);

#endif
