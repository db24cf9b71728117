/* reader.h - declarations shared by the files that read a workflow. The table of keys drives the
 * reading (parse/read_key.h); checks that need the whole graph follow at the end.
 *
 *   file.c           files, and the files that they nest
 *   root.c           a whole file
 *   tasks.c          tasks, needs and defaults
 *   params.c         params and schedules
 *   check_params.c   values for params
 *   check.c          cycles, and indirect needs
 *   references.c     the references in expressions
 *   location.c       the column of an offset in a string */
#ifndef PARSE_WORKFLOW_READER_H
#define PARSE_WORKFLOW_READER_H

#include "parse/read_key.h"
#include "parse/workflow/file.h"

/* Reads a whole file. If no error was added, the definition is complete. */
void reader_root(struct reader *r, const struct yaml *root);
bool reader_tasks(struct reader *r, const struct yaml *node, const char *what);
/* The index of the task that has this value in the mapping of tasks. */
uint32_t reader_task_index(const struct reader *r, const struct yaml *value);
bool reader_hook(struct reader *r, const struct yaml *node, const char *name,
                 struct workflow_task **out);
bool reader_defaults(struct reader *r, const struct yaml *node, const char *what);
bool reader_needs(struct reader *r, const struct yaml *node, const char *what,
                  struct workflow_task *t);
bool reader_params(struct reader *r, const struct yaml *node, const char *what);
bool reader_schedules(struct reader *r, const struct yaml *node, const char *what);
bool reader_webhooks(struct reader *r, const struct yaml *node, const char *what);
bool reader_follows(struct reader *r, const struct yaml *node, const char *what);
/* Loads another workflow file, which this one nests. Errors are added at the node. */
bool reader_nested(struct reader *r, const struct yaml *node, const char *what,
                   const struct workflow **out);

/* Checks values for the params of a workflow: each param exists, each value has the param's type,
 * and no required param is missing. `with` may be NULL. */
void reader_check_with(struct reader *r, const struct workflow *of, const struct yaml *with,
                       const struct yaml *location, const char *what);
bool reader_check_type(struct reader *r, const struct yaml *node, const char *what,
                       enum param_type type);

/* ---- final checks ---- */

/* Adds an error for each cycle of needs; returns false if there is a cycle. */
bool reader_check_graph(struct reader *r);
/* Parses each noted string (reader_note_text) and checks its references. `acyclic` is true if the
 * graph has no cycle. */
void reader_check_texts(struct reader *r, bool acyclic);
/* A reference from `task` to `wanted`. It is allowed if `task` needs `wanted` directly or
 * indirectly. */
struct far_need {
    uint32_t task, wanted;
    const struct text_use *use;
    size_t offset;
};
/* Adds an error for each entry whose `task` does not need `wanted`, directly or indirectly. The
 * graph must have no cycle. */
void reader_check_far(struct reader *r, const struct far_need *list, size_t n);
/* Adds an error at an offset in the string, or at its start if the column can't be determined. */
void reader_error(struct reader *r, const struct text_use *use, size_t offset, const char *fmt, ...)
    PRINTF_LIKE(4, 5);

#endif
