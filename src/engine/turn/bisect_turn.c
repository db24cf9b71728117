/* bisect_turn.c - bisects the commands of a turn that can't be written, so that only the command
 * that makes it fail is refused. Jobs that can't be claimed are in quarantine.c. */
#include "engine/turn/plan.h"

#include <stdlib.h>
#include <string.h>

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

/* After a turn that may be stored this worker ends; other workers find what it may have claimed. */
bool is_not_row_fault(int rc)
{
    return is_transient(rc) || rc == -E_COMMIT_UNKNOWN || rc == -E_CONFLICT;
}

/* Replaces an outcome that can't be written even alone by a failure that gives the reason. If that
 * can't be written either, the job is dropped and its lease runs out: a job must not stay running
 * because of its outcome. */
static void replace_outcome(struct loop *l, const struct err *err)
{
    struct engine *e = l->e;
    struct leased_job *h = l->ended.at[0];

    if (h->outcome_replaced) {
        dispatch_forget(e->dispatch, h->execution, h->attempt);
        leased_job_drop(e, h);
        return;
    }
    free((char *)h->outcome.result);
    free((char *)h->outcome.error);
    h->outcome = (struct outcome){.kind = OUTCOME_FAILED,
                                  .error = mem_printf("the outcome can't be stored: %s", err->msg),
                                  .duration = -1,
                                  .retry_delay = -1};
    h->outcome_replaced = true;
}

/* One outcome, one submission, or one of each is left: refuses the one that fails. */
static int fail_last_command(struct loop *l, struct err *err)
{
    const struct leased_job *first = l->ended.n ? l->ended.at[0] : NULL;
    struct err why = *err;
    int rc = 0;

    if (l->submits.n && l->ended.n) {
        rc = turn_run(
            l, (struct turn_options){.batch = 1, .commands_only = true, .no_submits = true}, err);
        if (rc && is_not_row_fault(rc))
            return rc;
        if (!rc && l->ended.n && l->ended.at[0] == first)
            return 0; /* its tree was locked: either may be the cause */
    }
    if (l->submits.n && !rc)
        refuse_submission(l, &why);
    else if (l->ended.n)
        replace_outcome(l, rc ? err : &why);
    return 0;
}

/* Halves the batch until the command that fails is alone. */
static int bisect_commands(struct loop *l, size_t batch, int rc, struct err *err)
{
    while (rc && !is_not_row_fault(rc) && batch > 1)
        rc = turn_run(l, (struct turn_options){.batch = batch /= 2, .commands_only = true}, err);
    return rc && !is_not_row_fault(rc) ? fail_last_command(l, err) : rc;
}

/* ---- starts and logs ---- */

/* Drops all waiting output of the first chunk's execution: later chunks would leave a gap. */
static void skip_log(struct loop *l, struct err *why)
{
    int64_t execution = l->logs.at[0].execution;
    size_t i, kept = 0;

    for (i = 0; i < l->logs.n; i++)
        if (l->logs.at[i].execution == execution)
            free(l->logs.at[i].bytes);
        else
            l->logs.at[kept++] = l->logs.at[i];
    l->logs.n = kept;
    err_prefix(why, "output of execution %lld can't be stored and is missing from its log",
               (long long)execution);
    engine_note(l->e, why->msg);
}

static void skip_start(struct loop *l, struct err *why)
{
    err_prefix(why, "the start of execution %lld can't be stored and is missing from its events",
               (long long)l->starts.at[0].execution);
    engine_note(l->e, why->msg);
    drop_first(&l->starts);
}

/* The first start or the first log chunk fails even alone: drops the one that fails. */
static int skip_start_or_log(struct loop *l, struct err *err)
{
    struct err why = *err;
    int rc = l->starts.n ? -E_INTERNAL : 0;

    if (l->starts.n && l->logs.n)
        rc = turn_run(l,
                      (struct turn_options){.wait_for_locks = true,
                                            .commands_only = true,
                                            .starts_and_logs = 1,
                                            .no_logs = true},
                      err);
    if (rc && is_not_row_fault(rc))
        return rc;
    if (rc)
        skip_start(l, &why);
    else if (l->logs.n)
        skip_log(l, &why);
    return 0;
}

/* Starts and logs are part of every turn of their loop, so they are tried first, without other
 * commands. These turns wait for locks: a turn that skipped a locked start would prove nothing
 * about it, and other commands would be blamed. */
static int bisect_starts_and_logs(struct loop *l, bool *failed, struct err *err)
{
    struct err why = ERR_INIT;
    size_t n = l->starts.n > l->logs.n ? l->starts.n : l->logs.n;
    int rc = n ? turn_run(l,
                          (struct turn_options){
                              .wait_for_locks = true, .commands_only = true, .starts_and_logs = n},
                          &why)
               : 0;

    *failed = rc != 0;
    while (rc && !is_not_row_fault(rc) && n > 1)
        rc = turn_run(l,
                      (struct turn_options){
                          .wait_for_locks = true, .commands_only = true, .starts_and_logs = n /= 2},
                      &why);
    if (rc && !is_not_row_fault(rc))
        rc = skip_start_or_log(l, &why);
    if (rc)
        *err = why;
    return rc;
}

/* Commands that can be written in a turn that claims nothing are not the cause, and are written
 * then. The search continues with the jobs that the failed turn claimed, even if new commands have
 * come in meanwhile. */
int bisect_turn(struct loop *l, size_t batch, int rc, struct err *err)
{
    struct err why = ERR_INIT;
    bool starts_and_logs;
    int retry_rc = bisect_starts_and_logs(l, &starts_and_logs, err);

    if (starts_and_logs)
        return retry_rc;
    if (loop_count_commands(l)) {
        if ((retry_rc =
                 turn_run(l, (struct turn_options){.batch = batch, .commands_only = true}, &why))) {
            *err = why;
            return bisect_commands(l, batch, retry_rc, err);
        }
        if (!l->claimed_jobs.n) /* a momentary fault, or that of a permit, which is offered later */
            return 0;
    }
    return bisect_claims(l, rc, err);
}
