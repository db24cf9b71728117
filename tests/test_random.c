/* test_random.c - random workflows through the store, against the model (random/model.h).
 *
 *   PAWL_RANDOM_SEED=n    only this one
 *   PAWL_RANDOM_COUNT=n   so many
 *   PAWL_RANDOM_FROM=n    from this one on */
#include "base/env.h"
#include "fixture.h"
#include "random/play.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool goes_wrong(struct playground *g, const struct plan *p, struct played *out)
{
    play(g, p, out);
    return out->wrong.len > 0;
}

/* Takes away what is not needed for it to go wrong. */
static struct plan *shrink(struct playground *g, const struct plan *plan)
{
    struct plan *least = plan_copy(plan);
    int64_t until = clock_boot_us() + 20 * SECOND;
    int nth = 0;

    while (clock_boot_us() < until) {
        struct plan *p = plan_copy(least);
        struct played out;
        bool any = plan_smaller(p, nth);

        if (any && goes_wrong(g, p, &out)) {
            plan_free(least);
            least = p;
            p = NULL;
            nth = nth > 2 ? nth - 2 : 0;
        } else {
            nth++;
        }
        if (any)
            played_release(&out);
        if (p)
            plan_free(p);
        if (!any)
            break;
    }
    return least;
}

_Noreturn static void tell(struct playground *g, const struct plan *plan)
{
    struct plan *least = shrink(g, plan);
    struct played out;
    struct buf text = BUF_INIT;
    int i;

    goes_wrong(g, least, &out);
    for (i = 0; i < least->nflows; i++) {
        buf_addf(&text, "--- w%d.flow.yaml\n", i);
        plan_yaml(least, i, &text);
    }
    test_fail(__FILE__, __LINE__,
              "a smaller case of seed %llu:\n%s--- what was done\n%s--- what is wrong\n%s"
              "again: PAWL_RANDOM_SEED=%llu PAWL_TEST_DB=%s build/tests/test_random",
              (unsigned long long)plan->seed, text.ptr, buf_cstr(&out.trace), buf_cstr(&out.wrong),
              (unsigned long long)plan->seed, test_db());
}

static void try_seed(struct playground *g, uint64_t seed)
{
    struct plan *p = plan_new(seed);
    struct played out;

    printf("seed %llu\n", (unsigned long long)seed); /* seen if it ends in the middle */
    if (goes_wrong(g, p, &out)) {
        printf("%s%s", buf_cstr(&out.trace), out.wrong.ptr);
        tell(g, p);
    }
    if (!out.root)
        test_fail(__FILE__, __LINE__, "%s", out.trace.ptr);
    played_release(&out);
    plan_free(p);
}

/* The first so many, of those from `from` on, that are of a kind. */
static void try_only(struct playground *g, bool (*is_one)(const struct plan *p), uint64_t from,
                     uint64_t n)
{
    for (; n; from++) {
        struct plan *p = plan_new(from);
        bool one = is_one(p);

        plan_free(p);
        if (one)
            try_seed(g, from);
        n -= one;
    }
}

/* Workflows wait for each other. */
static bool waits(const struct plan *p)
{
    return plan_waiting(p) > 3;
}

static bool nests(const struct plan *p)
{
    return p->nests;
}

static void check_all_ended(struct store *s)
{
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE status < 4"), 0);
    verify_clean(s);
}

static uint64_t number(const char *name, uint64_t default_value)
{
    const char *s = getenv(name);

    return s && *s ? strtoull(s, NULL, 10) : default_value;
}

TEST_SLOW(random_workflows_end_as_the_model_says, 600)
{
    /* a sanitizer looks at how, not at what: a part of the seeds shows it the same code */
    uint64_t usual = (strcmp(test_db(), "sqlite") ? 30u : 300u) * (test_full() ? 10u : 1u) /
                     (SANITIZED && !test_full() ? 5u : 1u);
    uint64_t one = number("PAWL_RANDOM_SEED", 0), n = number("PAWL_RANDOM_COUNT", usual), i;
    uint64_t from = number("PAWL_RANDOM_FROM", 1);
    struct playground g;

    playground_open(&g);
    for (i = 0; i < (one ? 1 : n); i++)
        try_seed(&g, one ? one : from + i);
    check_all_ended(g.stores[0]);
    playground_close(&g);
}

TEST_SLOW(random_workflows_that_wait_for_permits_of_each_other_end_as_the_model_says, 600)
{
    uint64_t usual = (strcmp(test_db(), "sqlite") ? 6u : 60u) * (test_full() ? 10u : 1u) /
                     (SANITIZED && !test_full() ? 3u : 1u);
    struct playground g;

    playground_open(&g);
    try_only(&g, waits, number("PAWL_RANDOM_FROM", 1), number("PAWL_RANDOM_COUNT", usual));
    check_all_ended(g.stores[0]);
    playground_close(&g);
}

TEST_SLOW(random_fan_outs_of_workflows_with_fan_outs_end_as_the_model_says, 600)
{
    uint64_t usual = (strcmp(test_db(), "sqlite") ? 3u : 12u) * (test_full() ? 10u : 1u) /
                     (SANITIZED && !test_full() ? 3u : 1u);
    struct playground g;

    playground_open(&g);
    try_only(&g, nests, number("PAWL_RANDOM_FROM", 1), number("PAWL_RANDOM_COUNT", usual));
    check_all_ended(g.stores[0]);
    playground_close(&g);
}
