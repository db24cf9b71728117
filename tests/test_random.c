/* test_random.c - random workflows run by the store and compared with the model
 * (random/model.h).
 *
 *   PAWL_RANDOM_SEED=n    run only this seed
 *   PAWL_RANDOM_COUNT=n   run this many seeds
 *   PAWL_RANDOM_FROM=n    the first seed */
#include "base/env.h"
#include "fixture.h"
#include "random/play.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TEST_LONG;

static bool play_fails(struct playground *g, const struct plan *p, struct played *out)
{
    play(g, p, out);
    return out->wrong.len > 0;
}

/* Removes parts of the plan that are not needed for it to fail. */
static struct plan *shrink(struct playground *g, const struct plan *plan)
{
    struct plan *least = plan_copy(plan);
    int64_t until = clock_boot_us() + 20 * SECOND;
    int nth = 0;

    while (clock_boot_us() < until) {
        struct plan *p = plan_copy(least);
        struct played out;
        bool any = plan_smaller(p, nth);

        if (any && play_fails(g, p, &out)) {
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

_Noreturn static void report_failure(struct playground *g, const struct plan *plan)
{
    struct plan *least = shrink(g, plan);
    struct played out;
    struct buf text = BUF_INIT;
    int i;

    play_fails(g, least, &out);
    for (i = 0; i < least->nworkflows; i++) {
        buf_addf(&text, "--- w%d.flow.yaml\n", i);
        plan_yaml(least, i, &text);
    }
    test_fail(__FILE__, __LINE__,
              "a smaller case of seed %llu:\n%s--- actions\n%s--- differences\n%s"
              "to repeat: PAWL_RANDOM_SEED=%llu PAWL_TEST_DB=%s build/tests/test_random",
              (unsigned long long)plan->seed, text.ptr, buf_cstr(&out.trace), buf_cstr(&out.wrong),
              (unsigned long long)plan->seed, test_db());
}

static void check_seed(struct playground *g, uint64_t seed)
{
    struct plan *p = plan_new(seed);
    struct played out;

    printf("seed %llu\n", (unsigned long long)seed); /* shown if the test crashes */
    if (play_fails(g, p, &out)) {
        printf("%s%s", buf_cstr(&out.trace), out.wrong.ptr);
        report_failure(g, p);
    }
    if (!out.root)
        test_fail(__FILE__, __LINE__, "%s", out.trace.ptr);
    played_release(&out);
    plan_free(p);
}

/* Checks the first n seeds, from `from` on, whose plan is of a kind. */
static void check_seeds_of_kind(struct playground *g, bool (*is_of_kind)(const struct plan *p),
                                uint64_t from, uint64_t n)
{
    for (; n; from++) {
        struct plan *p = plan_new(from);
        bool one = is_of_kind(p);

        plan_free(p);
        if (one)
            check_seed(g, from);
        n -= one;
    }
}

/* Workflows wait for the permits of each other. */
static bool has_waiting_workflows(const struct plan *p)
{
    return plan_waiting(p) > 3;
}

static bool has_nested_fan_outs(const struct plan *p)
{
    return p->nests;
}

static void check_all_ended(struct store *s)
{
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE status < 4"), 0);
    verify_clean(s);
}

static uint64_t env_number(const char *name, uint64_t default_value)
{
    const char *s = getenv(name);

    return s && *s ? strtoull(s, NULL, 10) : default_value;
}

TEST_SLOW(random_workflows_end_as_the_model_predicts, 600)
{
    /* a sanitizer checks the code, not the results: a part of the seeds covers the same code */
    uint64_t default_count = (strcmp(test_db(), "sqlite") ? 30u : 450u) * (test_full() ? 10u : 1u) /
                             (SANITIZED && !test_full() ? 5u : 1u);
    uint64_t one = env_number("PAWL_RANDOM_SEED", 0),
             n = env_number("PAWL_RANDOM_COUNT", default_count), i;
    uint64_t from = env_number("PAWL_RANDOM_FROM", 1);
    struct playground g;

    playground_open(&g);
    for (i = 0; i < (one ? 1 : n); i++)
        check_seed(&g, one ? one : from + i);
    check_all_ended(g.stores[0]);
    playground_close(&g);
}

TEST_SLOW(random_workflows_that_compete_for_permits_end_as_the_model_predicts, 600)
{
    uint64_t default_count = (strcmp(test_db(), "sqlite") ? 6u : 60u) * (test_full() ? 10u : 1u) /
                             (SANITIZED && !test_full() ? 3u : 1u);
    struct playground g;

    playground_open(&g);
    check_seeds_of_kind(&g, has_waiting_workflows, env_number("PAWL_RANDOM_FROM", 1),
                        env_number("PAWL_RANDOM_COUNT", default_count));
    check_all_ended(g.stores[0]);
    playground_close(&g);
}

TEST_SLOW(random_fan_outs_of_workflows_with_fan_outs_end_as_the_model_predicts, 600)
{
    uint64_t default_count = (strcmp(test_db(), "sqlite") ? 3u : 12u) * (test_full() ? 10u : 1u) /
                             (SANITIZED && !test_full() ? 3u : 1u);
    struct playground g;

    playground_open(&g);
    check_seeds_of_kind(&g, has_nested_fan_outs, env_number("PAWL_RANDOM_FROM", 1),
                        env_number("PAWL_RANDOM_COUNT", default_count));
    check_all_ended(g.stores[0]);
    playground_close(&g);
}
