/* rerun_fixture.h - a rerun in a test: the tasks that ran again, or why it was refused. */
#ifndef TESTS_RERUN_FIXTURE_H
#define TESTS_RERUN_FIXTURE_H

#include "store/operator.h"
#include "workflow_fixture.h"

static inline int rerun_body(struct turn *t, void *arg, struct err *err)
{
    return op_rerun(t, arg, err);
}

static struct err refusal;

/* The tasks that ran again, as "a b", by their short names; NULL if the rerun was refused. */
static inline const char *rerun(struct store *s, int64_t id, enum rerun_scope what,
                                const char *from)
{
    static char names[4096];
    struct rerun r = {
        .request = {.execution = id, .by = "ada", .reason = "mended"}, .what = what, .from = from};
    size_t used = 0, i;
    int rc;

    refusal = (struct err)ERR_INIT;
    rc = store_turn(s, rerun_body, &r, &refusal);
    names[0] = 0;
    for (i = 0; i < r.reruns.n; i++) {
        const char *name = strrchr(r.reruns.at[i].name, ':');

        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i ? " " : "",
                                 name ? name + 1 : r.reruns.at[i].name);
        CHECK(used < sizeof(names));
    }
    rerun_release(&r);
    if (!rc && r.request.rc)
        return NULL;
    return rc ? NULL : names;
}

#endif
