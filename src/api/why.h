/* why.h - what the two files of `why` share: the reasons in the making. */
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

void why_claimable(struct reasons *r); /* which worker is missing, or is busy */
void why_running(struct reasons *r);   /* who runs it, and whether he is still there */

#endif
