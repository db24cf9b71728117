/* test_workflow_scale.c - the cost of a task must not grow with its workflow. Graphs of each shape
 * are run to their end, small ones and ones ten times larger, as an engine does it: settling,
 * deciding followers and the next claim are one turn. Each task must need the same number of
 * statements, and the same amount of data touched by the database (cost.h). */
#include "cost.h"
#include "workflow_fixture.h"

TEST_LONG;
TEST_ASAN_DB(sqlite); /* the test measures the database, not this program */
FRESH_TENANTS;

#define AT_ONCE 100 /* tasks that the worker runs at once */
#define CHAINS  50  /* parallel chains in a graph */

/* ---- the worker ---- */

struct leased_tasks {
    struct lease_ref held[AT_ONCE];
    bool fails[AT_ONCE];
    size_t n;
};

static int settle_and_claim_body(struct turn *t, void *arg, struct err *err)
{
    static const struct lane_queue serves[] = {{"function:f", "default"}};
    struct leased_tasks *h = arg;
    struct claim c = {.worker = 7,
                      .folder = "here",
                      .lease = LEASE,
                      .serves = serves,
                      .nserves = 1,
                      .max = AT_ONCE,
                      .push = true};
    struct settlement ended[AT_ONCE];
    struct job_list jobs;
    size_t i;
    int rc;

    for (i = 0; i < h->n; i++)
        ended[i] =
            (struct settlement){.lease = h->held[i],
                                .outcome = {.kind = h->fails[i] ? OUTCOME_FAILED : OUTCOME_OK,
                                            .error = h->fails[i] ? "on purpose" : NULL,
                                            .result = h->fails[i] ? NULL : "{\"n\":1}",
                                            .duration = 1,
                                            .retry_delay = -1}};
    if ((rc = op_settle(t, 7, ended, h->n, err)) || (rc = op_advance(t, err)) ||
        (rc = op_claim(t, &c, &jobs, err)))
        return rc;
    for (h->n = 0; h->n < jobs.n; h->n++) {
        const struct execution *e = jobs.at[h->n];

        h->held[h->n] = (struct lease_ref){.execution = e->id, .root = e->root, .epoch = e->epoch};
        h->fails[h->n] = strstr(e->name, "::bad") != NULL;
    }
    return 0;
}

static void run_to_end(struct store *s)
{
    struct leased_tasks h = {.n = 0};
    struct err err = ERR_INIT;

    do
        CHECK_OK_ERR(store_turn(s, settle_and_claim_body, &h, &err), &err);
    while (run_timers(s) || h.n);
}

/* ---- the graphs ---- */

typedef void write_fn(struct buf *b, size_t n);

static void write_list(struct buf *b, size_t n)
{
    buf_addf(b, "  each: {function: f, foreach: %zu}\n", n);
}

static void write_flat(struct buf *b, size_t n)
{
    while (n--)
        buf_addf(b, "  t%zu: {function: f}\n", n);
}

static void write_chains(struct buf *b, size_t n)
{
    size_t i;

    for (i = 0; i < n; i++)
        if (i < CHAINS)
            buf_addf(b, "  t%zu: {function: f}\n", i);
        else
            buf_addf(b, "  t%zu: {function: f, needs: t%zu}\n", i, i - CHAINS);
}

static void write_chain(struct buf *b, size_t n)
{
    size_t i;

    buf_addstr(b, "  t0: {function: f}\n");
    for (i = 1; i < n; i++)
        buf_addf(b, "  t%zu: {function: f, needs: t%zu}\n", i, i - 1);
}

/* One task, many that need it, and one that needs all of those. */
static void write_diamond(struct buf *b, size_t n)
{
    size_t i;

    buf_addstr(b, "  first: {function: f}\n");
    for (i = 0; i < n; i++)
        buf_addf(b, "  t%zu: {function: f, needs: first}\n", i);
    buf_addstr(b, "  last: {function: f, needs: [first");
    for (i = 0; i < n; i++)
        buf_addf(b, ", t%zu", i);
    buf_addstr(b, "]}\n");
}

static void write_skipped(struct buf *b, size_t n)
{
    size_t i;

    buf_addstr(b, "  bad: {function: f}\n");
    for (i = 0; i < n; i++)
        if (i)
            buf_addf(b, "  t%zu: {function: f, needs: t%zu}\n", i, i - 1);
        else
            buf_addstr(b, "  t0: {function: f, needs: bad}\n");
}

static const char *definition_of(write_fn *write, size_t n)
{
    struct buf yaml = BUF_INIT;
    const char *text;

    buf_addstr(&yaml, "name: large\ntasks:\n");
    write(&yaml, n);
    text = workflow_text(buf_cstr(&yaml));
    buf_release(&yaml);
    return text;
}

/* ---- costs ---- */

static long statements_sent;

static void count_statement(void *arg, const char *what, int64_t took, long rows)
{
    (void)arg;
    (void)took;
    (void)rows;
    statements_sent += strcmp(what, "spy") != 0;
}

struct batch {
    struct submission *list;
    size_t n;
};

static int submit_batch(struct turn *t, void *arg, struct err *err)
{
    struct batch *b = arg;

    return op_submit(t, b->list, b->n, err);
}

struct cost {
    double touched, statements; /* per task */
};

static struct cost cost_of(struct store *s, const char *text, size_t copies, size_t tasks)
{
    struct submission *list = mem_zalloc(copies * sizeof(*list));
    struct cost p;
    size_t i;

    for (i = 0; i < copies; i++)
        list[i] = (struct submission){.definition = text, .input = "{}"};
    begin_measuring(s);
    statements_sent = 0;
    for (i = 0; i < copies; i += AT_ONCE) {
        struct batch b = {list + i, copies - i < AT_ONCE ? copies - i : AT_ONCE};
        struct err err = ERR_INIT;

        CHECK_OK_ERR(store_turn(s, submit_batch, &b, &err), &err);
    }
    run_to_end(s);
    p.statements = (double)statements_sent / (double)tasks;
    end_measuring(s);
    p.touched = measured / (double)tasks;
    for (i = 0; i < copies; i++)
        CHECK(status_is_terminal(status_of(s, list[i].id)));
    free(list);
    return p;
}

/* Both costs include a share of fixed costs; the larger graph's share is smaller. */
static void compare(const char *label, struct cost small, struct cost large)
{
    printf("%s: %.2f and %.2f statements a task, touching %.0f and %.0f\n", label, small.statements,
           large.statements, small.touched, large.touched);
    if (large.statements > 1.1 * small.statements)
        test_fail(__FILE__, __LINE__, "%s: %.2f statements a task, ten times larger %.2f", label,
                  small.statements, large.statements);
    if (large.touched > 1.5 * small.touched)
        test_fail(__FILE__, __LINE__, "%s: touches %.0f a task, ten times larger %.0f", label,
                  small.touched, large.touched);
}

static struct store *counted_store(void)
{
    struct store *s = fixture_store();

    fixture_env()->trace = count_statement;
    spy_on(s);
    return s;
}

static void check_graph(const char *label, write_fn *write, size_t n, double most)
{
    struct store *s = counted_store();
    const char *few = definition_of(write, n), *many = definition_of(write, 10 * n);
    struct cost small, large;

    cost_of(s, few, 1, n); /* statements are prepared when they are first sent */
    small = cost_of(s, few, 1, n);
    large = cost_of(s, many, 1, 10 * n);
    compare(label, small, large);
    if (large.statements > most)
        test_fail(__FILE__, __LINE__, "%s: %.2f statements a task", label, large.statements);
    free((char *)few);
    free((char *)many);
    fixture_env()->trace = NULL;
    verify_clean(s);
    store_close(&s);
}

TEST(cost_per_item_does_not_grow_with_the_length_of_the_list)
{
    check_graph("a list", write_list, test_full() ? 2000 : 200, 1);
}

TEST(cost_per_task_does_not_grow_with_the_number_of_independent_tasks)
{
    check_graph("tasks side by side", write_flat, test_full() ? 2000 : 200, 1);
}

TEST(cost_per_task_does_not_grow_with_the_number_of_parallel_chains)
{
    check_graph("chains side by side", write_chains, test_full() ? 2000 : 200, 2);
}

TEST(cost_per_task_does_not_grow_with_the_length_of_the_chain)
{
    check_graph("a chain", write_chain, test_full() ? 200 : 20, 40);
}

TEST(cost_per_task_does_not_grow_with_the_width_of_the_diamond)
{
    check_graph("a diamond", write_diamond, test_full() ? 2000 : 200, 1);
}

TEST(cost_per_skipped_task_does_not_grow_with_the_length_of_the_chain)
{
    check_graph("skipped tasks", write_skipped, test_full() ? 2000 : 100, 4);
}

struct cancelling {
    struct request request;
    bool more;
};

static int cancel_slice(struct turn *t, void *arg, struct err *err)
{
    struct cancelling *c = arg;

    return op_cancel(t, &c->request, 1, AT_ONCE, &c->more, err);
}

static struct cost cost_of_cancel(struct store *s, size_t n)
{
    int64_t id = submit_workflow_text(s, definition_of(write_flat, n), NULL);
    struct cancelling c = {.request = {.execution = id}, .more = true};
    struct err err = ERR_INIT;
    struct cost p;

    run_all_timers(s);
    begin_measuring(s);
    statements_sent = 0;
    while (c.more)
        CHECK_OK_ERR(store_turn(s, cancel_slice, &c, &err), &err);
    p.statements = (double)statements_sent / (double)n;
    end_measuring(s);
    p.touched = measured / (double)n;
    run_all_timers(s);
    CHECK_EQ(status_of(s, id), S_CANCELLED);
    return p;
}

TEST(cost_per_cancelled_task_does_not_grow_with_the_number_of_tasks)
{
    struct store *s = counted_store();
    struct cost small, large;

    cost_of_cancel(s, 200);
    small = cost_of_cancel(s, 200);
    large = cost_of_cancel(s, 2000);
    compare("cancelled tasks", small, large);
    fixture_env()->trace = NULL;
    verify_clean(s);
    store_close(&s);
}

TEST(cost_per_workflow_does_not_grow_with_the_number_of_workflows)
{
    struct store *s = counted_store();
    const char *text = definition_of(write_diamond, 3);
    size_t n = test_full() ? 500 : 50;
    struct cost small, large;

    cost_of(s, text, n, 5 * n);
    small = cost_of(s, text, n, 5 * n);
    large = cost_of(s, text, 10 * n, 50 * n);
    compare("workflows", small, large);
    CHECK(large.statements < 2);
    free((char *)text);
    fixture_env()->trace = NULL;
    verify_clean(s);
    store_close(&s);
}
