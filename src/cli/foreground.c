/* foreground.c - runs a tree in this process until it ends; see foreground.h. */
#include "cli/foreground.h"

#include "base/env.h"
#include "base/mem.h"
#include "cli/end.h"
#include "cli/view/view.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK_US        20000   /* µs, the longest pause from a change to the next status check */
#define CHECK_SHARE     10      /* that pause is at most this many times the duration of a check */
#define CHECK_LATEST_US 500000  /* µs between status checks while no change is reported */
#define IDLE_US         2000000 /* µs without a running job after which to explain why */
#define COPY_MS         1000    /* ms between copies of the output while no change is reported */
#define LEAVE_US        2000000 /* µs to store the output before leaving the execution */

struct run {
    const struct foreground *h;
    struct pawl *p;
    struct pawl_engine *e;
    struct progress *progress;
    struct pawl_error err;
    int64_t id;
    int signals; /* the descriptor from which signals are read */
    bool answered, cancelled;
    bool news;                    /* a change was reported after the last check */
    int64_t checked_at, check_us; /* last check of the status: when it ended, how long it took */
    int64_t idle_since;           /* 0 if a job runs */
    int64_t reported;             /* the task whose reason for waiting was shown last */
    int rc;
};

static void submitted(void *arg, const struct pawl_job *job, const struct pawl_error *err)
{
    struct run *r = arg;

    r->answered = r->news = true;
    r->id = job->id;
    if (err) {
        r->rc = -err->code;
        r->err = *err;
    } else if (r->h->accepted) {
        r->h->accepted(r->h->arg, job->id, job->existed);
    }
}

/* Called after the engine has stored output or the end of an attempt, so that the status is
 * checked soon. */
static void on_status(void *arg, int64_t execution, const char *status)
{
    struct run *r = arg;

    (void)execution;
    (void)status;
    r->news = true;
}

/* Leaves the execution to the workers of this state folder. */
static int leave(struct run *r, int exit_code)
{
    int64_t until = clock_boot_us() + LEAVE_US;
    int more;

    pawl_engine_stop(r->e, false);
    while (r->h->output && !pawl_engine_idle(r->e) && clock_boot_us() < until &&
           !run_step(r->e, r->signals, 100, &more, &r->err))
        ;
    fprintf(stderr, "pawl: execution %lld was left to the workers of this state folder\n",
            (long long)r->id);
    return exit_code;
}

static void note_cancel(struct run *r)
{
    AUTO_FREE char *text = mem_printf(
        "cancelling execution %lld; press Ctrl-C again to leave it running", (long long)r->id);

    if (r->progress)
        progress_note(r->progress, text);
    else
        fprintf(stderr, "pawl: %s\n", text);
}

/* Cancels the execution. Returns -1 to continue, else the exit code. */
static int cancel(struct run *r, const char *reason)
{
    struct pawl_error err;

    if (r->cancelled)
        return -1;
    r->cancelled = true;
    if (pawl_cancel(r->p, r->id, NULL, reason, NULL, &err) &&
        err.code != PAWL_E_INVALID) /* the code INVALID means that the execution has already
                                       ended */
        return leave(r, cli_fail(&err));
    return -1;
}

static int on_signal(struct run *r, int signal)
{
    int code;

    if (signal == SIGWINCH) {
        progress_resized(r->progress);
        return -1;
    }
    if (r->cancelled || signal == SIGHUP)
        return leave(r, 128 + signal);
    code = cancel(r, signal == SIGINT ? "Ctrl-C" : "pawl was terminated");
    if (code < 0 && (r->progress || signal == SIGINT))
        note_cancel(r);
    return code;
}

/* ---- the end of the execution ---- */

static int print_end(struct run *r, int code)
{
    if (progress_end(r->progress, r->h->file, &r->err) ||
        end_print(r->p, r->id, r->h->json, &r->err))
        return cli_fail(&r->err);
    return code;
}

/* Checks the status. Returns the exit code if the execution has ended, else -1. */
static int check_status(struct run *r)
{
    int64_t start = clock_boot_us();
    const char *status;
    int code;

    r->news = false;
    if (pawl_status(r->p, r->id, &status, &r->err)) {
        r->checked_at = clock_boot_us();
        return handle_read_error(&r->err);
    }
    r->checked_at = clock_boot_us();
    r->check_us = r->checked_at - start;
    code = end_exit_code(status);
    return code < 0 ? code : print_end(r, code);
}

/* ---- waiting ---- */

static void print_reason(struct run *r, const json_t *node, int64_t id)
{
    json_auto_t *why = NULL;
    AUTO_BUF text = BUF_INIT;
    char *json;

    if (pawl_why(r->p, id, &json, NULL))
        return; /* the next status check meets the same error */
    why = take_object(json);
    buf_addf(&text, "%s (%lld) is not running: ", field(node, "name"), (long long)id);
    out_clean(&text, field(json_array_get(json_object_get(why, "reasons"), 0), "text"));
    progress_note(r->progress, buf_cstr(&text));
}

/* Whether the execution waits for something other than a task, such as a limit or an approval. A
 * held job is ready; a held workflow or fan-out is still pending. */
static bool could_start(const json_t *o)
{
    const char *status = field(o, "status"), *waiting = field(o, "waiting");

    return !strcmp(status, "ready") ||
           (!strcmp(status, "pending") && *waiting && strncmp(waiting, "needs:", 6) != 0);
}

/* If no job runs, prints, once, why the first task that could start does not. */
static void explain_wait(struct run *r)
{
    AUTO(view_release) struct view v = {0};

    if (view_read(r->p, r->id, NULL, &v, NULL))
        return;
    for (size_t i = 0; i < v.nodes.n; i++) {
        const json_t *o = v.nodes.at[i].o;

        if (!o || !could_start(o))
            continue;
        if (field_int(o, "id") != r->reported)
            print_reason(r, o, field_int(o, "id"));
        r->reported = field_int(o, "id");
        break;
    }
}

/* Called when a job runs again: removes the last reason from the screen, and allows it to be shown
 * again. */
static void clear_wait(struct run *r)
{
    r->idle_since = 0;
    if (!r->reported || r->h->kind != PROGRESS_TTY)
        return;
    r->reported = 0;
    progress_note(r->progress, NULL);
}

static void explain_idle_run(struct run *r)
{
    int64_t now = clock_boot_us();
    bool shows_notes = r->h->kind == PROGRESS_TTY || r->h->kind == PROGRESS_PLAIN;

    if (!shows_notes || r->cancelled) /* after a cancel the user knows the reason */
        return;
    if (!pawl_engine_idle(r->e))
        clear_wait(r);
    else if (!r->idle_since)
        r->idle_since = now;
    else if (now - r->idle_since > IDLE_US) {
        explain_wait(r);
        r->idle_since = now;
    }
}

/* ---- output ---- */

/* Copies new output. Returns 0 if the execution has ended, -1 to continue, or the exit code of an
 * error. */
static int copy_output(struct run *r)
{
    struct output *o = r->h->output;
    int code;

    if (!r->news && clock_boot_us() - r->checked_at < COPY_MS * 1000LL)
        return -1;
    r->news = false;
    r->checked_at = clock_boot_us();
    o->execution = r->id;
    if (output_copy(r->p, o, &r->err))
        return handle_read_error(&r->err);
    if (o->to && ferror(o->to) && (code = cancel(r, "the reader of its output is gone")) >= 0)
        return code;
    return o->ended ? 0 : -1;
}

/* ---- steps ---- */

static int64_t check_due(const struct run *r)
{
    int64_t least = r->check_us * CHECK_SHARE < CHECK_US ? r->check_us * CHECK_SHARE : CHECK_US;

    return r->checked_at + (r->news ? least : CHECK_LATEST_US);
}

static int wait_ms(const struct run *r)
{
    int64_t left = (check_due(r) - clock_boot_us()) / 1000 + 1;
    int progress_ms = r->progress ? progress_wait(r->progress) : (int)left;

    if (r->h->output)
        return COPY_MS;
    return left < 0 ? 0 : left < progress_ms ? (int)left : progress_ms;
}

static int step(struct run *r)
{
    int signal, code;

    if (run_step(r->e, r->signals, wait_ms(r), &signal, &r->err))
        return signals_pending(NULL) ? -1 : cli_fail(&r->err);
    if (r->rc)
        return cli_fail(&r->err);
    if (!r->answered)
        return signal && signal != SIGWINCH ? 128 + signal : -1;
    if (!r->h->output && !r->progress &&
        progress_open(r->p, r->id, r->h->kind, r->h->since, &r->progress, &r->err))
        return cli_fail(&r->err);
    if (signal && (code = on_signal(r, signal)) >= 0)
        return code;
    if (r->h->output)
        return copy_output(r);
    if (progress_update(r->progress, r->news, false, &r->err))
        return handle_read_error(&r->err);
    explain_idle_run(r);
    return clock_boot_us() < check_due(r) ? -1 : check_status(r);
}

static bool is_same(const char *option, const char *variable)
{
    const char *value = getenv(variable);

    return !option || (value && !strcmp(option, value));
}

const char *foreground_task(const struct cli *c)
{
    const char *id = getenv("PAWL_EXECUTION_ID");

    return id && *id && !cli_server(c) && is_same(c->db, "PAWL_DB") &&
                   is_same(c->tenant, "PAWL_TENANT")
               ? id
               : NULL;
}

static int start_engine(struct run *r)
{
    struct pawl_engine_options eo = {.here = true,
                                     .slots = r->h->slots,
                                     .state = r->h->state,
                                     .tree = r->h->tree,
                                     .give_up = signals_pending};

    if (pawl_engine_open(r->p, &eo, &r->e, &r->err))
        return cli_fail(&r->err);
    pawl_engine_watch(r->e, on_status, r);
    if (r->h->job)
        cli_warn_executors(r->p, r->e, r->h->job, NULL);
    if (r->h->job && pawl_engine_submit(r->e, r->h->job, submitted, r, &r->err))
        return cli_fail_param(&r->err, "--param");
    r->answered = !r->h->job;
    return 0;
}

int foreground_run(const struct foreground *h, struct pawl *p)
{
    struct run r = {.h = h, .p = p, .id = h->tree, .signals = signals_open()};
    int code;

    if (r.signals < 0)
        return 1;
    if (h->kind == PROGRESS_TTY)
        signals_add(r.signals, SIGWINCH);
    if (!(code = start_engine(&r)))
        for (code = -1; code < 0;)
            code = step(&r);
    progress_close(r.progress);
    pawl_engine_close(r.e);
    close(r.signals);
    return code;
}
