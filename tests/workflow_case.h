/* workflow_case.h - a test of a workflow as a table entry: its text, its steps, and the statuses of
 * its tasks after each step. Every case has its own store, is verified after each step, and must
 * end with the given status.
 *
 *     WORKFLOW_CASE(failed_task_skips_its_followers,
 *               .yaml = "name: w\ntasks:\n  a: {run: x}\n  b: {run: x, needs: a}\n",
 *               .steps = {{"play but a", "a:failed b:skipped"}},
 *               .ends = S_FAILED)
 *
 * A step is a list of these commands, separated by commas:
 *
 *   play            run everything, all tasks succeed; "play but a b": a and b fail
 *   take            a worker claims all jobs that it may, and starts them
 *   ok a            the started job of task a succeeds
 *   fail a          it fails, and may be retried at once
 *   end a           it ends because it was asked to
 *   pause a         also cancel, let-finish, resume, skip, approve, reject: a task, or w, the
 *                   workflow itself; "!pause a": the request is refused
 *   rerun a         rerun it; "rerun-failed w": rerun its failed tasks; "!rerun a": it is refused
 *   after 61s       move the clock, and do what is then due
 */
#ifndef TESTS_WORKFLOW_CASE_H
#define TESTS_WORKFLOW_CASE_H

#include "workflow_fixture.h"

struct case_step {
    const char *does;
    const char *shape; /* not checked if NULL */
};

struct workflow_case {
    const char *yaml;         /* or: */
    const char *const *files; /* see workflow_text_of_files */
    const char *params;
    struct case_step steps[12]; /* ends with an empty step */
    enum status ends;
    const char *error; /* a part of the workflow's error; not checked if NULL */
};

void run_workflow_case(const struct workflow_case *c);

#define WORKFLOW_CASE(name, ...)                                       \
    TEST(name)                                                         \
    {                                                                  \
        run_workflow_case(&(const struct workflow_case){__VA_ARGS__}); \
    }                                                                  \
    _Static_assert(1, "")

#endif
