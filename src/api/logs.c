/* logs.c - reads the output of attempts in pages, so that at most one page is in memory. */
#include "api/api.h"

#include <string.h>

/* Finds the requested attempt and whether it has ended. This must be read before the output: all
 * output of an attempt is stored by the time it ends. */
static int find_attempt(struct pawl *p, const struct pawl_log_place *at, int *attempt, bool *ended,
                        struct err *err)
{
    int attempts, status;

    TRY(query_attempts(p->store, at->execution, &attempts, &status, err));
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
    AUTO_BUF b = BUF_INIT;
    int attempt = 0;
    bool ended = false;
    API_ERR(e);

    if (p->remote)
        return remote_log(p->remote, at, out, size, page, err);
    TRY(find_attempt(p, at, &attempt, &ended, err));
    if (attempt)
        TRY(query_log(p->store, &(struct log_position){at->execution, attempt, at->from}, size, &b,
                      &found, err));
    if (b.len)
        memcpy(out, b.ptr, b.len);
    *page = (struct pawl_log_page){.attempt = attempt,
                                   .len = b.len,
                                   .from = found.from,
                                   .next = found.next,
                                   .dropped = found.dropped,
                                   .more = found.more,
                                   .ended = ended};
    return 0;
}
