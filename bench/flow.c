/* flow.c - measures workflows through the whole engine: submitted to its loop, and run to their end
 * on its threads by functions that do nothing, or by commands.
 *
 *   flow URL STATE SHAPE N [SLOTS]
 *
 *   chain    one workflow of N tasks, each needs the one before
 *   steps    N workflows of five tasks in a chain
 *   diamond  N workflows of four tasks: b and c need a, d needs both
 *   fanout   one workflow with a list of N items
 *   graph    one workflow of N tasks: parallel chains, at most 1,000
 *   flat     one workflow of N tasks that need nothing
 *   shell    one workflow of N commands `true`: a chain, or with SLOTS > 1 that many at a time
 *
 * Prints one JSON line: the time from the submitting call to the end of the last workflow, the time
 * until all were accepted, and the cost in commits, statements and memory. Reading the definition
 * and opening the engine are not counted. */
#include "kit.h"

#include "base/buf.h"
#include "parse/workflow/file.h"
#include "store/query/query.h"

#include <sys/resource.h>

#define PARALLEL_CHAINS 1000 /* parallel chains in a graph */
#define OPEN_WORKFLOWS  200  /* workflows running at once */

enum shape { CHAIN, STEPS, DIAMOND, FANOUT, GRAPH, FLAT, SHELL };
static const char *const shapes[] = {"chain", "steps", "diamond", "fanout",
                                     "graph", "flat",  "shell"};

struct run {
    struct kit k;
    enum shape shape;
    size_t n;         /* the argument N */
    size_t workflows; /* number of workflows */
    size_t jobs;      /* number of jobs in all workflows */
    size_t accepted;
    int64_t last; /* the newest id */
    double began, all_accepted;
};

static int noop(struct function_call *c, void *arg)
{
    (void)c;
    (void)arg;
    return 0;
}

/* ---- definitions ---- */

static void task(struct buf *b, size_t i, const char *what, size_t need)
{
    buf_addf(b, "  t%zu: {%s", i, what);
    if (need)
        buf_addf(b, ", needs: t%zu", need);
    buf_addstr(b, "}\n");
}

static void write_yaml(const struct run *r, struct buf *b)
{
    static const char function[] = "function: bench", command[] = "run: 'true'";
    size_t n = r->shape == STEPS ? 5 : r->n, i;

    buf_addf(b, "name: %s\ntasks:\n", shapes[r->shape]);
    if (r->shape == DIAMOND) {
        buf_addstr(b, "  a: {function: bench}\n"
                      "  b: {function: bench, needs: a}\n"
                      "  c: {function: bench, needs: a}\n"
                      "  d: {function: bench, needs: [b, c]}\n");
    } else if (r->shape == FANOUT) {
        buf_addf(b, "  each: {function: bench, foreach: %zu}\n", n);
    } else {
        for (i = 1; i <= n; i++)
            if (r->shape == GRAPH)
                task(b, i, function, i > PARALLEL_CHAINS ? i - PARALLEL_CHAINS : 0);
            else if (r->shape == SHELL)
                task(b, i, command, r->k.slots == 1 ? i - 1 : 0);
            else
                task(b, i, function, r->shape == FLAT ? 0 : i - 1);
    }
}

/* The canonical text, as it is submitted. */
static char *definition(const struct run *r)
{
    struct diagnostics diagnostics = DIAGNOSTICS_INIT;
    struct arena arena = ARENA_INIT;
    struct buf yaml = BUF_INIT, text = BUF_INIT;
    const struct workflow *w;
    struct err err = ERR_INIT;

    write_yaml(r, &yaml);
    kit_must(&r->k,
             workflow_parse(diagnostics_take(&diagnostics, "bench.flow.yaml", yaml.ptr, yaml.len),
                            NULL, &diagnostics, &arena, &w, &err),
             &err);
    workflow_write(w, &text);
    diagnostics_release(&diagnostics);
    arena_release(&arena);
    buf_release(&yaml);
    return text.ptr;
}

/* ---- the run ---- */

static void accepted(void *arg, const struct submission *s)
{
    struct run *r = arg;

    kit_must(&r->k, s->rc, &s->err);
    r->accepted++;
    r->last = s->id;
    if (r->accepted == r->workflows)
        r->all_accepted = kit_seconds() - r->began;
}

static void run(struct run *r, const char *text)
{
    struct submission s = {.definition = text, .input = "{}"};
    size_t submitted = 0, each = r->jobs / r->workflows;

    r->began = kit_seconds();
    while (r->k.ended < r->jobs) {
        for (; submitted < r->workflows && submitted - r->k.ended / each < OPEN_WORKFLOWS;
             submitted++)
            engine_submit(r->k.engine, &s, accepted, r);
        kit_step(&r->k, -1);
    }
}

/* Checks the last workflow; the others ended in the same way. */
static void check_end(const struct run *r)
{
    struct store *store = NULL;
    struct execution_list list = {0};
    struct err err = ERR_INIT;

    kit_must(&r->k, store_open(r->k.url, NULL, NULL, &store, &err), &err);
    kit_must(&r->k, query_execution(store, r->last, &list, &err), &err);
    if (!list.n || list.at[0].status != S_SUCCEEDED) {
        fprintf(stderr, "flow: workflow %lld did not succeed\n", (long long)r->last);
        exit(1);
    }
    execution_list_release(&list);
    store_close(&store);
}

static int shape_of(const char *name)
{
    size_t i;

    for (i = 0; i < sizeof(shapes) / sizeof(*shapes); i++)
        if (!strcmp(name, shapes[i]))
            return (int)i;
    return -1;
}

int main(int argc, char **argv)
{
    struct run r = {.k = {.program = "flow", .traced = true}};
    struct rusage before, after;
    char *text;
    double took;
    int shape = argc == 5 || argc == 6 ? shape_of(argv[3]) : -1;

    if (shape < 0) {
        fprintf(stderr, "usage: flow URL STATE "
                        "chain|steps|diamond|fanout|graph|flat|shell N [SLOTS]\n");
        return 2;
    }
    r.k.url = argv[1];
    r.k.state = argv[2];
    r.shape = (enum shape)shape;
    r.n = strtoul(argv[4], NULL, 10);
    r.workflows = r.shape == STEPS || r.shape == DIAMOND ? r.n : 1;
    r.jobs = r.shape == STEPS ? 5 * r.n : r.shape == DIAMOND ? 4 * r.n : r.n;
    if (r.shape == SHELL) {
        r.k.slots = argc == 6 ? (int)strtol(argv[5], NULL, 10) : 1;
    } else {
        r.k.function = noop;
        r.k.threads = 1;
        r.k.local = 500;
    }
    text = definition(&r);
    kit_open(&r.k);
    kit_settle_down(&r.k);
    getrusage(RUSAGE_SELF, &before);
    run(&r, text);
    took = kit_seconds() - r.began;
    getrusage(RUSAGE_SELF, &after);
    check_end(&r);
    printf("{\"what\":\"flow\",\"shape\":\"%s\",\"n\":%zu,\"slots\":%d,\"jobs\":%zu,"
           "\"seconds\":%.3f,\"accepted_s\":%.3f,\"us_per_job\":%.1f,\"workflows_per_s\":%.1f,"
           "\"commits\":%ld,\"statements\":%ld,\"peak_kb\":%ld,\"grown_kb\":%ld}\n",
           shapes[r.shape], r.n, r.k.slots, r.jobs, took, r.all_accepted,
           took * 1e6 / (double)r.jobs, (double)r.workflows / took, r.k.commits, r.k.statements,
           after.ru_maxrss, after.ru_maxrss - before.ru_maxrss);
    engine_close(&r.k.engine);
    free(text);
    return r.k.failed != 0;
}
