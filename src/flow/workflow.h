/* workflow.h - a workflow file and all that it nests -> a checked definition (core/workflow.h). All
 * that is wrong is collected in the problems, with its place. */
#ifndef FLOW_WORKFLOW_H
#define FLOW_WORKFLOW_H

#include "core/workflow.h"
#include "flow/problem.h"

/* 0: *out lives in the arena, and no problem was added. -E_INVALID: problems were added, and err
 * holds the first. Any other error: the file itself can't be read. */
MUST_USE int workflow_load(const char *path, struct problems *problems, struct arena *arena,
                           const struct workflow **out, struct err *err);

/* The same with a text that is no file: `folder` (absolute) is where its relative paths begin;
 * NULL: it can't have any nested workflow. The source lives in the problems. */
MUST_USE int workflow_parse(const struct source *source, const char *folder,
                            struct problems *problems, struct arena *arena,
                            const struct workflow **out, struct err *err);

#endif
