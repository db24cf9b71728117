/* bisect_turn.c - bisects a turn that can't be written, part by part (bisect.h): only the command
 * or job that makes it fail is refused, dropped or quarantined. */
#include "engine/turn/plan.h"

#include <stdlib.h>
#include <string.h>

struct part {
    struct loop *l;
    enum turn_part which;
};

size_t loop_count_part(const struct loop *l, enum turn_part part)
{
    const size_t n[] = {[PART_STARTS] = l->starts.n,
                        [PART_LOGS] = l->logs.n,
                        [PART_OUTCOMES] = l->ended.n,
                        [PART_SUBMITS] = l->submits.n,
                        [PART_CLAIMS] = l->claimed_jobs.seen.n};

    return n[part];
}

static int64_t id_of_first(const struct loop *l, enum turn_part part)
{
    if (!loop_count_part(l, part))
        return 0;
    return part == PART_STARTS     ? l->starts.at[0].execution
           : part == PART_LOGS     ? l->logs.at[0].execution
           : part == PART_OUTCOMES ? l->ended.at[0]->a.execution
           : part == PART_SUBMITS  ? l->submits.at[0]->number
                                   : l->claimed_jobs.seen.first;
}

/* Runs one turn with rows of one part. A turn that writes starts or logs waits for locks: a turn
 * that skips a locked row proves nothing about that row, and bisect would then isolate other
 * commands. */
static int run_part(void *arg, size_t max, struct rows_seen *seen, struct err *err)
{
    const struct part *p = arg;
    struct turn_options o = {.wait_for_locks = p->which <= PART_LOGS};
    int rc;

    o.max[p->which] = max;
    rc = turn_run(p->l, o, err);
    *seen = (struct rows_seen){p->which == PART_CLAIMS ? p->l->claimed_jobs.seen.n : max,
                               id_of_first(p->l, p->which)};
    return rc;
}

static int drop_start(void *arg, struct err *err)
{
    struct loop *l = ((const struct part *)arg)->l;

    err_prefix(err, "the start of execution %lld can't be stored and is missing from its events",
               (long long)l->starts.at[0].execution);
    engine_note(l->e, err->msg);
    drop_first(&l->starts);
    return 0;
}

/* Drops all waiting output of the first chunk's execution: later chunks would leave a gap. */
static int drop_log(void *arg, struct err *err)
{
    struct loop *l = ((const struct part *)arg)->l;
    int64_t execution = l->logs.at[0].execution;
    size_t i, kept = 0;

    for (i = 0; i < l->logs.n; i++)
        if (l->logs.at[i].execution == execution)
            free(l->logs.at[i].bytes);
        else
            l->logs.at[kept++] = l->logs.at[i];
    l->logs.n = kept;
    err_prefix(err, "output of execution %lld can't be stored and is missing from its log",
               (long long)execution);
    engine_note(l->e, err->msg);
    return 0;
}

/* Replaces an outcome that can't be written even alone by a failure that gives the reason. If the
 * failure can't be written either, the job is dropped and its lease runs out: a job must not stay
 * running because of its outcome. */
static int replace_outcome(void *arg, struct err *err)
{
    struct loop *l = ((const struct part *)arg)->l;
    struct leased_job *h = l->ended.at[0];

    if (h->outcome_replaced) {
        dispatch_forget(l->e->dispatch, h->a.execution, h->a.attempt);
        leased_job_drop(l->e, h);
        return 0;
    }
    free((char *)h->outcome.result);
    free((char *)h->outcome.error);
    h->outcome = (struct outcome){.kind = OUTCOME_FAILED,
                                  .error = mem_printf("the outcome can't be stored: %s", err->msg),
                                  .duration = -1,
                                  .retry_delay = -1};
    h->outcome_replaced = true;
    return 0;
}

void refuse_submission(struct loop *l, const struct err *err)
{
    struct pending_submit *s = l->submits.at[0];

    s->s.rc = -(int)err->code;
    s->s.err = *err;
    if (s->done)
        s->done(s->arg, &s->s);
    free(s);
    drop_first(&l->submits);
}

static int refuse_first_submission(void *arg, struct err *err)
{
    refuse_submission(((const struct part *)arg)->l, err);
    return 0;
}

static int quarantine_job(void *arg, struct err *err)
{
    const struct loop *l = ((const struct part *)arg)->l;
    const struct claimed_jobs *c = &l->claimed_jobs;

    if (!quarantine_add(&l->e->quarantined, c->seen.first, engine_now(l->e)))
        return -(int)err->code; /* the quarantine is full: the jobs are not the cause */
    err_prefix(err, "%s execution %lld failed and will be tried again in a minute",
               c->adopted ? "adopting" : "claiming", (long long)c->seen.first);
    engine_note(l->e, err->msg);
    return 0;
}

/* Tries the parts one after the other. Commands that can be written in a turn of their own are not
 * the cause, and that turn writes them. The jobs that the failed turn claimed are tried last, even
 * if new commands have come in since. */
int bisect_turn(struct loop *l, int rc, struct err *err)
{
    static const struct bisect_work parts[TURN_PARTS] = {
        [PART_STARTS] = {run_part, drop_start},
        [PART_LOGS] = {run_part, drop_log},
        [PART_OUTCOMES] = {run_part, replace_outcome},
        [PART_SUBMITS] = {run_part, refuse_first_submission},
        [PART_CLAIMS] = {run_part, quarantine_job},
    };
    struct part p = {.l = l};

    for (; p.which < TURN_PARTS; p.which++) {
        struct bisect_state *state = &l->bisect[p.which];
        size_t n = loop_count_part(l, p.which);
        struct err why = ERR_INIT;

        if (!n)
            continue;
        rc = bisect(&parts[p.which], &p, n < TURN_MAX ? n : TURN_MAX, state, &why);
        if (rc)
            *err = why;
        if (rc || state->more_rows)
            break;
    }
    return rc;
}

void release_quarantined_jobs(struct engine *e)
{
    if (quarantine_remove_expired(&e->quarantined, engine_now(e))) {
        e->groups_to_poll = UINT64_MAX;
        e->adopt = true;
    }
}
