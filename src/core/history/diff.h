/* diff.h - the differences between two runs: their definitions and params, and how each task ended.
 * Pure. Points in time, ids and workers are not compared. */
#ifndef CORE_HISTORY_DIFF_H
#define CORE_HISTORY_DIFF_H

#include <stddef.h>
#include <stdint.h>

struct json_t; /* jansson's */

/* ---- values ---- */

/* The members that differ between two objects, as a list of {"name", "a", "b"}; "a" or "b" is left
 * out if that object has no such member. NULL and values that are not objects have no members. A
 * new reference. */
struct json_t *compare_members(const struct json_t *a, const struct json_t *b);

/* ---- definitions ---- */

/* Compares two parsed canonical texts (core/workflow/model.h). Returns a list of {"task", "change",
 * "keys"}: the workflow itself (task null) and its tasks, or those of nested workflows
 * ("outer/inner"), that were added, removed or changed, with the changed keys; in the order of the
 * files. A new reference. */
struct json_t *compare_definitions(const struct json_t *a, const struct json_t *b);

/* Like compare_definitions, for two jobs that are not workflows: compares their parsed specs
 * (core/spec.h), which may be NULL; the task is null. */
struct json_t *compare_specs(const struct json_t *a, const struct json_t *b);

/* ---- executions ---- */

#define DIFFERENCES(X)                               \
    X(THERE, "there") /* one run has no such task */ \
    X(STATUS, "status")                              \
    X(OUTPUTS, "outputs")                            \
    X(ERROR, "error")                                \
    X(ATTEMPTS, "attempts")                          \
    X(DURATION,                                      \
      "duration") /* they differ by 0.1 s or more, and by a quarter of the longer one or more */

#define X(name, text) DIFFERS_##name##_,
enum { DIFFERENCES(X) DIFFERS_COUNT };
#undef X
#define X(name, text) DIFFERS_##name = 1 << DIFFERS_##name##_,
enum differs { DIFFERENCES(X) };
#undef X
/* Real differences. Attempts and duration may differ by chance. */
#define DIFFERS_REALLY (DIFFERS_THERE | DIFFERS_STATUS | DIFFERS_OUTPUTS | DIFFERS_ERROR)

const char *differs_text(int bit); /* DIFFERS_THERE_ … */

struct diff_node {
    const char *path; /* from the root of the run: "each[1]", "below/one" */
    int64_t id;
    int kind, status, attempts, depth;
    int64_t ended;    /* µs after the start of the run; < 0 if it has not ended */
    int64_t duration; /* µs; < 0 if unknown */
    const char *outputs, *error;
};

struct diff_pair {
    const struct diff_node *a, *b; /* one may be NULL */
    unsigned differs;              /* enum differs */
};

unsigned compare_nodes(const struct diff_node *a, const struct diff_node *b);
/* Pairs the nodes of both runs by path; nodes with equal paths are paired in the order of their
 * ids. `out` has room for na + nb pairs; they are sorted by time, descendants before their
 * ancestors. Returns the number of pairs. */
size_t diff_runs(const struct diff_node *a, size_t na, const struct diff_node *b, size_t nb,
                 struct diff_pair *out);

#endif
