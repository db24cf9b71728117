/* why.h - what the files of `why` share: the reasons in the making. */
#ifndef API_WHY_H
#define API_WHY_H

#include "api/api.h"

struct reasons {
    struct json_writer w;
    struct buf text; /* of the next reason */
    const struct why *y;
    const struct worker_list *workers;
};

/* Begins a reason with the text that was put together; fields may follow, then why_end. */
void why_reason(struct reasons *r, const char *code);
void why_end(struct reasons *r);

/* "3 go before it", after those words; nothing if none does. */
void why_add_before(struct reasons *r, const char *words);

/* "5 w::a (running), …", and the same as a field. */
void why_add_others(struct reasons *r);
void why_others_field(struct reasons *r, const char *key);

void why_needs(struct reasons *r);         /* what a pending task waits for */
void why_skipped(struct reasons *r);       /* what kept it from running */
void why_workflow_runs(struct reasons *r); /* what is open below it */
void why_paused(struct reasons *r);        /* who did it, and where */
void why_approval(struct reasons *r, const struct event_row *held); /* how it is given */
void why_claimable(struct reasons *r); /* which worker is missing, or is busy */
void why_running(struct reasons *r);   /* who runs it, and whether he is still there */

#endif
