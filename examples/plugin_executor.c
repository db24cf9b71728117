/* plugin_executor.c - a plugin that brings an executor into `pawl worker`: `wait` runs tasks that
 * only wait. They need neither a process nor a thread, so one worker can have hundreds of them.
 *
 *   cc -shared -fPIC -o plugin_executor.so plugin_executor.c
 *   pawl.yaml:  plugins: [plugin_executor.so]
 *   workflow:   tasks: {pause: {executor: wait, with: {ms: 500}}}
 *
 * `ms` must be the first key of `with`, because this example does not parse JSON. The outputs of a
 * task are its workflow, how long it waited, and its item, or null if that is long. */
#include <pawl.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define SLOTS    500
#define MS_MAX   86400000

#define ITEM_MAX 200

struct waiting {
    struct pawl_attempt id; /* the execution is 0 in a free slot */
    int64_t ends_at;        /* CLOCK_BOOTTIME, ms */
    long ms;
    char about[400]; /* members of the outputs */
};

static struct {
    const struct pawl_report_ops *report;
    int timer; /* is readable when the first of them ends */
    struct waiting list[SLOTS];
} all = {.timer = -1};

static int64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_BOOTTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static struct waiting *find(int64_t execution, int attempt)
{
    int i;

    for (i = 0; i < SLOTS; i++)
        if (all.list[i].id.execution == execution && all.list[i].id.attempt == attempt)
            return &all.list[i];
    return NULL;
}

static void set_timer(void)
{
    struct itimerspec at = {0};
    int64_t first = 0;
    int i;

    for (i = 0; i < SLOTS; i++)
        if (all.list[i].id.execution && (!first || all.list[i].ends_at < first))
            first = all.list[i].ends_at;
    at.it_value.tv_sec = first / 1000;
    at.it_value.tv_nsec = first % 1000 * 1000000;
    timerfd_settime(all.timer, TFD_TIMER_ABSTIME, &at, NULL); /* 0 stops it */
}

static int fail(struct pawl_error *err, int code, const char *sentence)
{
    err->code = code;
    snprintf(err->message, sizeof(err->message), "%s", sentence);
    return -code;
}

/* Reads the input, which Pawl writes without spaces: {"ms":500}, or {"ms":500,"item":…}. -1 if it
 * has another form. */
static long read_ms(const char *input)
{
    static const char head[] = "{\"ms\":";
    const size_t len = sizeof(head) - 1;
    char *end;
    long ms;

    if (!input || strncmp(input, head, len) != 0)
        return -1;
    ms = strtol(input + len, &end, 10);
    return end > input + len && (*end == ',' || *end == '}') && ms <= MS_MAX ? ms : -1;
}

static int start(void *data, const struct pawl_task *t, struct pawl_error *err)
{
    long ms = read_ms(t->input);
    struct waiting *w = find(0, 0);

    (void)data;
    if (!w)
        return fail(err, PAWL_E_REFUSED, "all slots are in use");
    if (ms < 0)
        return fail(err, PAWL_E_INVALID,
                    "with.ms must be a number of milliseconds, at most a day, and the first key: "
                    "{with: {ms: 500}}");
    *w = (struct waiting){.id = t->id, .ms = ms, .ends_at = now_ms() + ms};
    /* a workflow's name has at most 100 bytes, none of which JSON escapes */
    snprintf(w->about, sizeof(w->about), "\"workflow\":\"%s\",\"item\":%s",
             t->workflow_name ? t->workflow_name : "",
             t->item && strlen(t->item) <= ITEM_MAX ? t->item : "null");
    all.report->started(t->id, 0);
    set_timer();
    return 0;
}

static void end(struct waiting *w, int outcome)
{
    char result[500];

    snprintf(result, sizeof(result), "{\"waited_ms\":%ld,%s}", w->ms, w->about);
    all.report->ended(w->id, &(struct pawl_end){.outcome = outcome, .result = result});
    *w = (struct waiting){0};
}

static void cancel(void *data, struct pawl_attempt a)
{
    struct waiting *w = find(a.execution, a.attempt);

    (void)data;
    if (w) /* otherwise the task has ended by itself */
        end(w, PAWL_CANCELLED);
    set_timer();
}

static int timer(void *data)
{
    (void)data;
    return all.timer;
}

static void poll_timer(void *data)
{
    int64_t now = now_ms();
    uint64_t expired;
    int i;

    (void)data;
    if (read(all.timer, &expired, sizeof(expired)) < 0)
        return; /* the timer was set again meanwhile */
    for (i = 0; i < SLOTS; i++)
        if (all.list[i].id.execution && all.list[i].ends_at <= now)
            end(&all.list[i], PAWL_OK);
    set_timer();
}

static void finish(void *data)
{
    (void)data;
    close(all.timer);
    all.timer = -1;
    memset(all.list, 0, sizeof(all.list));
}

PAWL_API extern const int pawl_plugin_abi;
PAWL_API int pawl_plugin_init(const struct pawl_plugin_host *host);

const int pawl_plugin_abi = PAWL_PLUGIN_ABI;

int pawl_plugin_init(const struct pawl_plugin_host *host)
{
    struct pawl_executor x = {.key = "wait",
                              .slots = SLOTS,
                              .start = start,
                              .cancel = cancel,
                              .fd = timer,
                              .poll = poll_timer,
                              .free = finish};

    int rc;

    if (all.timer >= 0)
        return PAWL_E_CONFLICT; /* this plugin serves one engine of a process */
    all.report = host->report;
    all.timer = timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
    if (all.timer < 0)
        return PAWL_E_UNAVAILABLE;
    if ((rc = host->add_executor(host, &x)))
        finish(NULL); /* Pawl frees only an executor that it has accepted */
    return rc;
}
