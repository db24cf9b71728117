/* wait.c - waits for the end of an execution. The wait is woken by the engine that writes the end;
 * it also polls, seldom, because an engine may die between its commit and the notification. */
#include "api/api.h"
#include "store/query/submissions.h"

#define CHECK_MS        5000
#define CHECK_UNTOLD_MS 250 /* while notifications can't be received, as behind a pooler */

/* Reads the status; S_NONE if the SQL submission *id has not been taken yet. If its idempotency key
 * belongs to an existing execution, *id becomes the id of that one. */
static int check_status(struct pawl *p, int64_t *id, int *status, struct err *err)
{
    struct submission_list l = {0};
    struct err ignored = ERR_INIT;
    int attempts, rc = query_attempts(p->store, *id, &attempts, status, err);

    if (rc == -E_BUSY) { /* it is being taken at this moment */
        *status = S_NONE;
        return 0;
    }
    if (rc != -E_NOT_FOUND || query_submission(p->store, *id, &l, &ignored))
        return rc;
    if (l.n && l.at[0].execution && l.at[0].execution != *id) {
        *id = l.at[0].execution;
        rc = query_attempts(p->store, *id, &attempts, status, err);
    } else if (l.n && !l.at[0].error) {
        *status = S_NONE;
        rc = 0;
    }
    submission_list_release(&l);
    return rc;
}

int pawl_wait(struct pawl *p, int64_t id, int timeout_ms, const char **status, struct pawl_error *e)
{
    int64_t end = timeout_ms < 0 ? INT64_MAX : clock_boot_us() + timeout_ms * 1000LL, left;
    struct pawl_listener *l = NULL;
    struct err err = ERR_INIT;
    int code = S_NONE, rc = pawl_listen(p, PAWL_WAKE_ENDS, &l, e);

    if (rc)
        return rc;
    while (!(rc = check_status(p, &id, &code, &err)) && !status_is_terminal(code) &&
           (left = end - clock_boot_us()) > 0) {
        int check = pawl_listener_poll_ms(l) < CHECK_MS ? CHECK_UNTOLD_MS : CHECK_MS;

        (void)pawl_listener_wait(l, left / 1000 < check ? (int)(left / 1000) + 1 : check);
    }
    if (!rc && code == S_NONE)
        rc = query_explain_missing(p->store, id, &err);
    if (!rc)
        *status = status_text(code);
    pawl_listener_close(l);
    return api_end(rc, &err, e);
}
