/* test_retry.c - which outcomes are retried, and after what delay. */
#include "harness.h"

#include "core/outcome.h"
#include "core/spec.h"

#include <limits.h>
#include <math.h>

TEST_NO_DB;

#define COUNT(list) (sizeof(list) / sizeof(*(list)))
#define SECOND      1000000LL

static const struct retry_policy defaults = {.jitter = -1};
static const struct retry_policy exact = {.jitter = 0};

static struct outcome exited(int code)
{
    return (struct outcome){.kind = OUTCOME_FAILED, .has_exit_code = true, .exit_code = code};
}

static int64_t delay_after(const struct retry_policy *p, int attempt)
{
    struct outcome o = exited(1);

    return retry_delay(p, &o, attempt, 0);
}

TEST(success_and_cancellation_are_never_retried)
{
    struct outcome ok = {.kind = OUTCOME_OK}, cancelled = {.kind = OUTCOME_CANCELLED};
    struct outcome killed = {.kind = OUTCOME_CANCELLED, .signal = 9};

    CHECK_EQ(retry_delay(&exact, &ok, 1, 0), -1);
    CHECK_EQ(retry_delay(&exact, &cancelled, 1, 0), -1);
    CHECK_EQ(retry_delay(&exact, &killed, 1, 0), -1);
}

TEST(every_exit_code_is_retried_if_no_codes_are_listed)
{
    int code;

    for (code = 0; code < 256; code++) {
        struct outcome o = exited(code);

        CHECK_EQ(retry_delay(&exact, &o, 1, 0), SECOND);
    }
}

TEST(retry_codes_restrict_only_attempts_that_end_with_an_exit_code)
{
    static const int codes[] = {75, 111};
    static const enum outcome_kind others[] = {OUTCOME_FAILED, OUTCOME_TIMED_OUT, OUTCOME_LOST};
    struct retry_policy p = {.codes = codes, .ncodes = COUNT(codes)};
    size_t i;
    int code;

    for (code = 0; code < 256; code++) {
        struct outcome o = exited(code);

        CHECK_EQ(retry_delay(&p, &o, 1, 0), code == 75 || code == 111 ? SECOND : -1);
    }
    for (i = 0; i < COUNT(others); i++) {
        struct outcome o = {.kind = others[i], .signal = 11};

        CHECK_EQ(retry_delay(&p, &o, 1, 0), SECOND);
    }
}

/* A process that timed out may have an exit code, which is not the reason why it ended. */
TEST(timeout_is_retried_whatever_its_exit_code)
{
    static const int codes[] = {75};
    struct retry_policy p = {.codes = codes, .ncodes = 1};
    struct outcome o = {.kind = OUTCOME_TIMED_OUT, .has_exit_code = true, .exit_code = 1};

    CHECK_EQ(retry_delay(&p, &o, 1, 0), SECOND);
}

TEST(deferred_or_refused_outcome_sets_its_own_retry_delay)
{
    struct outcome o = {.kind = OUTCOME_DEFERRED, .retry_delay = 77};

    CHECK_EQ(retry_delay(&exact, &o, 1, 0), 77);
    o.kind = OUTCOME_REFUSED;
    CHECK_EQ(retry_delay(&exact, &o, 5, 0), 77);
    o.retry_delay = -1;
    CHECK_EQ(retry_delay(&exact, &o, 5, 0), 0);
}

TEST(default_retry_delay_doubles_from_one_second_to_five_minutes)
{
    static const int64_t seconds[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300};
    size_t i;

    for (i = 0; i < COUNT(seconds); i++)
        CHECK_EQ(delay_after(&exact, (int)i + 1), seconds[i] * SECOND);
}

TEST(retry_delay_follows_the_factor_and_maximum_of_the_policy)
{
    struct retry_policy p = {.delay = 10 * SECOND, .backoff = 3, .max_delay = 100 * SECOND};
    struct retry_policy steady = {.delay = 7, .backoff = 1};

    CHECK_EQ(delay_after(&p, 1), 10 * SECOND);
    CHECK_EQ(delay_after(&p, 2), 30 * SECOND);
    CHECK_EQ(delay_after(&p, 3), 90 * SECOND);
    CHECK_EQ(delay_after(&p, 4), 100 * SECOND);
    CHECK_EQ(delay_after(&steady, 1), 7);
    CHECK_EQ(delay_after(&steady, 1000000), 7);
}

TEST(first_retry_delay_above_the_default_maximum_is_kept)
{
    struct retry_policy p = {.delay = 3600 * SECOND};

    CHECK_EQ(delay_after(&p, 1), 3600 * SECOND);
    CHECK_EQ(delay_after(&p, 9), 3600 * SECOND);
    p.max_delay = 60 * SECOND; /* but a maximum in the policy applies */
    CHECK_EQ(delay_after(&p, 1), 60 * SECOND);
}

TEST(jitter_is_the_fraction_of_the_retry_delay_that_is_random)
{
    struct retry_policy half = {.delay = 1000, .jitter = 0.5}, all = {.delay = 1000, .jitter = 1};
    struct outcome o = exited(1);

    CHECK_EQ(retry_delay(&half, &o, 1, 0), 500);
    CHECK_EQ(retry_delay(&half, &o, 1, 0.5), 750);
    CHECK_EQ(retry_delay(&half, &o, 1, 0.999), 999);
    CHECK_EQ(retry_delay(&all, &o, 1, 0), 0);
    CHECK_EQ(retry_delay(&defaults, &o, 1, 0), 900000); /* a tenth by default */
    CHECK_EQ(retry_delay(&exact, &o, 1, 0.3), SECOND);
}

TEST(retry_delay_is_never_negative_or_above_its_maximum)
{
    static const int attempts[] = {-5, 0, 1, 2, 63, 64, 65, 1000, 1000000, INT_MAX};
    static const int64_t spans[] = {0, 1, SECOND, INT64_MAX / 2, INT64_MAX};
    static const double factors[] = {0, 1, 1.5, 2, 1000, 1e300, INFINITY};
    static const double randoms[] = {0, 0.5, 0.9999999};
    struct outcome o = exited(1);
    size_t a, d, m, f, r;

    for (a = 0; a < COUNT(attempts); a++)
        for (d = 0; d < COUNT(spans); d++)
            for (m = 0; m < COUNT(spans); m++)
                for (f = 0; f < COUNT(factors); f++)
                    for (r = 0; r < COUNT(randoms); r++) {
                        struct retry_policy p = {.delay = spans[d],
                                                 .backoff = factors[f],
                                                 .max_delay = spans[m],
                                                 .jitter = 0.3};
                        int64_t us = retry_delay(&p, &o, attempts[a], randoms[r]);

                        CHECK(us >= 0);
                        if (p.max_delay)
                            CHECK(us <= p.max_delay);
                    }
}

TEST(retry_delay_never_shrinks_from_one_attempt_to_the_next)
{
    struct retry_policy p = {.delay = 3, .backoff = 1.1, .max_delay = 86400 * SECOND};
    int attempt;

    for (attempt = 1; attempt < 1000; attempt++)
        CHECK(delay_after(&p, attempt) <= delay_after(&p, attempt + 1));
    CHECK_EQ(delay_after(&p, 1000), 86400 * SECOND);
}
