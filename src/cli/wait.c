/* wait.c - waits for the ends of executions; see wait.h. Commits wake it: an execution is read when
 * the wait begins, when something has ended, and otherwise so rarely that only a lost wake-up makes
 * a difference. */
#include "cli/wait.h"

#include "cli/end.h"
#include "cli/follow.h"

#include "base/env.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define CHECK_US         5000000 /* µs between checks while no end is reported */
#define CHECK_UNWOKEN_US 250000  /* the same if there are no wake-ups */
#define SHARE            10      /* checking takes at most 1/SHARE of the time */
#define EXIT_TIMEOUT     8

/* An execution that is waited for. */
struct waited {
    int64_t id;
    int code; /* -1 until it has ended */
    const char *status;
};

struct wait {
    struct cli *c;
    struct pawl_listener *listener; /* NULL if there is none */
    struct waited *all;
    size_t n, left;
    int64_t until; /* on the boot clock */
};

static int print_ended(struct cli *c, const struct waited *e)
{
    json_auto_t *o = NULL;
    const char *error;
    char *json;

    TRY(pawl_show(c->p, e->id, &json, &c->err));
    if (c->json)
        return print_answer(json);
    o = take_object(json);
    error = strcmp(field(o, "error"), e->status) ? field(o, "error") : "";
    print_clean(stdout, "execution %lld: %s%s%s", (long long)e->id, e->status, *error ? ": " : "",
                error);
    return 0;
}

/* A SQL submission becomes an execution as soon as a worker takes it. */
static bool is_submission(int rc, const struct pawl_error *err)
{
    return rc == -PAWL_E_BUSY ||
           (rc == -PAWL_E_NOT_FOUND && err->missing == PAWL_MISSING_SUBMITTED);
}

static int check_one(struct wait *w, struct waited *e)
{
    struct cli *c = w->c;
    int rc = pawl_status(c->p, e->id, &e->status, &c->err), code;

    if (is_submission(rc, &c->err)) {
        e->status = "pending";
        return 0;
    }
    if (rc && rc != -PAWL_E_NOT_FOUND)
        return rc;
    code = rc ? cli_fail(&c->err) : end_exit_code(e->status);
    if (code < 0)
        return 0;
    if (!rc)
        TRY(print_ended(c, e));
    e->code = code;
    w->left--;
    return 0;
}

static int check_all(struct wait *w)
{
    int rc = 0;

    for (size_t i = 0; i < w->n && !rc; i++)
        if (w->all[i].code < 0)
            rc = check_one(w, &w->all[i]);
    fflush(stdout);
    return follow_retries(w->c->p, rc) ? 0 : rc;
}

static void sleep_until(int64_t at)
{
    int64_t left = at - clock_boot_us();

    if (left > 0)
        clock_sleep_us(left);
}

/* Waits until the next check is due: after a wake-up, but no earlier than `earliest`. */
static void wait_for_check(struct wait *w, int64_t earliest)
{
    bool wakes = w->listener && (int64_t)pawl_listener_poll_ms(w->listener) * 1000 >= CHECK_US;
    int64_t now = clock_boot_us(), latest = now + (wakes ? CHECK_US : CHECK_UNWOKEN_US), left;

    latest = latest < w->until ? latest : w->until;
    while ((left = latest - clock_boot_us()) > 0)
        if (follow_wait(w->c->p, w->listener, (int)(left / 1000) + 1))
            break;
    sleep_until(earliest < w->until ? earliest : w->until);
}

static int wait_for_all(struct wait *w)
{
    for (;;) {
        int64_t start = clock_boot_us(), took;

        TRY(check_all(w));
        took = clock_boot_us() - start;
        if (!w->left || clock_boot_us() >= w->until)
            return 0;
        wait_for_check(w, start + took * SHARE);
    }
}

static int exit_code(const struct wait *w)
{
    int code = 0;

    for (size_t i = 0; i < w->n; i++) {
        const struct waited *e = &w->all[i];

        if (e->code < 0)
            fprintf(stderr, "pawl: execution %lld has not ended: %s\n", (long long)e->id,
                    e->status);
        else if (!code)
            code = e->code;
    }
    return w->left ? EXIT_TIMEOUT : code;
}

int wait_for_ends(struct cli *c, const int64_t *ids, size_t n, int64_t timeout)
{
    struct wait w = {.c = c,
                     .all = mem_alloc((n + 1) * sizeof(*w.all)),
                     .n = n,
                     .left = n,
                     .until = timeout < 0 ? INT64_MAX : clock_boot_us() + timeout};
    int rc;

    for (size_t i = 0; i < n; i++)
        w.all[i] = (struct waited){.id = ids[i], .code = -1, .status = ""};
    if (pawl_listen(c->p, PAWL_WAKE_ENDS, &w.listener, NULL))
        w.listener = NULL; /* without a listener, polling is enough */
    rc = wait_for_all(&w);
    pawl_listener_close(w.listener);
    rc = rc ? rc : exit_code(&w);
    free(w.all);
    return rc;
}
