/* test_workflow_scale.c - what a task of a workflow costs must not grow with the workflow. Graphs
 * of each shape are run to their end, small ones and ten times larger ones, as an engine does it:
 * what ended, what follows and what is claimed next are one turn. For each task the same amount of
 * statements, and of what the database touches for them (cost.h), must be enough. */
#include "cost.h"
#include "workflow_fixture.h"

TEST_ASAN_DB(sqlite); /* what is measured is the database's own doing */
FRESH_TENANTS;

#define AT_ONCE 100 /* tasks that the worker holds */
#define ABREAST 50  /* chains of a graph */

/* ---- the worker ---- */

struct hands {
    struct lease_ref held[AT_ONCE];
    bool fails[AT_ONCE];
    size_t n;
};

static int settle_and_claim(struct turn *t, void *arg, struct err *err)
{
    static const struct lane_queue serves[] = {{"function:f", "default"}};
    struct hands *h = arg;
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
                                            .error = h->fails[i] ? "it was made to" : NULL,
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
    struct hands h = {.n = 0};
    struct err err = ERR_INIT;

    do
        CHECK_OK_ERR(store_turn(s, settle_and_claim, &h, &err), &err);
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
        if (i < ABREAST)
            buf_addf(b, "  t%zu: {function: f}\n", i);
        else
            buf_addf(b, "  t%zu: {function: f, needs: t%zu}\n", i, i - ABREAST);
}

static void write_chain(struct buf *b, size_t n)
{
    size_t i;

    buf_addstr(b, "  t0: {function: f}\n");
    for (i = 1; i < n; i++)
        buf_addf(b, "  t%zu: {function: f, needs: t%zu}\n", i, i - 1);
}

/* From one to all, and from all to one. */
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

static const char *text_of(write_fn *write, size_t n)
{
    struct buf yaml = BUF_INIT;
    const char *text;

    buf_addstr(&yaml, "name: large\ntasks:\n");
    write(&yaml, n);
    text = flow_text(buf_cstr(&yaml));
    buf_release(&yaml);
    return text;
}

/* ---- what they cost ---- */

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

struct price {
    double touched, statements; /* for each task */
};

static struct price price_of(struct store *s, const char *text, size_t copies, size_t tasks)
{
    struct submission *list = mem_zalloc(copies * sizeof(*list));
    struct price p;
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

/* Both have their share of what is done once; the larger one has less of it. */
static void compare(const char *of, struct price small, struct price large)
{
    printf("%s: %.2f and %.2f statements a task, touching %.0f and %.0f\n", of, small.statements,
           large.statements, small.touched, large.touched);
    if (large.statements > 1.1 * small.statements)
        test_fail(__FILE__, __LINE__, "%s: %.2f statements a task, ten times larger %.2f", of,
                  small.statements, large.statements);
    if (large.touched > 1.5 * small.touched)
        test_fail(__FILE__, __LINE__, "%s: touches %.0f a task, ten times larger %.0f", of,
                  small.touched, large.touched);
}

static struct store *counted_store(void)
{
    struct store *s = fixture_store();

    fixture_env()->trace = count_statement;
    spy_on(s);
    return s;
}

static void check_graph(const char *of, write_fn *write, size_t n, double most)
{
    struct store *s = counted_store();
    const char *few = text_of(write, n), *many = text_of(write, 10 * n);
    struct price small, large;

    price_of(s, few, 1, n); /* a statement is prepared when it is first sent */
    small = price_of(s, few, 1, n);
    large = price_of(s, many, 1, 10 * n);
    compare(of, small, large);
    if (large.statements > most)
        test_fail(__FILE__, __LINE__, "%s: %.2f statements a task", of, large.statements);
    free((char *)few);
    free((char *)many);
    fixture_env()->trace = NULL;
    verify_clean(s);
    store_close(&s);
}

TEST(an_item_costs_the_same_in_a_long_list)
{
    check_graph("a list", write_list, test_full() ? 2000 : 200, 1);
}

TEST(a_task_costs_the_same_beside_many)
{
    check_graph("tasks side by side", write_flat, test_full() ? 2000 : 200, 1);
}

TEST(a_task_costs_the_same_in_a_large_graph)
{
    check_graph("chains side by side", write_chains, test_full() ? 2000 : 200, 2);
}

TEST(a_task_costs_the_same_in_a_long_chain)
{
    check_graph("a chain", write_chain, test_full() ? 200 : 20, 40);
}

TEST(a_task_costs_the_same_among_many_that_need_the_same_and_are_needed_by_one)
{
    check_graph("a diamond", write_diamond, test_full() ? 2000 : 200, 1);
}

TEST(a_task_that_is_skipped_costs_the_same_in_a_long_chain)
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

static struct price price_of_cancel(struct store *s, size_t n)
{
    int64_t id = flow_submit_text(s, text_of(write_flat, n), NULL);
    struct cancelling c = {.request = {.execution = id}, .more = true};
    struct err err = ERR_INIT;
    struct price p;

    while (run_timers(s))
        ;
    begin_measuring(s);
    statements_sent = 0;
    while (c.more)
        CHECK_OK_ERR(store_turn(s, cancel_slice, &c, &err), &err);
    p.statements = (double)statements_sent / (double)n;
    end_measuring(s);
    p.touched = measured / (double)n;
    while (run_timers(s))
        ;
    CHECK_EQ(status_of(s, id), S_CANCELLED);
    return p;
}

TEST(a_task_that_is_cancelled_costs_the_same_beside_many)
{
    struct store *s = counted_store();
    struct price small, large;

    price_of_cancel(s, 200);
    small = price_of_cancel(s, 200);
    large = price_of_cancel(s, 2000);
    compare("cancelled tasks", small, large);
    fixture_env()->trace = NULL;
    verify_clean(s);
    store_close(&s);
}

TEST(a_workflow_costs_the_same_among_many)
{
    struct store *s = counted_store();
    const char *text = text_of(write_diamond, 3);
    size_t n = test_full() ? 500 : 50;
    struct price small, large;

    price_of(s, text, n, 5 * n);
    small = price_of(s, text, n, 5 * n);
    large = price_of(s, text, 10 * n, 50 * n);
    compare("workflows", small, large);
    CHECK(large.statements < 2);
    free((char *)text);
    fixture_env()->trace = NULL;
    verify_clean(s);
    store_close(&s);
}
