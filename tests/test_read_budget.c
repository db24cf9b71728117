/* test_read_budget.c - how long a token that has read much must wait (src/server/read_budget.h). */
#include "harness.h"

#include "server/read_budget.h"

#include <stdio.h>

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

/* Returns how long n tokens have read after this time, if each reads again as soon as it may. */
static int64_t read_in_a_loop(struct read_budgets *b, int n, int64_t start, int64_t time)
{
    int64_t total = 0, request = SECOND / 20;
    char token[20];

    for (int64_t now = start; now < start + time; now += request)
        for (int i = 0; i < n; i++) {
            snprintf(token, sizeof(token), "reader %d", i);
            if (read_budget_wait(b, token, now))
                continue;
            read_budget_charge(b, token, now - request, now);
            total += request;
        }
    return total;
}

TEST(many_tokens_that_read_in_a_loop_get_a_tenth_of_the_processors_together)
{
    struct read_budgets b = {.sharing = READ_BUDGET_FULL, .processors = 2};
    int64_t now = 1000 * SECOND, total;

    read_in_a_loop(&b, 64, now, 60 * SECOND); /* until their first budgets are exhausted */
    total = read_in_a_loop(&b, 64, now + 60 * SECOND, 600 * SECOND);
    CHECK(total > 600 * SECOND * 2 / 10 * 8 / 10);
    CHECK(total < 600 * SECOND * 2 / 10 * 12 / 10);
    CHECK_EQ(read_budget_wait(&b, "an operator", now + 660 * SECOND), 0);
    read_budget_charge(&b, "an operator", now + 660 * SECOND, now + 660 * SECOND + SECOND / 20);
    CHECK_EQ(read_budget_wait(&b, "an operator", now + 660 * SECOND + SECOND / 20), 0);
}

TEST(tokens_get_whole_shares_again_soon_after_the_others_have_stopped)
{
    struct read_budgets b = {.sharing = READ_BUDGET_FULL, .processors = 2};
    int64_t now = 1000 * SECOND;

    read_in_a_loop(&b, 64, now, 60 * SECOND);
    now += 60 * SECOND + READ_BUDGET_ACTIVE + READ_BUDGET_WAIT + SECOND;
    CHECK_EQ(read_budget_wait(&b, "reader 3", now), 0);
    now += 100 * SECOND;
    read_budget_charge(&b, "reader 3", now, now + READ_BUDGET_MAX / 2);
    CHECK_EQ(read_budget_wait(&b, "reader 3", now + READ_BUDGET_MAX / 2), 0);
}
