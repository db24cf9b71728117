/* worker.c - a small program with libpawl: submits jobs to a database, and runs them.
 *
 *   worker submit DB N                 N jobs of some milliseconds
 *   worker submit DB INPUT [--key KEY] [--parent ID]   one job; INPUT is JSON, - reads it
 *   worker run DB [--for MS] [--lease MS] [--drain]
 *
 * An input of {"ms": 20} sleeps for 20 ms, {"fail": "why"} fails. The jobs only sleep. A real
 * program would do something, and would use the execution's id, which is the same in every attempt,
 * to determine whether it was done before. */
#include <pawl.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MS    1000LL
#define SLOTS 4

static int fail(const struct pawl_error *e)
{
    fprintf(stderr, "worker: %s\n", e->message);
    return pawl_exit_code(e->code);
}

static int64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

/* ---- submit ---- */

static int submit_many(struct pawl *p, long n)
{
    struct pawl_job *jobs = calloc((size_t)n, sizeof(*jobs));
    char(*inputs)[32] = calloc((size_t)n, sizeof(*inputs));
    struct pawl_error e;
    int code = 0;
    long i;

    if (!jobs || !inputs)
        return 1;
    for (i = 0; i < n; i++) {
        snprintf(inputs[i], sizeof(inputs[i]), "{\"ms\": %ld}", 60 + i * 7 % 80);
        jobs[i] = (struct pawl_job){
            .name = "exec::nap", .lane = "function:nap", .input = inputs[i], .max_attempts = 3};
    }
    if (pawl_submit(p, jobs, (size_t)n, &e))
        code = fail(&e);
    else
        printf("%lld to %lld\n", (long long)jobs[0].id, (long long)jobs[n - 1].id);
    free(jobs);
    free(inputs);
    return code;
}

static char *read_all(FILE *from)
{
    size_t len = 0, cap = 1 << 16, n;
    char *text = malloc(cap + 1);

    while (text && (n = fread(text + len, 1, cap - len, from)) > 0) {
        len += n;
        if (len == cap)
            text = realloc(text, (cap *= 2) + 1);
    }
    if (text)
        text[len] = '\0';
    return text;
}

static int submit_one(struct pawl *p, int argc, char **argv)
{
    struct pawl_job job = {.name = "exec::nap", .lane = "function:nap", .max_attempts = 3};
    char *text = strcmp(argv[3], "-") ? strdup(argv[3]) : read_all(stdin);
    struct pawl_error e;
    int code, i;

    job.input = text;
    for (i = 4; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--key"))
            job.key = argv[i + 1];
        else if (!strcmp(argv[i], "--parent"))
            job.parent = atoll(argv[i + 1]);
    }
    code = pawl_submit(p, &job, 1, &e) ? fail(&e) : 0;
    if (!code)
        printf("%lld\n", (long long)job.id);
    free(text);
    return code;
}

/* ---- run ---- */

/* The leased jobs, and when the sleep of each ends. */
struct leased_jobs {
    struct pawl_lease leases[SLOTS];
    int64_t began[SLOTS], done_at[SLOTS];
    bool adopted[SLOTS], fails[SLOTS];
    size_t n;
};

static void add_job(struct leased_jobs *h, const struct pawl_claim *c)
{
    const char *ms = c->input ? strstr(c->input, "\"ms\":") : NULL;

    h->leases[h->n] = (struct pawl_lease){.execution = c->execution, .epoch = c->epoch};
    h->began[h->n] = now_ms();
    h->done_at[h->n] = now_ms() + (ms ? atol(ms + 5) : 1);
    h->fails[h->n] = c->input && strstr(c->input, "\"fail\":");
    h->adopted[h->n++] = c->adopted;
}

static int claim(struct pawl_worker *w, struct leased_jobs *h, struct pawl_error *e)
{
    struct pawl_claim claims[SLOTS];
    size_t first = h->n, n = 0, i;
    int rc;

    if (h->n == SLOTS)
        return 0;
    if ((rc = pawl_claim(w, claims, SLOTS - h->n, &n, e)))
        return rc;
    for (i = 0; i < n; i++)
        add_job(h, &claims[i]);
    for (i = first; i < h->n && !rc; i++)
        if (!h->adopted[i]) /* an adopted job was started by another worker */
            rc = pawl_started(w, &h->leases[i], 1, 0, e);
    return rc;
}

/* The sleep of an adopted job ended with its worker: the attempt is lost, and retried. */
static struct pawl_settlement outcome(const struct leased_jobs *h, size_t i)
{
    struct pawl_settlement s = {.lease = h->leases[i], .duration = (now_ms() - h->began[i]) * MS};

    if (h->adopted[i]) {
        s.outcome = PAWL_LOST;
        s.error = "the worker that claimed it is gone";
        s.duration = -1;
    } else if (h->fails[i]) {
        s.outcome = PAWL_FAILED;
        s.error = "its input makes it fail";
        s.has_exit_code = true;
        s.exit_code = 3;
    } else {
        s.outcome = PAWL_OK;
        s.result = "{\"slept\": true}";
    }
    return s;
}

static void move_job(struct leased_jobs *h, size_t from, size_t to)
{
    h->leases[to] = h->leases[from];
    h->began[to] = h->began[from];
    h->done_at[to] = h->done_at[from];
    h->adopted[to] = h->adopted[from];
    h->fails[to] = h->fails[from];
}

/* Settles finished jobs, and forgets those whose lease was lost. */
static int settle(struct pawl_worker *w, struct leased_jobs *h, struct pawl_error *e)
{
    struct pawl_settlement list[SLOTS];
    size_t n = 0, left = 0, i;

    for (i = 0; i < h->n; i++) {
        if (h->leases[i].lost)
            continue;
        if (h->adopted[i] || now_ms() >= h->done_at[i])
            list[n++] = outcome(h, i);
        else
            move_job(h, i, left++);
    }
    h->n = left;
    return n ? pawl_settle(w, list, n, e) : 0;
}

struct plan {
    int64_t until, lease; /* ms */
    bool drain;
};

static int anything_left(void *arg, const char *json)
{
    bool *left = arg;

    *left |= !strstr(json, "\"ready\":0,\"held\":0,\"running\":0");
    return *left;
}

static int work(struct pawl *p, struct pawl_worker *w, const struct plan *plan,
                struct pawl_error *e)
{
    struct leased_jobs h = {.n = 0};
    int64_t next_beat = 0;
    bool left;
    int rc = 0;

    while (!rc && (now_ms() < plan->until || h.n)) {
        if (now_ms() >= next_beat) {
            if ((rc = pawl_heartbeat(w, h.leases, h.n, e)) || (rc = pawl_tick(w, NULL, e)))
                break;
            next_beat = now_ms() + plan->lease / 3;
        }
        if ((rc = settle(w, &h, e)) || (now_ms() < plan->until && (rc = claim(w, &h, e))))
            break;
        left = h.n > 0;
        if (!left && plan->drain && ((rc = pawl_queues(p, anything_left, &left, e)) || !left))
            break;
        usleep(h.n ? 2000 : 20000);
    }
    return rc;
}

static int run(struct pawl *p, const struct plan *plan)
{
    static const char *const lanes[] = {"function:nap", NULL};
    struct pawl_worker_options options = {
        .lanes = lanes, .lease = plan->lease * MS, .slots = SLOTS};
    struct pawl_worker *w;
    struct pawl_error e;
    int rc = pawl_worker_open(p, &options, &w, &e);

    if (rc)
        return fail(&e);
    rc = work(p, w, plan, &e);
    pawl_worker_close(w);
    return rc ? fail(&e) : 0;
}

/* ---- main ---- */

static int usage(void)
{
    fprintf(stderr, "usage: worker submit DB N | worker submit DB INPUT [--key KEY] [--parent ID]\n"
                    "       worker run DB [--for MS] [--lease MS] [--drain]\n");
    return 2;
}

static int read_plan(int argc, char **argv, struct plan *plan)
{
    int64_t for_ms = 60000;
    int i;

    *plan = (struct plan){.lease = 30000};
    for (i = 3; i < argc; i++) {
        if (!strcmp(argv[i], "--drain"))
            plan->drain = true;
        else if (!strcmp(argv[i], "--for") && i + 1 < argc)
            for_ms = atol(argv[++i]);
        else if (!strcmp(argv[i], "--lease") && i + 1 < argc)
            plan->lease = atol(argv[++i]);
        else
            return usage();
    }
    plan->until = now_ms() + for_ms;
    return 0;
}

int main(int argc, char **argv)
{
    bool submitting = argc >= 4 && !strcmp(argv[1], "submit");
    struct pawl_options options = {.url = argc > 2 ? argv[2] : NULL, .tenant = getenv("TENANT")};
    struct pawl_error e;
    struct plan plan;
    struct pawl *p;
    char *end;
    long n;
    int code;

    if (!submitting && (argc < 3 || strcmp(argv[1], "run")))
        return usage();
    if (!submitting && (code = read_plan(argc, argv, &plan)))
        return code;
    if (pawl_open(&options, &p, &e))
        return fail(&e);
    if (submitting) {
        n = strtol(argv[3], &end, 10);
        code = !*end && n > 0 ? submit_many(p, n) : submit_one(p, argc, argv);
    } else {
        code = run(p, &plan);
    }
    pawl_close(p);
    return code;
}
