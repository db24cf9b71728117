/* executor.c - a custom executor: a long-running helper process that gets its tasks as lines. This
 * way a program that is slow to start (an interpreter, a model in memory) is started only once.
 *
 *   executor DB HELPER INPUT...
 *
 * HELPER is a shell command. It reads lines of EXECUTION ATTEMPT INPUT, and replies to each, in any
 * order, with a line of EXECUTION ATTEMPT ok JSON, or EXECUTION ATTEMPT failed MESSAGE. */
#include <pawl.h>

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SLOTS 8

struct helper {
    pid_t pid;
    int to, from; /* its input and its output */
    bool gone;
    struct pawl_attempt attempts[SLOTS]; /* the execution is 0 in a free slot */
    char line[65536];
    size_t len;
};

/* ---- the executor ---- */

static struct pawl_attempt *slot_of(struct helper *h, long long execution, int attempt)
{
    int i;

    for (i = 0; i < SLOTS; i++)
        if (h->attempts[i].execution == execution && h->attempts[i].attempt == attempt)
            return &h->attempts[i];
    return NULL;
}

static int refuse(struct pawl_error *e, int code, const char *why)
{
    e->code = code;
    snprintf(e->message, sizeof(e->message), "%s", why);
    return -code;
}

static int start(void *data, const struct pawl_task *t, struct pawl_error *e)
{
    struct helper *h = data;
    struct pawl_attempt *slot = slot_of(h, 0, 0);
    char line[PIPE_BUF + 1], *end;
    int len = snprintf(line, sizeof(line), "%lld %d %s\n", (long long)t->id.execution,
                       t->id.attempt, t->input ? t->input : "null");

    if (len > PIPE_BUF)
        return refuse(e, PAWL_E_INVALID, "the input is too long for a line to the helper");
    while ((end = memchr(line, '\n', (size_t)len - 1)))
        *end = ' ';
    if (h->gone || !slot)
        return refuse(e, PAWL_E_REFUSED, "the helper is not running");
    if (write(h->to, line, (size_t)len) !=
        len) /* a short line is written completely or not at all */
        return refuse(e, PAWL_E_REFUSED, "the helper does not read its input");
    *slot = t->id;
    pawl_report_started(t->id, 0);
    return 0;
}

static void handle_reply(struct helper *h, const char *line)
{
    struct pawl_attempt *slot;
    long long execution;
    int attempt, at = 0;
    bool ok;

    if (sscanf(line, "%lld %d %n", &execution, &attempt, &at) < 2 || !at ||
        !(slot = slot_of(h, execution, attempt)))
        return;
    ok = !strncmp(line + at, "ok ", 3);
    pawl_report_ended(*slot, &(struct pawl_end){.outcome = ok ? PAWL_OK : PAWL_FAILED,
                                                .result = ok ? line + at + 3 : NULL,
                                                .error = line + at});
    *slot = (struct pawl_attempt){0};
}

/* The outcome is unknown: the attempt is lost, and retried while attempts are left. */
static void lose_all(struct helper *h)
{
    int i;

    h->gone = true;
    for (i = 0; i < SLOTS; i++)
        if (h->attempts[i].execution)
            pawl_report_ended(h->attempts[i], &(struct pawl_end){.outcome = PAWL_LOST,
                                                                 .error = "the helper has ended"});
    memset(h->attempts, 0, sizeof(h->attempts));
}

static void poll_results(void *data)
{
    struct helper *h = data;
    ssize_t n = read(h->from, h->line + h->len, sizeof(h->line) - 1 - h->len);
    char *end;

    if (n <= 0) {
        lose_all(h);
        return;
    }
    h->len += (size_t)n;
    while ((end = memchr(h->line, '\n', h->len))) {
        *end++ = '\0';
        handle_reply(h, h->line);
        h->len -= (size_t)(end - h->line);
        memmove(h->line, end, h->len);
    }
}

static int helper_fd(void *data)
{
    return ((struct helper *)data)->from;
}

static void stop_helper(void *data)
{
    struct helper *h = data;

    close(h->to); /* the helper ends at the end of its input */
    close(h->from);
    waitpid(h->pid, NULL, 0);
}

static int start_helper(struct helper *h, const char *command)
{
    int in[2], out[2];

    signal(SIGPIPE, SIG_IGN);
    if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC) || (h->pid = fork()) < 0)
        return -1;
    if (h->pid == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    h->to = in[1];
    h->from = out[0];
    return fcntl(h->to, F_SETFL, O_NONBLOCK);
}

/* ---- the program around it ---- */

static int fail(const struct pawl_error *e)
{
    fprintf(stderr, "executor: %s\n", e->message);
    return pawl_exit_code(e->code);
}

static void on_status(void *arg, int64_t execution, const char *status)
{
    struct pawl_error e;
    char *json;

    if (!status || !strcmp(status, "ready") || pawl_show(arg, execution, &json, &e))
        return;
    puts(json);
    fflush(stdout);
    free(json);
}

static int work(struct pawl *p, struct helper *h, struct pawl_error *e)
{
    struct pawl_executor x = {.key = "helper",
                              .data = h,
                              .slots = SLOTS,
                              .start = start,
                              .fd = helper_fd,
                              .poll = poll_results,
                              .free = stop_helper};
    struct pawl_engine *engine;
    bool drained = false;
    int rc = pawl_engine_open(p, &(struct pawl_engine_options){.slots = SLOTS}, &engine, e);

    if (rc)
        return rc;
    pawl_engine_watch(engine, on_status, p);
    rc = pawl_engine_add_executor(engine, &x, e);
    while (!rc && !drained && !h->gone)
        if (!(rc = pawl_engine_step(engine, 1000, e)))
            rc = pawl_engine_drained(engine, &drained, e);
    while (!rc && h->gone && !pawl_engine_idle(engine))
        rc = pawl_engine_step(engine, 1000, e); /* lost attempts are still to be stored */
    pawl_engine_close(engine);
    return rc ? rc : h->gone ? refuse(e, PAWL_E_REFUSED, "the helper has ended") : 0;
}

int main(int argc, char **argv)
{
    struct pawl_options options = {.url = argc > 1 ? argv[1] : NULL};
    struct helper helper = {0};
    struct pawl_error e;
    struct pawl *p;
    int rc = 0, i;

    if (argc < 3 || start_helper(&helper, argv[2])) {
        fprintf(stderr, "usage: executor DB HELPER INPUT...\n");
        return 2;
    }
    if (pawl_open(&options, &p, &e))
        return fail(&e);
    for (i = 3; !rc && i < argc; i++)
        rc = pawl_submit(
            p,
            &(struct pawl_job){
                .name = "exec::line", .lane = "helper", .input = argv[i], .max_attempts = 2},
            1, &e);
    rc = rc || work(p, &helper, &e) ? fail(&e) : 0;
    pawl_close(p);
    return rc;
}
