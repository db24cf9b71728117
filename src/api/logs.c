/* logs.c - reads the output of attempts in pages, so that never more than one page is in memory. */
#include "api/api.h"

#include <string.h>

/* Finds the requested attempt and whether it has ended. This must be read before the output: all
 * output of an attempt is stored by the time it ends. */
static int find_attempt(struct pawl *p, const struct pawl_log_place *at, int *attempt, bool *ended,
                        struct err *err)
{
    int attempts, status, rc;

    if ((rc = query_attempts(p->store, at->execution, &attempts, &status, err)))
        return rc;
    if (at->attempt < 0 || at->attempt > attempts)
        return err_set(err, E_NOT_FOUND, "there is no attempt %d: execution %lld has %d so far",
                       at->attempt, (long long)at->execution, attempts);
    *attempt = at->attempt ? at->attempt : attempts;
    *ended =
        status_is_terminal(status) || (*attempt && (status != S_RUNNING || *attempt < attempts));
    return 0;
}

int pawl_log(struct pawl *p, const struct pawl_log_place *at, char *out, size_t size,
             struct pawl_log_page *page, struct pawl_error *e)
{
    struct log_page found = {.from = at->from, .next = at->from};
    struct buf b = BUF_INIT;
    struct err err = ERR_INIT;
    int attempt = 0, rc;
    bool ended = false;

    if ((rc = find_attempt(p, at, &attempt, &ended, &err)))
        goto done;
    if (attempt &&
        (rc = query_log(p->store, &(struct log_position){at->execution, attempt, at->from}, size,
                        &b, &found, &err)))
        goto done;
    if (b.len)
        memcpy(out, b.ptr, b.len);
    *page = (struct pawl_log_page){.attempt = attempt,
                                   .len = b.len,
                                   .from = found.from,
                                   .next = found.next,
                                   .dropped = found.dropped,
                                   .more = found.more,
                                   .ended = ended};
done:
    buf_release(&b);
    return api_end(rc, &err, e);
}
