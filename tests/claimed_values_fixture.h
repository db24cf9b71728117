/* claimed_values_fixture.h - the values of expressions as a claimed job gets them, in its variables
 * or arguments, and outputs that are large. */
#ifndef TESTS_CLAIMED_VALUES_FIXTURE_H
#define TESTS_CLAIMED_VALUES_FIXTURE_H

#include "workflow_fixture.h"

#include <jansson.h>

/* The value at env.NAME in the spec of the job that was claimed last; the caller frees it. */
static inline char *claimed_variable(const struct task_claim *k, const char *name)
{
    json_t *spec = json_loads(k->spec, 0, NULL);
    const char *text = json_string_value(json_object_get(json_object_get(spec, "env"), name));
    char *copy = text ? strdup(text) : NULL;

    CHECK(copy);
    json_decref(spec);
    return copy;
}

static inline void check_variable(const struct task_claim *k, const char *name, const char *expect)
{
    char *got = claimed_variable(k, name);

    CHECK_STR(got, expect);
    free(got);
}

/* `expect` is the argv of the job that was claimed last, as JSON. */
static inline void check_argv(const struct task_claim *k, const char *expect)
{
    json_t *spec = json_loads(k->spec, 0, NULL);
    char *got = json_dumps(json_object_get(spec, "argv"), JSON_COMPACT);

    CHECK_STR(got, expect);
    free(got);
    json_decref(spec);
}

/* Claims the only job that is ready, which must have this name. */
static inline void claim_only(struct store *s, struct task_claim *k, const char *name)
{
    CHECK_EQ(claim_tasks(s, k), 1);
    CHECK_STR(k->names[0], name);
}

/* Settles all claimed jobs with this result; the job named `fails` fails. */
static inline void settle_claimed(struct store *s, const struct task_claim *k, const char *fails,
                                  const char *result)
{
    size_t i;

    for (i = 0; i < k->n; i++)
        settle_task(s, k->held[i], strcmp(k->names[i], fails) ? OUTCOME_OK : OUTCOME_FAILED,
                    result);
}

/* Outputs with a text of this many bytes. */
static inline struct buf large_outputs(int bytes)
{
    struct buf outputs = BUF_INIT;

    buf_addf(&outputs, "{\"text\":\"%*s\"}", bytes, "");
    return outputs;
}

/* Submits workflow w with `first`, the tasks t0 to t(n-1), and `last`, which are lines of YAML. */
static inline int64_t submit_many_tasks(struct store *s, const char *first, int n, const char *last)
{
    struct buf yaml = BUF_INIT;
    int64_t w;
    int i;

    buf_addf(&yaml, "name: w\ntasks:\n%s", first);
    for (i = 0; i < n; i++)
        buf_addf(&yaml, "  t%d: {run: x}\n", i);
    buf_addstr(&yaml, last);
    w = submit_workflow(s, yaml.ptr, NULL);
    buf_release(&yaml);
    return w;
}

#endif
