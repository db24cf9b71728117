/* why.h - shared by the files of `pawl why`: the list of reasons while it is written. */
#ifndef API_WHY_H
#define API_WHY_H

#include "api/api.h"

struct reasons {
    struct json_writer w;
    struct buf text; /* the text of the next reason */
    const struct why *y;
    const struct worker_list *workers;
};

/* Starts a reason with the collected text; fields may follow, then why_end. */
void why_reason(struct reasons *r, const char *code);
void why_end(struct reasons *r);

/* Adds "3 are ahead of it" after `words`; nothing if the execution is first in line. */
void why_add_before(struct reasons *r, const char *words);

/* Adds the related executions to the text as "5 w::a (running), …", and as a list to the fields. */
void why_add_others(struct reasons *r);
void why_others_field(struct reasons *r, const char *key);

void why_needs(struct reasons *r);         /* the needs that a pending task waits for */
void why_skipped(struct reasons *r);       /* the condition or needs that kept it from running */
void why_workflow_runs(struct reasons *r); /* the open children of a workflow or fan-out */
void why_paused(struct reasons *r);        /* who paused it or an ancestor, and why */
void why_approval(struct reasons *r, const struct event_row *held); /* how to approve it */
void why_claimable(struct reasons *r); /* which worker is missing, or is busy */
void why_running(struct reasons *r);   /* the worker that runs it, and whether that is alive */

#endif
