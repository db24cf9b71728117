/* cmd_worker.c - pawl worker: runs queued jobs until it is stopped or, with --drain, until
 * nothing is left. Commands outlive it: the next worker of the same state folder adopts them. */
#include "cli/run_workflow.h"

#include "base/env.h"
#include "base/mem.h"

#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK_MS  1000    /* ms between two checks of --drain whether other workers are done */
#define STOP_US   5000000 /* µs that functions get to return after the first signal */
#define HURRY_US  500000  /* µs that functions get to return after the second signal */
#define WAIT_US   (INT64_MAX / 4)
#define NEVER     INT64_MAX
#define NOT_GIVEN -1 /* the value of an option that was not given */

struct worker {
    struct texts queues, plugins;
    const char *state, *config;
    int64_t slots, loops;
    bool drain;

    struct pawl_engine *e;
    int signals;
};

/* ---- ready ---- */

/* Collects the queues from this worker's own row; they are the same for each lane. */
static int find_queues(void *arg, const char *json)
{
    struct texts *t = arg;
    json_auto_t *row = parse_object(json);
    json_t *queues, *queue;
    const char *lane;
    size_t i;
    bool own = !strcmp(field(row, "id"), t->at[0]);

    json_object_foreach(json_object_get(row, "serves"), lane, queues)
    {
        if (!own || t->n > 1)
            break;
        json_array_foreach(queues, i, queue) * vec_add(t) = mem_strdup(json_string_value(queue));
    }
    return own;
}

static void print_ready(struct pawl *p, struct pawl_engine *e)
{
    char id[20];
    AUTO_FREE struct texts found = {0};
    AUTO_BUF names = BUF_INIT;

    snprintf(id, sizeof(id), "%016" PRIx64, (uint64_t)pawl_engine_worker(e));
    *vec_add(&found) = id;
    if (pawl_workers(p, find_queues, &found, NULL))
        buf_addch(&names, '?'); /* the database is unreachable again; the engine will report that */
    for (size_t i = 1; i < found.n; i++) {
        buf_addf(&names, "%s%s", i > 1 ? ", " : "", found.at[i]);
        free((char *)found.at[i]);
    }
    print_clean(stderr, "pawl: worker %s is ready: %s, queues %s, %d slots", id, pawl_url(p),
                buf_cstr(&names), pawl_engine_slots(e));
}

/* ---- stop ---- */

static int left_ms(int64_t until)
{
    int64_t left = until == NEVER ? NEVER : until - clock_boot_us();

    if (left == NEVER)
        return -1;
    return left <= 0 ? 0 : left > INT_MAX ? INT_MAX : (int)(left / 1000 + 1);
}

/* Steps until no leased job is left, the time is over, or a signal arrives. Returns whether a
 * signal arrived. */
static bool step_until_idle(struct worker *w, int64_t until, int *rc, struct pawl_error *err)
{
    int signal = 0;

    while (!*rc && !signal && !pawl_engine_idle(w->e) && clock_boot_us() < until)
        *rc = run_step(w->e, w->signals, left_ms(until), &signal, err);
    return signal != 0;
}

/* Lets functions finish; then asks them to stop; then abandons them. */
static int stop(struct worker *w, struct pawl_error *err)
{
    int64_t grace = pawl_engine_drain_grace(w->e);
    int rc = 0;
    bool again;

    pawl_engine_stop(w->e, false);
    again = step_until_idle(w, clock_boot_us() + grace, &rc, err);
    if (rc || pawl_engine_idle(w->e))
        return rc;
    fprintf(stderr, "pawl: asking running functions to stop\n");
    pawl_engine_stop(w->e, true);
    step_until_idle(w, clock_boot_us() + (again ? HURRY_US : STOP_US), &rc, err);
    return rc;
}

/* Whether a signal has arrived; as a give_up function, it ends the wait for an unreachable
 * database. */
static bool is_signalled(void *arg)
{
    struct pollfd fd = {.fd = ((struct worker *)arg)->signals, .events = POLLIN};

    return poll(&fd, 1, 0) > 0;
}

/* Opens the database. A worker waits for a connection as long as it takes: a supervisor would only
 * restart it. */
static int open_database(struct cli *c, struct worker *w)
{
    struct pawl_options o = cli_options(c, false);

    o.config = w->config;
    o.patience = WAIT_US;
    o.give_up = is_signalled;
    o.arg = w;
    return pawl_open(&o, &c->p, &c->err);
}

/* Says who has asked the worker to drain. */
static void print_draining(const char *by, const char *reason)
{
    print_clean(stderr,
                "pawl: %s has asked this worker to drain%s%s: claiming no more jobs, exiting "
                "when those that run have ended",
                by ? by : "someone", reason ? ": " : "", reason ? reason : "");
}

/* Runs jobs until a signal arrives or, with --drain, no job is left. A worker that was asked to
 * drain also ends when the jobs that it runs have ended. */
static int work(struct worker *w, struct pawl_error *err)
{
    bool drained = false, draining = false;
    int signal = 0, rc = 0;

    while (!rc && !signal && !drained) {
        const char *by, *reason;

        rc = run_step(w->e, w->signals, w->drain ? CHECK_MS : -1, &signal, err);
        if (!rc && !draining && (draining = pawl_engine_is_draining(w->e, &by, &reason)))
            print_draining(by, reason);
        if (draining)
            drained = pawl_engine_idle(w->e);
        else if (!rc && w->drain)
            rc = pawl_engine_drained(w->e, &drained, err);
    }
    if (signal)
        fprintf(stderr, "pawl: received SIG%s: claiming no more jobs, stopping\n",
                sigabbrev_np(signal));
    return rc ? rc : stop(w, err);
}

static int run(struct cli *c)
{
    struct worker *w = c->values;
    struct pawl_engine_options eo = {.queues = w->queues.at,
                                     .plugins = w->plugins.at,
                                     .state = w->state,
                                     .slots = w->slots == NOT_GIVEN ? 0 : (int)w->slots,
                                     .loops = w->loops == NOT_GIVEN ? 0 : (int)w->loops,
                                     .give_up = is_signalled,
                                     .arg = w};
    int rc;

    if (!w->slots || w->slots > 10000)
        return cli_wrong("--slots must be a number from 1 to 10000");
    if (!w->loops || w->loops > 64)
        return cli_wrong("--loops must be a number from 1 to 64");
    if ((w->signals = signals_open()) < 0)
        return 1;
    /* the first step writes the lanes that this worker serves, so that others see them */
    if (!(rc = open_database(c, w)) && !(rc = pawl_engine_open(c->p, &eo, &w->e, &c->err)) &&
        !(rc = pawl_engine_step(w->e, 0, &c->err))) {
        print_ready(c->p, w->e);
        rc = work(w, &c->err);
    } else if (is_signalled(w)) { /* the signal came before the worker was ready */
        rc = 0;
    }
    pawl_engine_close(w->e);
    close(w->signals);
    return rc;
}

static const struct option options[] = {
    {"queue", OPTION_TEXTS, offsetof(struct worker, queues), "QUEUE",
     "claim jobs from this queue, instead of the configured ones"},
    {"slots", OPTION_NUMBER, offsetof(struct worker, slots), "N",
     "run up to N attempts at once; default: worker.slots in pawl.yaml"},
    {"loops", OPTION_NUMBER, offsetof(struct worker, loops), "N",
     "run up to N transactions at once, on PostgreSQL; default: worker.loops in pawl.yaml"},
    {"drain", OPTION_FLAG, offsetof(struct worker, drain), NULL,
     "exit when no job is left that this worker can run"},
    {"plugin", OPTION_TEXTS, offsetof(struct worker, plugins), "FILE",
     "load a shared object with functions and executors"},
    {"state", OPTION_TEXT, offsetof(struct worker, state), "DIR",
     "state folder, where running attempts keep their files; default: ~/.local/state/pawl"},
    {"config", OPTION_TEXT, offsetof(struct worker, config), "FILE",
     "configuration file; default: ./pawl.yaml, else ~/.config/pawl/pawl.yaml"},
    {0},
};

static const struct worker defaults = {.slots = NOT_GIVEN, .loops = NOT_GIVEN};

const struct command command_worker = {
    .name = "worker",
    .forms = "",
    .text = "run queued jobs until stopped, or (--drain) until nothing is left",
    .about = "On SIGTERM or Ctrl-C it stops claiming jobs, lets functions finish, and exits. "
             "Commands outlive it: the next worker of the same state folder adopts them.",
    .options = options,
    .size = sizeof(defaults),
    .defaults = &defaults,
    .examples = {{"pawl worker --slots 8", "run up to eight attempts at once, until SIGTERM or "
                                           "Ctrl-C"},
                 {"pawl worker --queue reports --drain",
                  "run everything that waits in one queue, then exit"}},
    .run = run,
    .no_json = true,
    .local = true,
};
