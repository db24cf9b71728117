/* test_read_budget.c - how long a token that has read much must wait (src/server/read_budget.h). */
#include "harness.h"

#include "server/read_budget.h"

TEST_NO_DB;

#define SECOND 1000000LL

TEST(token_with_a_budget_does_not_wait)
{
    struct read_budgets b = {0};

    CHECK_EQ(read_budget_wait(&b, "a", SECOND), 0);
    read_budget_charge(&b, "a", SECOND, 2 * SECOND);
    CHECK_EQ(read_budget_wait(&b, "a", 2 * SECOND), 0);
}

TEST(token_with_an_exhausted_budget_waits_and_another_token_does_not)
{
    struct read_budgets b = {0};
    int64_t now = 100 * SECOND, wait;

    read_budget_charge(&b, "a", now - READ_BUDGET_MAX - SECOND / 100, now);
    wait = read_budget_wait(&b, "a", now);
    CHECK(wait > 0);
    CHECK_EQ(read_budget_wait(&b, "b", now), 0);
    CHECK_EQ(read_budget_wait(&b, "a", now + wait), 0);
}

TEST(token_waits_at_most_the_bound_however_long_its_requests_took)
{
    struct read_budgets b = {0};
    int64_t now = 1000 * SECOND, wait;

    for (int i = 0; i < 4; i++)
        read_budget_charge(&b, "a", now - 60 * SECOND, now);
    wait = read_budget_wait(&b, "a", now);
    CHECK(wait > 0);
    CHECK(wait <= READ_BUDGET_WAIT + SECOND / 10);
    CHECK_EQ(read_budget_wait(&b, "a", now + wait), 0);
}
