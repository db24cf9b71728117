/* why.h - shared by the files of `pawl why`: the list of reasons while it is written. */
#ifndef API_WHY_H
#define API_WHY_H

#include "api/api.h"

struct reasons {
    struct json_writer w;
    struct buf *text; /* the text of the next reason */
    const struct why *y;
    int64_t task; /* set while y is a task in the execution that the answer is about */
    const struct worker_list *workers;
    int64_t host_grace;                  /* µs */
    const struct known_executors *known; /* NULL unless no worker serves the lane of a ready job */
};

/* A field of a reason. */
struct fact {
    const char *name;
    enum column_type type; /* a type of numbers, COLUMN_TEXT, COLUMN_VALUE or COLUMN_LIST */
    int64_t n;
    const void *pointer;
    struct noun_rows rows; /* COLUMN_LIST: the rows, written as `noun` says */
    const struct noun *noun;
};
#define FACT_NUMBER(of, key, value) ((struct fact){.name = (key), .type = (of), .n = (value)})
#define FACT_POINTER(of, key, value) \
    ((struct fact){.name = (key), .type = (of), .pointer = (value)})
#define FACT_INT(key, value)    FACT_NUMBER(COLUMN_INT, key, value)
#define FACT_ID(key, value)     FACT_NUMBER(COLUMN_ID, key, value)
#define FACT_COUNT(key, value)  FACT_NUMBER(COLUMN_OPT_INT, key, value)
#define FACT_TIME(key, value)   FACT_NUMBER(COLUMN_TIME, key, value)
#define FACT_WORKER(key, value) FACT_NUMBER(COLUMN_WORKER, key, value)
#define FACT_TEXT(key, value)   FACT_POINTER(COLUMN_TEXT, key, value)
#define FACT_VALUE(key, value)  FACT_POINTER(COLUMN_VALUE, key, value)
/* The facts about a request: when, by whom, and why. */
#define FACTS_REQUEST(at, by, reason) \
    FACT_TIME("since", at), FACT_TEXT("by", by), FACT_TEXT("reason", reason)

/* Adds a reason with the collected text and these facts. */
#define WHY_REASON(r, code, ...)                            \
    why_reason(r, code, (const struct fact[]){__VA_ARGS__}, \
               sizeof((const struct fact[]){__VA_ARGS__}) / sizeof(struct fact))
void why_reason(struct reasons *r, const char *code, const struct fact *facts, size_t n);

/* Adds `words` and "3 are ahead of it" to the text, with the number of jobs ahead; nothing if the
 * execution is first in line. */
void why_add_before(struct reasons *r, const char *words);

/* Adds the related executions to the text as "5 w::a (running), …"; and as a fact of the reason. */
void why_add_others(struct reasons *r);
struct fact why_others(const struct reasons *r, const char *key);
/* Adds who requested something, and why: ", by ada@host: maintenance". */
void why_add_who(struct buf *b, const char *by, const char *reason);

void why_needs(struct reasons *r);         /* the needs that a pending task waits for */
void why_skipped(struct reasons *r);       /* why the task was skipped: its condition or its
                                              needs */
void why_workflow_runs(struct reasons *r); /* the open children of a workflow or fan-out */
void why_paused(struct reasons *r);        /* who paused the execution or an ancestor, and why */
void why_approval(struct reasons *r, const struct event_row *held); /* how to approve the task */
void why_submission(struct reasons *r); /* whether any worker will take the submission */
void why_claimable(struct reasons *r);  /* which worker is missing, or is busy */
void why_running(struct reasons *r);    /* the worker that runs the job, and whether it is alive */

#endif
