/* workflow_fixture.h - workflows in a test: written as YAML, submitted to the test's store, and run
 * by hand: the test is the worker and decides how each task ends. */
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

/* The canonical text of a workflow file; a fault in it fails the test. Freed with the process. */
const char *flow_text(const char *yaml);
/* flow_text for files[0], which may nest the others; the array has pairs of a name and a text, and
 * ends with NULL. */
const char *flow_text_of_files(const char *const *files);

int64_t flow_submit(struct store *s, const char *yaml, const char *params);
int64_t flow_submit_text(struct store *s, const char *definition, const char *params);
int flow_submit_body(struct turn *t, void *submission, struct err *err); /* the body of a turn */

/* ---- inspecting ---- */

/* The execution of a task of this workflow, by "name" or "name[2]"; 0 if none. */
int64_t flow_task(struct store *s, int64_t workflow, const char *name);
int flow_status(struct store *s, int64_t workflow, const char *name);
/* All tasks of the tree as "a:succeeded b:skipped …", by id. */
const char *flow_shape(struct store *s, int64_t workflow);

/* ---- as a worker ---- */

struct flow_claiming {
    struct job_list jobs;
    struct held_job held[200];
    char names[200][100];
    char spec[8192], input[8192]; /* of the last claimed job */
    size_t n;
    bool push;
};
size_t flow_claim(struct store *s, struct flow_claiming *k);

struct flow_settling {
    struct held_job j;
    enum outcome_kind kind;
    const char *result;
};
void flow_settle(struct store *s, struct held_job j, enum outcome_kind kind, const char *result);
int flow_settle_body(struct turn *t, void *settling, struct err *err); /* the body of a turn */
/* As an engine does it: settles a job and claims its followers in one turn. */
void flow_settle_and_claim(struct store *s, struct held_job j, struct flow_claiming *k);

/* Runs everything to its end; tasks named in `fails` fail (" a b ": a space around each), the
 * others succeed. */
void flow_play(struct store *s, const char *fails);
/* flow_play as a busy engine does it: settles all jobs of one claim in one turn; nothing fails. For
 * graphs of thousands of tasks. */
void flow_play_sets(struct store *s);

/* ---- as an operator ---- */

enum flow_verb {
    FLOW_CANCEL,
    FLOW_LET_FINISH,
    FLOW_PAUSE,
    FLOW_RESUME,
    FLOW_SKIP,
    FLOW_APPROVE,
    FLOW_REJECT
};
/* Makes the request as "ada", for the reason "a test"; returns the request's rc. */
int flow_ask(struct store *s, enum flow_verb verb, int64_t id);
int flow_ask_slice(struct store *s, enum flow_verb verb, int64_t id,
                   size_t slice); /* only the first slice */

#endif
