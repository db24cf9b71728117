/* diff.h - what differs between two runs: in what they ran by, and in what became of each task.
 * Pure; times, ids and workers are no differences. */
#ifndef CORE_HISTORY_DIFF_H
#define CORE_HISTORY_DIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_t; /* jansson's */

/* ---- values ---- */

/* The members that differ between two objects, as a list of {"name", "a", "b"}; where one has none
 * its value is missing. NULL, and what is no object, has no members. A new reference. */
struct json_t *compare_members(const struct json_t *a, const struct json_t *b);

/* ---- definitions ---- */

/* Canonical texts of workflows (core/workflow/model.h), parsed. A list of {"task", "change",
 * "keys"}: the workflow itself (task null) and tasks of it, or of those nested in it
 * ("outer/inner"), that were added, removed or changed, with the keys that were; each in the order
 * of the files. A new reference. */
struct json_t *compare_definitions(const struct json_t *a, const struct json_t *b);

/* The same of two jobs that are no workflows, by how they are run (core/spec.h, parsed; NULL: of no
 * matter); the task is null. */
struct json_t *compare_specs(const struct json_t *a, const struct json_t *b);

/* ---- executions ---- */

#define DIFFERENCES(X)                                   \
    X(THERE, "there") /* one of them has no such task */ \
    X(STATUS, "status")                                  \
    X(OUTPUTS, "outputs")                                \
    X(ERROR, "error")                                    \
    X(ATTEMPTS, "attempts")                              \
    X(DURATION, "duration") /* by a tenth of a second, and a quarter of the longer */

#define X(name, text) DIFFERS_##name##_,
enum { DIFFERENCES(X) DIFFERS_COUNT };
#undef X
#define X(name, text) DIFFERS_##name = 1 << DIFFERS_##name##_,
enum differs { DIFFERENCES(X) };
#undef X
/* These are what is not the same; the others may well be by chance. */
#define DIFFERS_REALLY (DIFFERS_THERE | DIFFERS_STATUS | DIFFERS_OUTPUTS | DIFFERS_ERROR)

const char *differs_text(int bit); /* DIFFERS_THERE_ … */

struct diff_node {
    const char *path; /* from the top: "each[1]", "below/one" */
    int64_t id;
    int kind, status, attempts, depth;
    int64_t ended;    /* µs after the beginning of the top; < 0: it has not */
    int64_t duration; /* µs; < 0: not known */
    const char *outputs, *error;
};

struct diff_pair {
    const struct diff_node *a, *b; /* one of them may be NULL */
    unsigned differs;              /* enum differs */
};

unsigned compare_nodes(const struct diff_node *a, const struct diff_node *b);
/* Those of both by their paths; several with the same path by their order. `out` has room for
 * na + nb; it comes in the order of time, what is below a task before the task. Returns their
 * number. */
size_t diff_runs(const struct diff_node *a, size_t na, const struct diff_node *b, size_t nb,
                 struct diff_pair *out);

#endif
