/* workflow_fixture.h - workflows in a test: written as YAML, submitted to the test's store, and run
 * by the test, which acts as the worker and decides how each task ends. */
#ifndef TESTS_WORKFLOW_FIXTURE_H
#define TESTS_WORKFLOW_FIXTURE_H

#include "base/buf.h"
#include "fixture.h"
#include "parse/workflow/file.h"
#include "store/query/query.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The canonical text of a workflow file; an error in the file fails the test. Freed when the
 * process ends. */
const char *workflow_text(const char *yaml);
/* workflow_text for files[0], which may nest the others; the array has pairs of a name and a text,
 * and ends with NULL. */
const char *workflow_text_of_files(const char *const *files);

int64_t submit_workflow(struct store *s, const char *yaml, const char *params);
int64_t submit_workflow_text(struct store *s, const char *definition, const char *params);
int submit_workflow_body(struct turn *t, void *submission,
                         struct err *err); /* the body of a turn */

/* ---- inspecting ---- */

/* The execution of a task of this workflow, by "name" or "name[2]"; 0 if none. */
int64_t task_of(struct store *s, int64_t workflow, const char *name);
int task_status(struct store *s, int64_t workflow, const char *name);
/* All tasks of the tree as "a:succeeded b:skipped …", by id. */
const char *tree_text(struct store *s, int64_t workflow);

/* ---- as a worker ---- */

struct task_claim {
    struct job_list jobs;
    struct held_job held[200];
    char names[200][100];
    char spec[8192], input[8192]; /* of the last claimed job */
    size_t n;
    bool push;
};
size_t claim_tasks(struct store *s, struct task_claim *k);

struct task_settlement {
    struct held_job j;
    enum outcome_kind kind;
    const char *result;
};
void settle_task(struct store *s, struct held_job j, enum outcome_kind kind, const char *result);
int settle_task_body(struct turn *t, void *settling, struct err *err); /* the body of a turn */
/* As an engine does it: settles a job and claims its followers in one turn. */
void settle_and_claim(struct store *s, struct held_job j, struct task_claim *k);

/* Runs everything to its end; tasks named in `fails` fail (" a b ": a space around each), the
 * others succeed. */
void run_workflows(struct store *s, const char *fails);
/* run_workflows as a busy engine does it: settles all jobs of one claim in one turn; nothing fails.
 * For graphs of thousands of tasks. */
void run_workflows_in_sets(struct store *s);
/* run_workflows_in_sets with another body of the turn that settles; its argument is the task_claim.
 */
void run_workflows_settled_by(struct store *s,
                              int (*settle_body)(struct turn *, void *, struct err *));

/* ---- as an operator ---- */

enum control_verb {
    CONTROL_CANCEL,
    CONTROL_LET_FINISH,
    CONTROL_PAUSE,
    CONTROL_RESUME,
    CONTROL_SKIP,
    CONTROL_APPROVE,
    CONTROL_REJECT
};
/* Makes the request as "ada", for the reason "a test"; returns the request's rc. */
int control_execution(struct store *s, enum control_verb verb, int64_t id);
int control_first_slice(struct store *s, enum control_verb verb, int64_t id,
                        size_t slice); /* only the first slice */

#endif
