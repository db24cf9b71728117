/* diff.h - the differences between two runs: their definitions and params, and how each task ended.
 * Pure. Points in time, ids and workers are not compared. */
#ifndef CORE_HISTORY_DIFF_H
#define CORE_HISTORY_DIFF_H

#include <stddef.h>
#include <stdint.h>

struct json_t; /* jansson's */

/* ---- values ---- */

/* Returns the members that differ between two objects, as a list of {"name", "a", "b"}; "a" or "b"
 * is left out if that object has no such member. NULL and values that are not objects count as
 * empty objects. The list is a new reference. */
struct json_t *compare_members(const struct json_t *a, const struct json_t *b);

/* ---- definitions ---- */

/* Compares two parsed canonical texts (core/workflow/model.h). Returns what was added, removed or
 * changed, in the order of the files, as a list of {"task", "change", "keys"}. "task" is null for
 * the workflow itself, or names a task, also in nested workflows ("outer/inner"); "keys" are the
 * changed keys. The list is a new reference. */
struct json_t *compare_definitions(const struct json_t *a, const struct json_t *b);

/* Like compare_definitions, for two jobs that are not workflows: compares their parsed specs
 * (core/spec.h), which may be NULL. "task" is null. */
struct json_t *compare_specs(const struct json_t *a, const struct json_t *b);

/* ---- executions ---- */

#define DIFFERENCES(X)                                     \
    X(THERE, "there") /* one run does not have the task */ \
    X(STATUS, "status")                                    \
    X(OUTPUTS, "outputs")                                  \
    X(ERROR, "error")                                      \
    X(ATTEMPTS, "attempts")                                \
    X(DURATION, "duration") /* by at least 0.1 s and a quarter of the longer */

#define X(name, text) DIFFERS_##name##_,
enum { DIFFERENCES(X) DIFFERS_COUNT };
#undef X
#define X(name, text) DIFFERS_##name = 1 << DIFFERS_##name##_,
enum differs { DIFFERENCES(X) };
#undef X
/* Differences that are never due to chance. Attempts and duration may differ by chance. */
#define DIFFERS_REALLY (DIFFERS_THERE | DIFFERS_STATUS | DIFFERS_OUTPUTS | DIFFERS_ERROR)

const char *differs_text(int bit); /* DIFFERS_THERE_ … */

struct diff_node {
    const char *path; /* the path from the root of the run: "each[1]", "below/one" */
    int64_t id;
    int kind, status, attempts, depth;
    /* End of the task, in µs after the start of the run; negative if it has not ended. */
    int64_t ended;
    int64_t duration; /* µs; negative if unknown */
    const char *outputs, *error;
};

struct diff_pair {
    const struct diff_node *a, *b; /* NULL in the run that does not have the task */
    unsigned differs;              /* enum differs */
};

unsigned compare_nodes(const struct diff_node *a, const struct diff_node *b);
/* Pairs the nodes of both runs by path; nodes with equal paths are paired in the order of their
 * ids. `out` has room for na + nb pairs; the pairs are sorted by time, with descendants before
 * their ancestors. Returns the number of pairs. */
size_t diff_runs(const struct diff_node *a, size_t na, const struct diff_node *b, size_t nb,
                 struct diff_pair *out);

#endif
