/* test_random_core.c - the decisions of src/core alone, run by a small interpreter and compared
 * with the model of the rules, for many random workflows. PAWL_RANDOM_SEED and PAWL_RANDOM_COUNT:
 * see test_random.c. */
#include "harness.h"

#include "base/buf.h"
#include "random/interpret.h"
#include "random/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TEST_NO_DB;

struct both {
    const struct plan *plan;
    struct plan_rng rng;
    struct interpreter in;
    struct model *model;
    struct buf trace, wrong;
};

static void compare(struct both *b)
{
    struct model_node *m;
    size_t n = 0, i;

    for (m = b->model->all; m; m = m->next) {
        struct node *at = interpreter_find(&b->in, m->path);

        n++;
        if (!at || at->status != (int)m->status)
            buf_addf(&b->wrong, "%s is %s, and %s in the model\n", m->path,
                     at ? model_words[at->status] : "missing", model_words[m->status]);
    }
    for (i = 0; i < b->in.nall && n != b->in.nall; i++)
        if (!model_find(b->model, b->in.all[i]->path))
            buf_addf(&b->wrong, "%s is missing in the model\n", b->in.all[i]->path);
    if (b->in.err.code)
        buf_addf(&b->wrong, "%s\n", b->in.err.msg);
}

/* A random node of the model with a status from low to high, only a job if `jobs`. NULL if none. */
static struct model_node *random_node(struct both *b, enum model_status low, enum model_status high,
                                      bool jobs)
{
    struct model_node *m, *chosen = NULL;
    unsigned seen = 0;

    for (m = b->model->all; m; m = m->next)
        if (m->status >= low && m->status <= high && (!jobs || m->kind == M_JOB) &&
            !plan_below(&b->rng, ++seen))
            chosen = m;
    return chosen;
}

/* The interpreter's node for m. NULL, and an entry in `wrong`, if it is missing or differs. */
static struct node *matching_node(struct both *b, const struct model_node *m)
{
    struct node *n = interpreter_find(&b->in, m->path);

    if (n && n->status == (int)m->status)
        return n;
    buf_addf(&b->wrong, "%s is %s in the model, and is missing or has another status\n", m->path,
             model_words[m->status]);
    return NULL;
}

static void start(struct both *b, struct model_node *m)
{
    struct node *n = matching_node(b, m);

    buf_addf(&b->trace, "start %s\n", m->path);
    if (!n)
        return;
    interpreter_start(&b->in, n);
    model_start(m);
}

static void settle(struct both *b, struct model_node *m)
{
    struct node *n = matching_node(b, m);
    int attempt = (int)plan_below(&b->rng, 1000),
        list = plan_list_length(b->plan, m->path, attempt);
    enum plan_end end = plan_end(b->plan, m->path, attempt);

    buf_addf(&b->trace, "end %s: %d\n", m->path, (int)end);
    if (!n)
        return;
    interpreter_settle(&b->in, n, end, list);
    model_end(m, end, list);
}

static void operate(struct both *b)
{
    bool cancel = b->plan->cancels && plan_chance(&b->rng, 50);
    struct model_node *m = random_node(b, M_PENDING, cancel ? M_RUNNING : M_READY, false);
    struct node *n = m ? matching_node(b, m) : NULL;

    if (!n)
        return;
    buf_addf(&b->trace, "%s %s\n", cancel ? "cancel" : "skip", m->path);
    if (cancel) {
        interpreter_cancel(&b->in, n);
        model_cancel(m, false);
    } else {
        interpreter_skip(&b->in, n);
        model_skip(m);
    }
}

static void step(struct both *b)
{
    struct model_node *ready = random_node(b, M_READY, M_READY, true);
    struct model_node *running = random_node(b, M_RUNNING, M_RUNNING, true);

    if (plan_chance(&b->rng, b->plan->operates))
        operate(b);
    else if (ready && (!running || plan_chance(&b->rng, 50)))
        start(b, ready);
    else if (running)
        settle(b, running);
    if (plan_chance(&b->rng, b->plan->batches))
        return; /* the next action comes at the same moment */
    interpreter_advance(&b->in);
    model_work_out(b->model);
    if (b->in.nall < 30) /* slow for many nodes, which are compared at the end */
        compare(b);
}

static bool differs_from_model(const struct plan *p, struct buf *report)
{
    struct both b = {.plan = p, .rng = {plan_mix(p->seed, 13)}};
    int steps = 0;

    interpreter_begin(&b.in, p);
    b.model = model_new(p);
    compare(&b);
    while (!b.wrong.len && !model_ended(b.model->root->status) && steps++ < 100000)
        step(&b);
    if (!b.wrong.len)
        compare(&b);
    if (!b.wrong.len && !model_ended(b.model->root->status))
        buf_addstr(&b.wrong, "it never ends\n");
    buf_reset(report);
    if (b.wrong.len)
        buf_addf(report, "--- actions\n%s--- differences\n%s", buf_cstr(&b.trace), b.wrong.ptr);
    model_free(b.model);
    interpreter_release(&b.in);
    buf_release(&b.trace);
    buf_release(&b.wrong);
    return report->len > 0;
}

/* Approvals, limits and time belong to the store, not to src/core. */
static struct plan *plan_of(uint64_t seed)
{
    struct plan *p = plan_new(seed);

    plan_only_graph(p);
    return p;
}

_Noreturn static void report_failure(struct plan *p)
{
    struct buf report = BUF_INIT, text = BUF_INIT;
    int nth = 0, i;

    for (;;) {
        struct plan *q = plan_copy(p);

        if (!plan_smaller(q, nth))
            break;
        if (differs_from_model(q, &report)) {
            p = q;
            nth = nth > 2 ? nth - 2 : 0;
        } else {
            nth++;
        }
    }
    differs_from_model(p, &report);
    for (i = 0; i < p->nworkflows; i++) {
        buf_addf(&text, "--- w%d.flow.yaml\n", i);
        plan_yaml(p, i, &text);
    }
    test_fail(__FILE__, __LINE__,
              "a smaller case of seed %llu:\n%s%s"
              "to repeat: PAWL_RANDOM_SEED=%llu build/tests/test_random_core",
              (unsigned long long)p->seed, text.ptr, buf_cstr(&report),
              (unsigned long long)p->seed);
}

static uint64_t env_number(const char *name, uint64_t default_value)
{
    const char *s = getenv(name);

    return s && *s ? strtoull(s, NULL, 10) : default_value;
}

TEST_SLOW(random_workflows_are_decided_as_the_model_predicts, 600)
{
    uint64_t one = env_number("PAWL_RANDOM_SEED", 0), i;
    uint64_t n = env_number("PAWL_RANDOM_COUNT", test_full() ? 100000 : SANITIZED ? 1500 : 10000);
    struct buf report = BUF_INIT;

    for (i = 1; i <= (one ? 1 : n); i++) {
        struct plan *p = plan_of(one ? one : i);

        if (differs_from_model(p, &report))
            report_failure(p);
        plan_free(p);
    }
    buf_release(&report);
}
