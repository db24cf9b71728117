/* cmd_bench.c - pawl bench: measures how fast Pawl is with this database on this machine, and
 * what limits it. It works in its own tenant, apart from other data, and removes it at the end. */
#include "cli/bench/bench.h"
#include "cli/run_workflow.h"

#include "base/env.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_US 1000000
#define MAX_US     60000000

/* ---- the temporary tenant and folder ---- */

/* The tenant and folder created for the measurement; always removed afterwards. */
struct bench_site {
    char *url;
    char tenant[48], state[64], config[80];
    char *disk;
    bool made; /* the tenant was created */
};

static int remove_one(const char *path, const struct stat *st, int what, struct FTW *where)
{
    (void)st;
    (void)what;
    (void)where;
    return remove(path);
}

/* Writes an empty configuration, so that the user's own does not affect the measurement. */
static int write_config(struct bench_site *at)
{
    FILE *f;

    snprintf(at->config, sizeof(at->config), "%s/pawl.yaml", at->state);
    if (!(f = fopen(at->config, "w")))
        return -1;
    fputs("{}\n", f);
    return fclose(f);
}

static int create_state_folder(struct bench_site *at)
{
    const char *tmp = getenv("TMPDIR");

    if (snprintf(at->state, sizeof(at->state), "%s/pawl-bench.XXXXXX",
                 tmp && *tmp ? tmp : "/tmp") >= (int)sizeof(at->state))
        snprintf(at->state, sizeof(at->state), "/tmp/pawl-bench.XXXXXX");
    if (!mkdtemp(at->state)) {
        at->state[0] = '\0';
        return cli_wrong("can't create a folder in %s: %s", tmp ? tmp : "/tmp", strerror(errno));
    }
    return write_config(at) ? cli_wrong("can't write %s: %s", at->config, strerror(errno)) : 0;
}

/* Returns the folder of a database file; NULL for a server. */
static char *folder_of(const char *url)
{
    static const char file[] = "sqlite:";
    char *path, *slash;

    if (strncmp(url, file, sizeof(file) - 1))
        return NULL;
    path = mem_strdup(url + sizeof(file) - 1);
    path[strcspn(path, "?")] = '\0';
    slash = strrchr(path, '/');
    if (slash)
        slash[slash == path] = '\0';
    else
        snprintf(path, strlen(path) + 1, ".");
    return path;
}

static int create_site(struct cli *c, struct bench_site *at)
{
    struct pawl_options o = {0};

    if (!(at->url = mem_strdup(c->db)))
        TRY(pawl_default_url(&at->url, &c->err));
    at->disk = folder_of(at->url);
    snprintf(at->tenant, sizeof(at->tenant), "bench_%lld_%lld", (long long)getpid(),
             (long long)(clock_wall_us() % 1000000000));
    TRY(create_state_folder(at));
    o.url = at->url;
    TRY(pawl_tenant_create(&o, at->tenant, &c->err));
    at->made = true;
    return 0;
}

static int remove_site(struct bench_site *at)
{
    struct pawl_options o = {.url = at->url};
    struct pawl_error err;
    int code = 0;

    if (at->made && pawl_tenant_drop(&o, at->tenant, &err))
        code = cli_fail(&err);
    if (*at->state)
        nftw(at->state, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(at->disk);
    free(at->url);
    return code;
}

/* ---- results ---- */

static const struct {
    const char *key, *text;
} times[] = {[BENCH_SYNC] = {"sync", "disk write"},
             [BENCH_READ] = {"read", "read"},
             [BENCH_SUBMIT] = {"submit", "single submit"},
             [BENCH_START] = {"start", "submit to start, idle worker"}};

static const struct {
    const char *key, *text;
    size_t at;
} rates[] = {
    {"submits_per_s", "submits, 1,000 per call", offsetof(struct bench, submits)},
    {"runs_per_s", "runs (claim, start, settle)", offsetof(struct bench, runs)},
    {"lives_per_s", "end to end (submit to end)", offsetof(struct bench, lives)},
};
#define RATES (sizeof(rates) / sizeof(*rates))

static double rate_of(const struct bench *b, size_t i)
{
    return *(const double *)(const void *)((const char *)b + rates[i].at);
}

static int64_t median(const struct bench *b, size_t i)
{
    return times_at(&b->times[i], 50);
}

/* Describes what limits a single submit. */
static const char *limit_of_one(const struct bench *b)
{
    int64_t submit = median(b, BENCH_SUBMIT);

    if (median(b, BENCH_SYNC) * 2 > submit)
        return "a single submit waits for the disk: submit several at once";
    if (b->disk)
        return "a single submit is limited by the processor; the disk is fast, or does not wait "
               "(a file system in memory, or a write cache)";
    if (median(b, BENCH_READ) * 2 > submit)
        return "a single submit waits for the network: submit several at once";
    return "a single submit waits for the server's commit: submit several at once";
}

static const char *limit_of_many(const struct bench *b)
{
    if (b->busy > 0.8)
        return b->disk ? "end-to-end jobs use a whole processor: one SQLite file can't be faster"
                       : "end-to-end jobs use a whole processor on this machine: add workers";
    return b->disk ? "end-to-end jobs wait for the disk, or for a processor that other processes "
                     "use"
                   : "end-to-end jobs wait for the server, or for a processor that other processes "
                     "use";
}

static void print_results(const struct bench *b)
{
    printf("%-28s %12s  %12s\n", "", "median", "99th pct.");
    for (size_t i = 0; i < BENCH_TIMES; i++)
        if (b->times[i].us.n)
            printf("%-28s %9.2f ms  %9.2f ms\n", times[i].text, (double)median(b, i) / 1000,
                   (double)times_at(&b->times[i], 99) / 1000);
    putchar('\n');
    for (size_t i = 0; i < RATES; i++)
        printf("%-28s %9.0f /s\n", rates[i].text, rate_of(b, i));
    printf("\n%s\n%s\n", limit_of_one(b), limit_of_many(b));
}

static void print_json(const struct bench *b)
{
    json_t *o = json_object();

    for (size_t i = 0; i < BENCH_TIMES; i++)
        json_object_set_new(o, times[i].key,
                            b->times[i].us.n
                                ? json_pack("{s:I, s:I, s:I}", "p50_us", (json_int_t)median(b, i),
                                            "p99_us", (json_int_t)times_at(&b->times[i], 99), "n",
                                            (json_int_t)b->times[i].us.n)
                                : json_null());
    for (size_t i = 0; i < RATES; i++)
        json_object_set_new(o, rates[i].key, json_integer((json_int_t)rate_of(b, i)));
    json_object_set_new(o, "limits", json_pack("[s, s]", limit_of_one(b), limit_of_many(b)));
    print_json_object(o);
}

/* ---- the command ---- */

struct command_options {
    int64_t span;
};

static int run_bench(struct cli *c, struct bench *b, const struct bench_site *at)
{
    b->options = cli_options(c, true);
    b->options.one_connection = false; /* the benchmark measures a program that submits many jobs */
    b->options.url = at->url;
    b->options.tenant = at->tenant;
    b->options.config = at->config;
    b->state = at->state;
    b->disk = at->disk;
    TRY(bench_run(b, &c->err));
    if (b->signal)
        return 128 + b->signal;
    (c->json ? print_json : print_results)(b);
    return 0;
}

static int bench(struct cli *c)
{
    const struct command_options *w = c->values;
    AUTO(bench_release) struct bench b = {.span = w->span};
    struct bench_site at = {0};
    int code, left;

    if (w->span <= 0 || w->span > MAX_US)
        return cli_wrong("--span must be above 0 and at most 1m");
    if ((b.signals = signals_open()) < 0)
        return 1;
    if (!(code = create_site(c, &at)))
        code = run_bench(c, &b, &at);
    code = code < 0 ? cli_fail(&c->err) : code;
    left = remove_site(&at);
    close(b.signals);
    return code ? code : left;
}

static const struct option options[] = {
    {"span", OPTION_DURATION, offsetof(struct command_options, span), "DURATION",
     "measure each part for this long; default: 1s"},
    {0},
};

static const struct command_options defaults = {.span = DEFAULT_US};

const struct command command_bench = {
    .name = "bench",
    .forms = "",
    .text = "measure how fast Pawl is with this database on this machine, and what limits it",
    .about = "Works in a temporary tenant of that database and in a temporary folder in $TMPDIR. "
             "Both are removed at the end; your data is neither read nor written. Other load on "
             "the machine affects the results.",
    .options = options,
    .size = sizeof(defaults),
    .defaults = &defaults,
    .examples = {{"pawl bench", "about five seconds"},
                 {"pawl bench --db postgres://pawl@db.example/pawl --span 5s",
                  "longer, with steadier results"}},
    .run = bench,
    .local = true,
};
