/* workflow_fixture.h - workflows in a test: written as YAML, submitted to the test's store, and
 * played by hand: the test is the worker, and says how each task ends. */
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

/* The canonical text of a workflow file; a problem ends the test. Freed with the process. */
const char *flow_text(const char *yaml);
/* The same for files[0], which may nest the others; pairs of a name and a text, up to NULL. */
const char *flow_text_of_files(const char *const *files);

int64_t flow_submit(struct store *s, const char *yaml, const char *params);
int64_t flow_submit_text(struct store *s, const char *definition, const char *params);
int flow_submit_body(struct turn *t, void *submission, struct err *err); /* of a turn */

/* ---- what is there ---- */

/* The execution of a task of this workflow, by "name" or "name[2]"; 0: there is none. */
int64_t flow_task(struct store *s, int64_t workflow, const char *name);
int flow_status(struct store *s, int64_t workflow, const char *name);
/* All tasks of the tree as "a:succeeded b:skipped …", by id. */
const char *flow_shape(struct store *s, int64_t workflow);

/* ---- a worker's hand ---- */

struct flow_claiming {
    struct job_list jobs;
    struct held_job held[200];
    char names[200][100];
    char spec[8192], input[8192]; /* of the last */
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
int flow_settle_body(struct turn *t, void *settling, struct err *err); /* of a turn */
/* As an engine does it: the end of one and the claim of what follows are one turn. */
void flow_settle_and_claim(struct store *s, struct held_job j, struct flow_claiming *k);

/* Runs everything to its end; tasks named in `fails` fail (" a b ": a space around each), the
 * others succeed. */
void flow_play(struct store *s, const char *fails);
/* The same as a busy engine does it: what one claim gave is settled in one turn, and nothing fails.
 * For graphs of thousands. */
void flow_play_sets(struct store *s);

/* ---- an operator's hand ---- */

enum flow_verb {
    FLOW_CANCEL,
    FLOW_LET_FINISH,
    FLOW_PAUSE,
    FLOW_RESUME,
    FLOW_SKIP,
    FLOW_APPROVE,
    FLOW_REJECT
};
/* Asks for it by "ada", for the reason "a test"; the request's rc. */
int flow_ask(struct store *s, enum flow_verb verb, int64_t id);
int flow_ask_slice(struct store *s, enum flow_verb verb, int64_t id, size_t slice); /* the first */

#endif
