/* cmd_worker.c - pawl worker: runs what is queued, until it is told to stop or, with --drain, until
 * nothing is left. Commands outlive it: the next worker of the same state folder goes on with them.
 */
#include "cli/run_workflow.h"

#include "base/env.h"
#include "base/mem.h"

#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK_MS  1000    /* --drain: what others have may end at any time */
#define STOP_US   5000000 /* for functions that were told to stop */
#define AT_ONCE   500000  /* the same if somebody insists */
#define NOT_EVER  INT64_MAX
#define NOT_GIVEN -1 /* an option */

struct worker {
    struct texts queues, plugins;
    const char *state, *config;
    int64_t slots, loops;
    bool drain;

    struct pawl *p;
    struct pawl_engine *e;
    int signals;
};

/* ---- ready ---- */

/* The queues that our own row names, which are the same for each lane. */
static int find_queues(void *arg, const char *json)
{
    struct texts *t = arg;
    json_t *row = parse_object(json), *queues, *queue;
    const char *lane;
    size_t i;
    bool ours = !strcmp(field(row, "id"), t->at[0]);

    json_object_foreach(json_object_get(row, "serves"), lane, queues)
    {
        if (!ours || t->n > 1)
            break;
        json_array_foreach(queues, i, queue) * vec_add(t) = mem_strdup(json_string_value(queue));
    }
    json_decref(row);
    return ours;
}

static void print_ready(const struct worker *w)
{
    char id[20];
    struct texts found = {0};
    struct buf names = BUF_INIT, line = BUF_INIT;
    size_t i;

    snprintf(id, sizeof(id), "%016" PRIx64, (uint64_t)pawl_engine_worker(w->e));
    *vec_add(&found) = id;
    if (pawl_workers(w->p, find_queues, &found, NULL))
        buf_addch(&names, '?'); /* the database went away again; the engine will say so */
    for (i = 1; i < found.n; i++) {
        buf_addf(&names, "%s%s", i > 1 ? ", " : "", found.at[i]);
        free((char *)found.at[i]);
    }
    buf_addf(&line, "worker %s is ready: %s, queues %s, %d slots", id, pawl_url(w->p),
             buf_cstr(&names), pawl_engine_slots(w->e));
    buf_reset(&names);
    out_clean(&names, buf_cstr(&line));
    fprintf(stderr, "pawl: %s\n", buf_cstr(&names));
    buf_release(&names);
    buf_release(&line);
    vec_release(&found);
}

/* ---- stop ---- */

static int left_ms(int64_t until)
{
    int64_t left = until == NOT_EVER ? NOT_EVER : until - clock_boot_us();

    if (left == NOT_EVER)
        return -1;
    return left <= 0 ? 0 : left > INT_MAX ? INT_MAX : (int)(left / 1000 + 1);
}

/* Steps until nothing is held any more, the time is over, or a signal comes: true. */
static bool finish(struct worker *w, int64_t until, int *rc, struct pawl_error *err)
{
    int signal = 0;

    while (!*rc && !signal && !pawl_engine_idle(w->e) && clock_boot_us() < until)
        *rc = run_step(w->e, w->signals, left_ms(until), &signal, err);
    return signal != 0;
}

/* Functions may come to their end; then they are told to stop; then they are left. */
static int stop(struct worker *w, struct pawl_error *err)
{
    int64_t grace = pawl_engine_drain_grace(w->e);
    int rc = 0;
    bool again;

    pawl_engine_stop(w->e, false);
    again = finish(w, clock_boot_us() + grace, &rc, err);
    if (rc || pawl_engine_idle(w->e))
        return rc;
    fprintf(stderr, "pawl: functions that still run are told to stop\n");
    pawl_engine_stop(w->e, true);
    finish(w, clock_boot_us() + (again ? AT_ONCE : STOP_US), &rc, err);
    return rc;
}

/* A signal is not kept waiting by a database that is away. */
static bool is_signalled(void *arg)
{
    struct pollfd fd = {.fd = ((struct worker *)arg)->signals, .events = POLLIN};

    return poll(&fd, 1, 0) > 0;
}

static int work(struct worker *w, struct pawl_error *err)
{
    bool drained = false;
    int signal = 0, rc = 0;

    while (!rc && !signal && !drained) {
        rc = run_step(w->e, w->signals, w->drain ? CHECK_MS : -1, &signal, err);
        if (!rc && w->drain)
            rc = pawl_engine_drained(w->e, &drained, err);
    }
    if (signal)
        fprintf(stderr, "pawl: SIG%s: it takes nothing more, and stops\n", sigabbrev_np(signal));
    return rc ? rc : stop(w, err);
}

static int run(const struct cli *c, struct worker *w)
{
    struct pawl_options o = cli_options(c, false);
    struct pawl_engine_options eo = {.queues = w->queues.at,
                                     .plugins = w->plugins.at,
                                     .state = w->state,
                                     .slots = w->slots == NOT_GIVEN ? 0 : (int)w->slots,
                                     .loops = w->loops == NOT_GIVEN ? 0 : (int)w->loops,
                                     .give_up = is_signalled,
                                     .arg = w};
    struct pawl_error err;
    int rc;

    o.config = w->config;
    if ((w->signals = signals_open()) < 0)
        return 1;
    if ((rc = pawl_open(&o, &w->p, &err)) || (rc = pawl_engine_open(w->p, &eo, &w->e, &err)))
        goto done;
    if ((rc = pawl_engine_step(w->e, 0, &err))) /* only then others see what it serves */
        goto done;
    print_ready(w);
    rc = work(w, &err);
done:
    pawl_engine_close(w->e);
    pawl_close(w->p);
    close(w->signals);
    return rc ? cli_fail(&err) : 0;
}

static const struct option options[] = {
    {"queue", OPTION_TEXTS, offsetof(struct worker, queues), "QUEUE",
     "take work from this queue, not from those that the configuration names"},
    {"slots", OPTION_NUMBER, offsetof(struct worker, slots), "N", "run so many attempts at once"},
    {"loops", OPTION_NUMBER, offsetof(struct worker, loops), "N",
     "make so many transactions at once; only on PostgreSQL more than one"},
    {"drain", OPTION_FLAG, offsetof(struct worker, drain), NULL,
     "end when nothing is left that it could run"},
    {"plugin", OPTION_TEXTS, offsetof(struct worker, plugins), "FILE",
     "a shared object with functions to load"},
    {"state", OPTION_TEXT, offsetof(struct worker, state), "DIR",
     "the folder in which running attempts keep their files"},
    {"config", OPTION_TEXT, offsetof(struct worker, config), "FILE",
     "the configuration, instead of pawl.yaml in this folder or your own"},
    {0},
};

static int cmd_worker(int argc, char **argv)
{
    struct worker w = {.slots = NOT_GIVEN, .loops = NOT_GIVEN};
    struct cli c;
    int code = cli_begin(&c, &command_worker, argc, argv, &w);

    if (code < 0) {
        code = !w.slots || w.slots > 10000 ? cli_wrong("--slots is a number from 1 to 10000")
               : !w.loops || w.loops > 64  ? cli_wrong("--loops is a number from 1 to 64")
                                           : run(&c, &w);
        cli_end(&c);
    }
    vec_release(&w.queues);
    vec_release(&w.plugins);
    return cli_done(code);
}

const struct command command_worker = {
    .name = "worker",
    .forms = "",
    .text = "run what is queued until it is told to stop, or (--drain) until nothing is left",
    .about = "TERM or Ctrl-C: it claims nothing more, lets functions finish, and ends. "
             "Commands outlive it: the next worker of the same state folder goes on with them.",
    .options = options,
    .examples = {{"pawl worker --slots 8", "run up to eight at once, until TERM or Ctrl-C"},
                 {"pawl worker --queue reports --drain",
                  "do all that waits in one queue, and end"}},
    .run = cmd_worker,
    .no_json = true,
};
