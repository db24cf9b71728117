/* cmd_bench.c - pawl bench: measures how fast Pawl is with this database on this machine, and
 * what limits it. It works in its own tenant, apart from other data, and removes it at the end. */
#include "cli/bench/bench.h"
#include "cli/run_workflow.h"

#include "base/env.h"
#include "base/json.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_US 1000000
#define MAX_US     60000000

/* ---- a tenant and a folder for it ---- */

/* The tenant and folder created for the measurement; always removed afterwards. */
struct bench_site {
    char *url;
    char tenant[48], state[64], config[80];
    char *disk;
    bool made; /* the tenant exists */
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

/* The folder of a database file; NULL for a server. */
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

static int create_site(const struct cli *c, struct bench_site *at)
{
    struct pawl_options o = {0};
    struct pawl_error err;
    int code;

    if (c->db)
        at->url = mem_strdup(c->db);
    else if (pawl_default_url(&at->url, &err))
        return cli_fail(&err);
    at->disk = folder_of(at->url);
    snprintf(at->tenant, sizeof(at->tenant), "bench_%lld_%lld", (long long)getpid(),
             (long long)(clock_wall_us() % 1000000000));
    if ((code = create_state_folder(at)))
        return code;
    o.url = at->url;
    if (pawl_tenant_create(&o, at->tenant, &err))
        return cli_fail(&err);
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

/* Names the bottleneck. */
static const char *limit_of_one(const struct bench *b)
{
    int64_t submit = times_at(&b->submit, 50);

    if (times_at(&b->sync, 50) * 2 > submit)
        return "a single submit waits for the disk: submit several at once";
    if (b->disk)
        return "a single submit is limited by the processor; the disk is fast, or does not wait "
               "(in memory, or a cache)";
    if (times_at(&b->read, 50) * 2 > submit)
        return "a single submit waits for the network: submit several at once";
    return "a single submit waits for the server's commit: submit several at once";
}

static const char *limit_of_many(const struct bench *b)
{
    if (b->busy > 0.8)
        return b->disk ? "end-to-end jobs use a whole processor: that is the limit of one file"
                       : "end-to-end jobs use a whole processor on this machine: add workers";
    return b->disk ? "end-to-end jobs wait for the disk, or for a processor that other processes "
                     "use"
                   : "end-to-end jobs wait for the server, or for a processor that other processes "
                     "use";
}

static void print_times(const char *what, const struct bench_times *t)
{
    if (t->us.n)
        printf("%-28s %9.2f ms  %9.2f ms\n", what, (double)times_at(t, 50) / 1000,
               (double)times_at(t, 99) / 1000);
}

static void print_text(const struct bench *b)
{
    printf("%-28s %12s  %12s\n", "", "median", "99th pct.");
    print_times("disk write", &b->sync);
    print_times("read", &b->read);
    print_times("single submit", &b->submit);
    print_times("submit to start, idle worker", &b->start);
    printf("\n%-28s %9.0f /s\n", "submits, 1,000 per call", b->submits);
    printf("%-28s %9.0f /s\n", "runs (claim, start, settle)", b->runs);
    printf("%-28s %9.0f /s\n", "end to end (submit to end)", b->lives);
    printf("\n%s\n%s\n", limit_of_one(b), limit_of_many(b));
}

static void add_times(struct json_writer *w, const char *key, const struct bench_times *t)
{
    json_write_key(w, key);
    if (!t->us.n) {
        json_write_null(w);
        return;
    }
    json_write_begin(w, '{');
    json_write_key(w, "p50_us");
    json_write_i64(w, times_at(t, 50));
    json_write_key(w, "p99_us");
    json_write_i64(w, times_at(t, 99));
    json_write_key(w, "n");
    json_write_i64(w, (int64_t)t->us.n);
    json_write_end(w, '}');
}

static void add_rate(struct json_writer *w, const char *key, double n)
{
    json_write_key(w, key);
    json_write_i64(w, (int64_t)n);
}

static void print_json(const struct bench *b)
{
    struct buf out = BUF_INIT;
    struct json_writer w = JSON_WRITER(&out);

    json_write_begin(&w, '{');
    add_times(&w, "sync", &b->sync);
    add_times(&w, "read", &b->read);
    add_times(&w, "submit", &b->submit);
    add_times(&w, "start", &b->start);
    add_rate(&w, "submits_per_s", b->submits);
    add_rate(&w, "runs_per_s", b->runs);
    add_rate(&w, "lives_per_s", b->lives);
    json_write_key(&w, "limits");
    json_write_begin(&w, '[');
    json_write_text(&w, limit_of_one(b));
    json_write_text(&w, limit_of_many(b));
    json_write_end(&w, ']');
    json_write_end(&w, '}');
    puts(out.ptr);
    buf_release(&out);
}

/* ---- the command ---- */

static int bench(const struct cli *c, int64_t span)
{
    struct bench b = {.span = span, .signals = signals_open()};
    struct bench_site at = {0};
    struct pawl_error err;
    int code, left;

    if (b.signals < 0)
        return 1;
    if (!(code = create_site(c, &at))) {
        b.options = cli_options(c, true);
        b.options.url = at.url;
        b.options.tenant = at.tenant;
        b.options.config = at.config;
        b.state = at.state;
        b.disk = at.disk;
        if (bench_run(&b, &err))
            code = cli_fail(&err);
        else if (b.signal)
            code = 128 + b.signal;
        else if (c->json)
            print_json(&b);
        else
            print_text(&b);
    }
    left = remove_site(&at);
    close(b.signals);
    bench_release(&b);
    return code ? code : left;
}

struct command_options {
    int64_t span;
};

static const struct option options[] = {
    {"span", OPTION_DURATION, offsetof(struct command_options, span), "DURATION",
     "measure each part for this long; default: 1s"},
    {0},
};

static int cmd_bench(int argc, char **argv)
{
    struct command_options w = {.span = DEFAULT_US};
    struct cli c;
    int code = cli_begin(&c, &command_bench, argc, argv, &w);

    if (code >= 0)
        return code;
    if (w.span <= 0 || w.span > MAX_US)
        code = cli_wrong("--span must be above 0 and at most 1m");
    else
        code = bench(&c, w.span);
    cli_end(&c);
    return cli_done(code);
}

const struct command command_bench = {
    .name = "bench",
    .forms = "",
    .text = "measure how fast Pawl is with this database on this machine, and what limits it",
    .about = "Works in a temporary tenant of that database and in a temporary folder in $TMPDIR. "
             "Both are removed at the end; your data is neither read nor written. Other load on "
             "the machine affects the results.",
    .options = options,
    .examples = {{"pawl bench", "about five seconds"},
                 {"pawl bench --db postgres://pawl@db.example/pawl --span 5s",
                  "longer, with steadier results"}},
    .run = cmd_bench,
};
