/* submit.c - pawl_submit. */
#include "api/api.h"

#include <stdlib.h>

struct submitting {
    struct submission *list;
    size_t n;
    bool busy;
};

/* One that can't be taken ends the turn, so that nothing of the others is stored either. */
static int submit_body(struct turn *t, void *arg, struct err *err)
{
    struct submitting *s = arg;
    size_t i;
    int rc;

    s->busy = false;
    if ((rc = op_submit(t, s->list, s->n, err)))
        return rc;
    for (i = 0; i < s->n; i++) {
        if (!s->list[i].rc)
            continue;
        if (s->list[i].rc == -E_BUSY) {
            s->busy = true;
            return err_set(err, E_BUSY, "the parent's tree is locked by others for long");
        }
        *err = s->list[i].err;
        return s->n > 1 ? err_prefix(err, "job %zu of %zu", i + 1, s->n) : s->list[i].rc;
    }
    return 0;
}

/* Like api_turns, but for all or none. */
static int submit_all(struct pawl *p, struct submitting *s, struct err *err)
{
    int i, rc;

    for (i = 0; i < 3; i++) {
        rc = store_turn(p->store, submit_body, s, err);
        if (rc != -E_BUSY || !s->busy)
            return rc;
    }
    return store_turn_waiting(p->store, submit_body, s, err);
}

int pawl_submit(struct pawl *p, struct pawl_job *jobs, size_t n, struct pawl_error *e)
{
    struct submitting s = {.list = mem_zalloc((n + 1) * sizeof(*s.list)), .n = n};
    struct err err = ERR_INIT;
    size_t i;
    int rc;

    for (i = 0; i < n; i++)
        s.list[i] = (struct submission){.kind = KIND_EXEC,
                                        .parent = jobs[i].parent,
                                        .name = jobs[i].name,
                                        .queue = jobs[i].queue,
                                        .lane = jobs[i].lane,
                                        .concurrency = jobs[i].concurrency,
                                        .concurrency_max = jobs[i].concurrency_max,
                                        .input = jobs[i].input,
                                        .key = jobs[i].key,
                                        .task_index = -1,
                                        .priority = jobs[i].priority,
                                        .max_attempts = jobs[i].max_attempts,
                                        .delay = jobs[i].delay};
    if (!(rc = submit_all(p, &s, &err)))
        for (i = 0; i < n; i++) {
            jobs[i].id = s.list[i].id;
            jobs[i].existed = s.list[i].existed;
        }
    free(s.list);
    return api_end(rc, &err, e);
}
