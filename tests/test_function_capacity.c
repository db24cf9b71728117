/* test_function_capacity.c - how many functions run at once and on which threads; each attempt ends
 * exactly once, whatever is done to it. */
#include "function_fixture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

TEST_NO_DB;
TEST_THREADED;

/* ---- capacity and threads ---- */

/* Runs short functions until the local queue is offered `n` jobs; returns how many were run. */
static int run_until_queue_holds(struct fixture *fx, int n)
{
    int runs = 0;

    while (fx->x->ops->capacity(fx->x) < function_max_threads(fx->f) + n) {
        start(fx, 1000 + ++runs, "nothing");
        wait_ended(fx, runs);
    }
    return runs;
}

TEST(capacity_for_functions_is_the_number_of_threads_plus_a_local_queue_while_functions_are_short)
{
    struct fixture fx;
    struct gate g = {0};
    struct job t = a_task(99, "gate");
    struct err err = ERR_INIT;
    int i, before;

    open_threads(&fx, 2);
    add(&fx, "gate", until_open, &g);
    add(&fx, "nothing", nothing, NULL);
    CHECK_EQ(fx.x->ops->capacity(fx.x), 2);
    before = run_until_queue_holds(&fx, 8);
    for (i = 1; i <= 10; i++)
        start(&fx, i, "gate");
    CHECK_EQ(fx.x->ops->capacity(fx.x), 0);
    CHECK_EQ(handles_start(&fx.handles, &t, &err), -E_REFUSED);
    WAIT_FOR(&fx, atomic_load(&g.inside) == 2);
    CHECK_EQ(pool_threads(), 2);
    poll_reports(&fx, 0);
    for (size_t n = 0; n < fx.seen.n; n++)
        CHECK(fx.seen.at[n].execution <= 2 || fx.seen.at[n].execution > 1000);
    atomic_store(&g.open, 1);
    wait_ended(&fx, before + 10);
    CHECK(fx.x->ops->capacity(fx.x) >= 2);
    end(&fx);
}

/* Takes longer than the local queue may hold work for. */
static int slow(struct function_call *c, void *arg)
{
    (void)c;
    (void)arg;
    clock_sleep_us(150 * MS);
    return 0;
}

TEST(local_queue_is_offered_no_jobs_while_functions_are_slow)
{
    struct fixture fx;
    int i, n;

    open_with(&fx, (struct function_options){.threads = 4, .queue = 8});
    add(&fx, "slow", slow, NULL);
    add(&fx, "nothing", nothing, NULL);
    start(&fx, 1, "slow");
    wait_ended(&fx, 1);
    CHECK_EQ(fx.x->ops->capacity(fx.x), 4);
    fx.ended = 0;
    n = run_until_queue_holds(&fx, 8);
    for (i = 1; fx.x->ops->capacity(fx.x) > 4; i++) {
        start(&fx, i + 1, "slow");
        wait_ended(&fx, n + i);
    }
    CHECK(i > 1);
    end(&fx);
}

TEST(job_that_waits_too_long_for_a_thread_is_returned_to_its_queue)
{
    struct fixture fx;
    struct gate g = {0};
    int i, n;

    open_with(&fx, (struct function_options){.threads = 1, .queue = 3, .patience = 50 * MS});
    add(&fx, "gate", until_open, &g);
    add(&fx, "nothing", nothing, NULL);
    n = run_until_queue_holds(&fx, 3);
    for (i = 1; i <= 4; i++)
        start(&fx, i, "gate");
    wait_ended(&fx, n + 3);
    for (i = 2; i <= 4; i++) {
        CHECK_EQ(ended(&fx, i)->outcome.kind, OUTCOME_REFUSED);
        CHECK_EQ(ended(&fx, i)->outcome.retry_delay, 0);
        CHECK_STR(ended(&fx, i)->error,
                  "function gate was returned to its queue, because it waited for a thread of its "
                  "worker");
    }
    CHECK_EQ(fx.x->ops->capacity(fx.x), 0);
    atomic_store(&g.open, 1);
    wait_ended(&fx, n + 4);
    CHECK_EQ(ended(&fx, 1)->outcome.kind, OUTCOME_OK);
    CHECK_EQ(fx.x->ops->capacity(fx.x), 1);
    end(&fx);
}

TEST(local_queue_is_bounded_whatever_the_number_of_threads)
{
    struct fixture fx;

    open_threads(&fx, 1000);
    CHECK_EQ(function_max_queue(fx.f), 500);
    end(&fx);
    open_with(&fx, (struct function_options){.threads = 3, .queue = 7});
    CHECK_EQ(function_max_queue(fx.f), 7);
    end(&fx);
    open_with(&fx, (struct function_options){0});
    CHECK_EQ(function_max_queue(fx.f), 16);
    end(&fx);
}

TEST(threads_are_created_on_demand_and_end_when_idle)
{
    struct fixture fx;
    struct gate g = {0};
    int i;

    open_with(&fx, (struct function_options){.threads = 8, .idle = 50 * MS});
    add(&fx, "gate", until_open, &g);
    CHECK_EQ(pool_threads(), 0);
    start(&fx, 1, "gate");
    start(&fx, 2, "gate");
    WAIT_FOR(&fx, atomic_load(&g.inside) == 2);
    CHECK_EQ(pool_threads(), 2);
    for (i = 3; i <= 20; i++)
        start(&fx, i, "gate");
    WAIT_FOR(&fx, atomic_load(&g.inside) == 8);
    CHECK_EQ(pool_threads(), 8);
    atomic_store(&g.open, 1);
    wait_ended(&fx, 20);
    WAIT_FOR(&fx, pool_threads() == 0);
    start(&fx, 21, "gate"); /* threads are created again */
    wait_ended(&fx, 21);
    end(&fx);
}

TEST(function_is_refused_if_no_thread_can_be_created)
{
    struct fixture fx;
    struct job t = a_task(1, "nothing");
    struct err err = ERR_INIT;
    pthread_attr_t default_attr, huge;

    CHECK_EQ(pthread_getattr_default_np(&default_attr), 0);
    CHECK_EQ(pthread_attr_init(&huge), 0);
    CHECK_EQ(pthread_attr_setstacksize(&huge, (size_t)1 << 50), 0);
    open_threads(&fx, 1);
    add(&fx, "nothing", nothing, NULL);
    CHECK_EQ(pthread_setattr_default_np(&huge), 0);
    CHECK_EQ(handles_start(&fx.handles, &t, &err), -E_REFUSED);
    CHECK_STR(err.msg, "this worker can't start a thread for a function");
    CHECK_EQ(pthread_setattr_default_np(&default_attr), 0);
    CHECK_EQ(fx.x->ops->capacity(fx.x), 1);
    start_task(&fx, &t); /* the task runs once a thread can be created */
    wait_ended(&fx, 1);
    pthread_attr_destroy(&huge);
    pthread_attr_destroy(&default_attr);
    end(&fx);
}

/* A thread that is signalled and finds that another one took the job must not stay counted as
 * waking up: jobs would wait for running ones while it sleeps. */
TEST(no_thread_misses_a_wake_up_when_jobs_arrive_in_small_groups)
{
    struct fixture fx;
    struct gate g = {0};
    int i, k, n = 0, rounds = test_full() ? 100000 : 10000;

    open_with(&fx, (struct function_options){.threads = 3, .idle = 3600 * SECOND});
    add(&fx, "nothing", nothing, NULL);
    add(&fx, "gate", until_open, &g);
    for (i = 0; i < rounds; i++) {
        for (k = 0; k <= i % 3; k++)
            start(&fx, ++n, "nothing");
        wait_ended(&fx, n);
    }
    for (k = 0; k < 3; k++)
        start(&fx, ++n, "gate");
    WAIT_FOR(&fx, atomic_load(&g.inside) == 3);
    atomic_store(&g.open, 1);
    wait_ended(&fx, n);
    end(&fx);
}

static atomic_int ran;

static int counts(struct function_call *c, void *arg)
{
    (void)c, (void)arg;
    atomic_fetch_add(&ran, 1);
    return 0;
}

/* Cancels, forgets and reattaches attempts at random: running, waiting and just ended ones. */
TEST(started_attempt_ends_exactly_once_in_any_random_sequence_of_calls)
{
    struct fixture fx;
    int i, n = test_full() ? 50000 : 5000, forgotten = 0;
    char *expect = mem_zalloc((size_t)n + 1);
    size_t k;
    unsigned seed = 1;

    open_threads(&fx, 4);
    add(&fx, "counts", counts, NULL);
    for (i = 1; i <= n; i++) {
        struct job t = a_task(i, "counts");
        struct err err = ERR_INIT;
        int victim = 1 + rand_r(&seed) % i, what = rand_r(&seed) % 10;

        while (!fx.x->ops->capacity(fx.x))
            poll_reports(&fx, 1000);
        start_task(&fx, &t);
        expect[i] = 1;
        if (what < 2) {
            handles_cancel(&fx.handles, victim, 1, OUTCOME_CANCELLED);
        } else if (what == 2 && !find_seen(&fx, REPORT_ENDED, i)) {
            handles_forget(&fx.handles, i, 1);
            expect[i] = 0;
            forgotten++;
        } else if (what == 3) {
            t.epoch = 2;
            CHECK_OK_ERR(handles_reattach(&fx.handles, &t, &err), &err);
        }
        if (what > 6)
            poll_reports(&fx, 0);
    }
    wait_ended(&fx, n - forgotten);
    while (poll_reports(&fx, 20))
        ;
    for (k = 0; k < fx.seen.n; k++)
        if (fx.seen.at[k].kind == REPORT_ENDED)
            expect[fx.seen.at[k].execution]--;
    for (i = 1; i <= n; i++)
        CHECK_EQ(expect[i], 0);
    free(expect);
    end(&fx);
}

static void start_next(struct fixture *fx, const struct report *r)
{
    if (r->kind == REPORT_ENDED && r->execution < 100)
        start(fx, r->execution + 1, "nothing");
    if (r->kind == REPORT_ENDED && r->execution == 50) {
        handles_cancel(&fx->handles, 50, 1,
                       OUTCOME_CANCELLED); /* the attempt being reported, which is over */
        handles_forget(&fx->handles, 50, 1);
    }
}

TEST(report_callback_may_start_cancel_and_forget_attempts)
{
    struct fixture fx;

    open_threads(&fx, 2);
    add(&fx, "nothing", nothing, NULL);
    fx.meanwhile = start_next;
    start(&fx, 1, "nothing");
    wait_ended(&fx, 100);
    CHECK_EQ(ended(&fx, 100)->outcome.kind, OUTCOME_OK);
    end(&fx);
}
