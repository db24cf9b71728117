/* process_reports.c - reports the start, the log and the end of attempts, as in executor.h. */
#include "exec/outputs.h"
#include "exec/process/process_internal.h"

#include "base/mem.h"
#include "base/own_file.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHUNK          65536
#define NEWEST_MAX     65536 /* bytes reported from a ring that has wrapped, unless more are new */
#define LOG_REPORT_MAX (16 << 20) /* bytes of a log to report, even if own caps are smaller */
#define REFUSED_DELAY  1000000    /* µs */

static void send_report(struct process *p, const struct watch *w, struct report *r)
{
    r->execution = w->execution;
    r->attempt = w->attempt;
    if (p->x.report)
        p->x.report(p->x.arg, &p->x, r);
}

void process_report_started(struct process *p, struct watch *w)
{
    struct report r = {.kind = REPORT_STARTED};
    int64_t ago = clock_boot_us() - w->begun;

    if (w->started_reported || !w->begun)
        return;
    w->started_reported = true;
    r.ago = ago > 0 ? ago : 0;
    send_report(p, w, &r);
}

/* ---- the log ---- */

/* Makes the next report start after the gap: the final content of the ring replaces what was
 * reported of it before. */
static void rewind_to_gap(const struct process *p, struct watch *w, const struct attempt_log *log)
{
    w->dropped_sent = log->dropped;
    if (log->head != p->log_head)
        w->log_sent = 0; /* a worker with other caps started the attempt: chunks may span the gap */
    else if (w->log_sent > log->head)
        w->log_sent = log->head;
}

/* How much of a log is reported. The task may have made the file larger, or a worker with larger
 * caps may have started the attempt; so this worker's caps, or LOG_REPORT_MAX, limit the memory
 * that an attempt needs. */
static int64_t log_most(const struct process *p)
{
    int64_t own = p->log_head + p->log_tail;

    return own > LOG_REPORT_MAX ? own : LOG_REPORT_MAX;
}

/* Reports the kept bytes from log_sent up to `upto`. */
static void report_upto(struct process *p, struct watch *w, const struct attempt_log *log,
                        int64_t upto, int64_t dropped)
{
    AUTO_BUF text = BUF_INIT;

    while (w->log_sent < upto && w->state != WATCH_DROPPED) {
        size_t max = upto - w->log_sent < CHUNK ? (size_t)(upto - w->log_sent) : CHUNK;
        struct report r = {.kind = REPORT_LOG, .offset = w->log_sent, .dropped = dropped};

        buf_reset(&text);
        if (attempt_log_read(w->at, log, w->log_sent, max, &text) || !text.len)
            break;
        r.log = text.ptr;
        r.log_len = text.len;
        w->log_sent += (int64_t)text.len;
        send_report(p, w, &r);
    }
}

/* While the ring is being overwritten: reports the newest bytes, which replace those reported as
 * newest before, so that a reader can follow the log. Bytes that the shim may have overwritten in
 * the meantime are left for the next call. */
static void report_newest(struct process *p, struct watch *w, const struct attempt_log *log)
{
    int64_t tail = log->kept - log->head, total = log->kept + log->dropped, at;
    int64_t n = total - w->log_total > NEWEST_MAX ? total - w->log_total : NEWEST_MAX;
    struct attempt_log now;
    AUTO_BUF text = BUF_INIT;

    if (n > tail / 2)
        n = tail / 2;
    if (n > log_most(p))
        n = log_most(p);
    if (total == w->log_total || attempt_log_read(w->at, log, log->kept - n, (size_t)n, &text) ||
        attempt_log_size(w->at, &now) || now.dropped - log->dropped > tail / 4)
        return;
    for (at = 0; at < n && w->state != WATCH_DROPPED; at += CHUNK)
        send_report(p, w,
                    &(struct report){.kind = REPORT_LOG,
                                     .offset = log->head + at,
                                     .dropped = total - log->head - n,
                                     .log = text.ptr + at,
                                     .log_len = n - at < CHUNK ? (size_t)(n - at) : CHUNK});
    w->log_total = total;
}

/* While the task runs, the log is reported in order until the ring wraps, then the newest bytes. At
 * the end everything that is kept is reported. No chunk spans the position where the gap is or will
 * be. */
void process_report_log(struct process *p, struct watch *w)
{
    struct attempt_log log;
    int64_t gap, most;

    if (attempt_log_size(w->at, &log))
        return;
    if (!w->begun) /* the attempt has started, even if its record was removed */
        w->begun = clock_boot_us();
    process_report_started(p, w);
    most = log_most(p);
    gap = log.dropped ? log.head : p->log_head;
    if (log.dropped != w->dropped_sent && w->state == WATCH_RUNNING) {
        report_upto(p, w, &log, log.head < most ? log.head : most, 0);
        if (w->log_sent >= log.head)
            report_newest(p, w, &log);
        return;
    }
    if (log.dropped != w->dropped_sent)
        rewind_to_gap(p, w, &log);
    if (most > log.kept)
        most = log.kept;
    report_upto(p, w, &log, gap < most ? gap : most, 0);
    report_upto(p, w, &log, most, log.dropped);
}

/* Reports how many bytes of the output the shim could not write: the disk was full or failed, or
 * the log keeps no tail. Their position is unknown, so the count follows the kept log. */
static void report_unwritten(struct process *p, struct watch *w, const struct attempt_exit *end)
{
    struct report r = {
        .kind = REPORT_LOG, .offset = w->log_sent, .dropped = w->dropped_sent + end->log_unwritten};
    char *text;

    if (!end->log_unwritten || w->state == WATCH_DROPPED)
        return;
    text = mem_printf("pawl: %lld bytes of the output are missing: the log had no room for them\n",
                      (long long)end->log_unwritten);
    r.log = text;
    r.log_len = strlen(text);
    send_report(p, w, &r);
    free(text);
}

/* ---- the end ---- */

static void report_outcome(struct process *p, struct watch *w, const struct outcome *o)
{
    struct report r = {.kind = REPORT_ENDED, .outcome = *o};

    if (w->state == WATCH_DROPPED)
        return;
    send_report(p, w, &r);
    watch_drop(p, w, true);
}

void process_report_end(struct process *p, struct watch *w, enum outcome_kind kind,
                        const char *error)
{
    struct outcome o = {.kind = kind, .error = error, .duration = -1};

    if (kind == OUTCOME_REFUSED && !p->closed) /* if the executor is closed, without a delay: other
                                                  workers may start the job at once */
        o.retry_delay = REFUSED_DELAY;
    process_report_started(p, w);
    process_report_log(p, w);
    report_outcome(p, w, &o);
}

void process_report_unstarted(struct process *p, struct watch *w, const char *error)
{
    struct outcome o = {.kind = OUTCOME_REFUSED,
                        .unstarted = 1,
                        .retry_delay = REFUSED_DELAY,
                        .error = error,
                        .duration = -1};

    report_outcome(p, w, &o);
}

/* Reports a tampered attempt as lost if the lock on `tree` or the record of the session is missing:
 * some processes may then run undetected. */
void process_report_fault(struct process *p, struct watch *w)
{
    AUTO_FD tree = own_file_open(w->at, ATTEMPT_TREE, O_RDONLY, ATTEMPT_LOCK_MAX);
    bool sure = w->shim.pid && (tree >= 0 || p->in_containers);
    char *error = mem_printf("%s, %s", w->fault,
                             sure ? "so its exit status is unknown"
                                  : "so some of its processes may still run");

    process_report_end(p, w, sure ? OUTCOME_FAILED : OUTCOME_LOST, error);
    free(error);
}

/* Why the command could not be executed. */
static char *describe_not_started(const struct watch *w, const struct attempt_exit *end)
{
    const char *what = attempt_step_text(end->step), *which = NULL;
    const char *why = strerror((int)end->error);

    if (end->step == STEP_EXEC)
        which = w->program;
    else if (end->step == STEP_CWD)
        which = w->cwd;
    else if (end->step == STEP_USER || end->step == STEP_OUTPUT)
        which = w->user;
    if (end->step == STEP_USER && end->error == ESRCH)
        why = "there is no such user";
    if (process_is_disk_full((int)end->error) && end->step == STEP_FILES)
        return mem_strdup(DISK_FULL);
    return mem_printf("can't %s%s%s: %s", what, which ? " " : "", which ? which : "", why);
}

/* Whether the host lacked something that the command needs to start; another try may succeed. After
 * the limits of the task are set, they may be the cause, and another try would fail the same way.
 */
static bool is_shortage(const struct watch *w, const struct attempt_exit *end)
{
    if (process_is_disk_full((int)end->error))
        return true;
    return (end->error == EAGAIN || end->error == ENOMEM || end->error == EMFILE ||
            end->error == ENFILE) &&
           !(w->has_limits && end->step > STEP_LIMITS);
}

static char *describe_timeout(const struct watch *w)
{
    char text[DURATION_TEXT_SIZE];

    if (!w->timeout)
        return mem_strdup("ended by a timeout");
    return mem_printf("ran longer than its timeout of %s", text_duration(w->timeout, text));
}

static char *describe_signal(const struct attempt_exit *end)
{
    const char *name = sigabbrev_np((int)end->signal);

    return mem_printf("killed by signal %d%s%s%s", (int)end->signal, name ? " (" : "",
                      name ? name : "", name ? ")" : "");
}

/* The meaning of a shell's exit code, for an error message. */
static const char *shell_code_meaning(int code)
{
    return code == 127   ? " (command not found)"
           : code == 126 ? " (not executable, or not a program)"
                         : "";
}

/* Describes the end of an attempt of which only the exit status of the container engine's client is
 * known, not that of the command. */
static char *describe_client_end(const struct attempt_exit *end, struct outcome *o)
{
    if (!end->signal && end->code)
        return mem_printf("the container engine's client failed with code %d: see the log",
                          (int)end->code);
    o->kind = OUTCOME_LOST;
    o->has_exit_code = false;
    return mem_printf("the container engine's client %s before the command ended, so the exit "
                      "status of the command is unknown",
                      end->signal ? "was killed" : "ended");
}

/* Sets the kind of the outcome. Returns the error message, which the caller frees, or NULL. */
static char *decide_outcome(const struct watch *w, const struct attempt_exit *end,
                            struct outcome *o)
{
    o->kind = OUTCOME_FAILED;
    switch (end->kind) {
    case END_EXITED:
        if (end->code)
            return mem_printf("exited with code %d%s", o->exit_code,
                              shell_code_meaning(o->exit_code));
        o->kind = OUTCOME_OK;
        return NULL;
    case END_SIGNALLED:
        return describe_signal(end);
    case END_TIMED_OUT:
        o->kind = OUTCOME_TIMED_OUT;
        return describe_timeout(w);
    case END_CANCELLED:
        o->kind = OUTCOME_CANCELLED;
        return mem_strdup("cancelled");
    case END_FENCED:
        o->kind = OUTCOME_LOST;
        return mem_strdup("killed, because its lease was not renewed");
    case END_NOT_STARTED:
        if (is_shortage(w, end)) {
            o->kind = OUTCOME_REFUSED;
            o->retry_delay = REFUSED_DELAY;
        }
        return describe_not_started(w, end);
    case END_CLIENT:
        return describe_client_end(end, o);
    default:
        o->kind = OUTCOME_LOST;
        return mem_strdup("the exit record has a format that this version of Pawl does not know");
    }
}

static int unreadable(const struct watch *w, struct err *err)
{
    enum error_code code = error_may_pass(errno) ? E_UNAVAILABLE : E_INVALID;

    return err_set(err, code, "$PAWL_OUTPUT can't be read: %s",
                   own_file_why(w->at, ATTEMPT_OUTPUT, OWN_FILE_ANY_SIZE));
}

/* Reads $PAWL_OUTPUT. -E_UNAVAILABLE if it may be readable later; any other error is the task's
 * fault. */
static int read_outputs(const struct watch *w, struct buf *result, struct err *err)
{
    AUTO_FD fd = own_file_open_given(w->at, ATTEMPT_OUTPUT, O_RDONLY, OWN_FILE_ANY_SIZE);
    AUTO_BUF text = BUF_INIT;

    if (fd < 0 && errno == ENOENT) /* a task that removed the file has no outputs */
        return 0;
    if (fd < 0 || !buf_read(&text, fd, OUTPUTS_MAX))
        return unreadable(w, err);
    return outputs_parse(buf_cstr(&text), text.len, (const char *const *)w->outputs, result, err);
}

bool process_report_exit(struct process *p, struct watch *w, const struct attempt_exit *end)
{
    struct outcome o = {.exit_code = (int)end->code,
                        .signal = (int)end->signal,
                        .has_exit_code = !end->signal,
                        .duration = end->ended - end->begun,
                        .cpu = end->cpu,
                        .peak_memory = end->peak_memory};
    AUTO_BUF result = BUF_INIT;
    struct err why = ERR_INIT;
    char *error = decide_outcome(w, end, &o);
    int rc = o.kind == OUTCOME_OK ? read_outputs(w, &result, &why) : 0;

    /* Try again later: a success is given up only after a cancel. */
    if (rc == -E_UNAVAILABLE && !w->cancelled) {
        watch_note(p, w, why.msg);
        return false;
    }
    if (rc) {
        o.kind = rc == -E_UNAVAILABLE ? OUTCOME_CANCELLED : OUTCOME_FAILED;
        error = mem_strdup(why.msg);
    } else if (watch_note_fault(w)) {
        char *own = error;

        o.kind = o.kind == OUTCOME_OK ? OUTCOME_FAILED : o.kind;
        error = mem_printf("%s%s%s", own ? own : "", own ? "; " : "", w->fault);
        free(own);
    }
    if (end->kind != END_NOT_STARTED)
        process_report_started(p, w);
    process_report_log(p, w);
    report_unwritten(p, w, end);
    o.error = error;
    o.result = o.kind == OUTCOME_OK && result.len ? result.ptr : NULL;
    report_outcome(p, w, &o);
    free(error);
    return true;
}
