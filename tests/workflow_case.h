/* workflow_case.h - a test of a workflow as a case: its text, what is done to it, step by step, and
 * the shape that it has after each. Every case has a store of its own, is verified after each step,
 * and has ended as it says.
 *
 *     FLOW_CASE(a_failure_skips_what_is_behind_it,
 *               .yaml = "name: w\ntasks:\n  a: {run: x}\n  b: {run: x, needs: a}\n",
 *               .steps = {{"play but a", "a:failed b:skipped"}},
 *               .ends = S_FAILED)
 *
 * What is done is a list of these, with commas between them:
 *
 *   play            everything that can run succeeds; but for a and b, which fail: play but a b
 *   take            a worker claims all that it may, and runs it
 *   ok a            what it runs, by its task, ends well
 *   fail a          … or fails, and may be tried again at once
 *   end a           … or ends because it was asked to
 *   pause a         also cancel, let-finish, resume, skip, approve, reject: of a task, or of w, the
 *                   workflow itself; !pause a: that is refused
 *   rerun a         it runs again; rerun-failed w: what failed in it does; !rerun a: refused
 *   after 61s       time passes, and what is due is done
 */
#ifndef TESTS_WORKFLOW_CASE_H
#define TESTS_WORKFLOW_CASE_H

#include "workflow_fixture.h"

struct flow_step {
    const char *does;
    const char *shape; /* NULL: not looked at */
};

struct workflow_case {
    const char *yaml;         /* or: */
    const char *const *files; /* as flow_text_of_files has them */
    const char *params;
    struct flow_step steps[12]; /* up to one that does nothing */
    enum status ends;
    const char *error; /* a part of what the workflow says; NULL: not looked at */
};

void flow_try(const struct workflow_case *c);

#define FLOW_CASE(name, ...)                                  \
    TEST(name)                                                \
    {                                                         \
        flow_try(&(const struct workflow_case){__VA_ARGS__}); \
    }                                                         \
    _Static_assert(1, "")

#endif
