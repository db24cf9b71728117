/* test_function_stop.c - functions that are told to stop: cancelled, at their deadline, without
 * their lease, with their worker. */
#include "function_fixture.h"

#include <stdatomic.h>
#include <string.h>

TEST_NO_DB;
TEST_THREADED;

static int deaf(struct function_call *c, void *arg)
{
    struct gate *g = arg;

    (void)c;
    atomic_fetch_add(&g->inside, 1);
    while (!atomic_load(&g->open))
        clock_sleep_us(200);
    atomic_fetch_sub(&g->inside, 1);
    return g->rc;
}

/* ---- being told to stop ---- */

TEST(a_running_function_that_is_cancelled_is_told_and_ends_as_cancelled)
{
    struct fixture fx;
    struct gate g = {0};

    open_threads(&fx, 1);
    add(&fx, "gate", until_open, &g);
    start(&fx, 1, "gate");
    WAIT_FOR(&fx, atomic_load(&g.inside) == 1);
    fx.x->ops->cancel(fx.x, 1, 7, OUTCOME_CANCELLED); /* another attempt, and another job */
    fx.x->ops->cancel(fx.x, 9, 1, OUTCOME_CANCELLED);
    CHECK_EQ(atomic_load(&g.told), 0);
    fx.x->ops->cancel(fx.x, 1, 1, OUTCOME_CANCELLED);
    wait_ended(&fx, 1);
    CHECK_EQ(atomic_load(&g.told), 1);
    CHECK_EQ(ended(&fx, 1)->outcome.kind, OUTCOME_CANCELLED);
    CHECK_STR(ended(&fx, 1)->error, "function gate was cancelled");
    end(&fx);
}

TEST(a_function_that_has_not_begun_is_cancelled_without_running)
{
    struct fixture fx;
    struct gate g = {0}, other = {.open = 1};
    struct task born_dead = a_task(3, "other");

    open_threads(&fx, 1);
    add(&fx, "gate", until_open, &g);
    add(&fx, "other", until_open, &other);
    start(&fx, 1, "gate");
    WAIT_FOR(&fx, atomic_load(&g.inside) == 1);
    start(&fx, 2, "gate");
    born_dead.cancel = true;
    start_task(&fx, &born_dead);
    fx.x->ops->cancel(fx.x, 2, 1, OUTCOME_CANCELLED);
    wait_ended(&fx, 2);
    CHECK_EQ(ended(&fx, 2)->outcome.kind, OUTCOME_CANCELLED);
    CHECK_EQ(ended(&fx, 2)->outcome.duration, -1);
    CHECK(!find_seen(&fx, REPORT_STARTED, 2));
    CHECK_EQ(ended(&fx, 3)->outcome.kind, OUTCOME_CANCELLED);
    atomic_store(&g.open, 1);
    wait_ended(&fx, 3);
    CHECK_EQ(ended(&fx, 1)->outcome.kind, OUTCOME_OK);
    end(&fx);
}

TEST(work_that_ended_before_the_cancel_keeps_its_own_outcome)
{
    struct fixture fx;

    open_threads(&fx, 1);
    add(&fx, "nothing", nothing, NULL);
    start(&fx, 1, "nothing");
    while (fx.x->ops->capacity(fx.x) != 5) /* it has returned; no turn was taken yet */
        clock_sleep_us(200);
    fx.x->ops->cancel(fx.x, 1, 1, OUTCOME_CANCELLED);
    wait_ended(&fx, 1);
    CHECK_EQ(ended(&fx, 1)->outcome.kind, OUTCOME_OK);
    end(&fx);
}

static int watches_the_time(struct function_call *c, void *arg)
{
    int64_t left = c->ops->remaining(c);

    (void)arg;
    CHECK(left > 0 && left <= 80 * MS);
    while (!c->ops->cancelled(c))
        clock_sleep_us(200);
    CHECK_EQ(c->ops->remaining(c), 0);
    c->ops->fail(c, "half of it done");
    return 1;
}

TEST(a_function_is_told_at_its_deadline_and_ends_as_timed_out)
{
    struct fixture fx;
    struct spec spec = {.timeout = 80 * MS}, long_spec = {.timeout = 3600 * SECOND};
    struct gate g = {0};

    open_threads(&fx, 2);
    add(&fx, "watches", watches_the_time, NULL);
    add(&fx, "gate", until_open, &g);
    start_spec(&fx, 2, "gate", &long_spec);
    start_spec(&fx, 1, "watches", &spec);
    wait_ended(&fx, 1);
    CHECK_EQ(ended(&fx, 1)->outcome.kind, OUTCOME_TIMED_OUT);
    CHECK_STR(ended(&fx, 1)->error,
              "function watches ran longer than its timeout of 80.0 ms: half of it done");
    CHECK(ended(&fx, 1)->outcome.duration >= 80 * MS);
    CHECK_EQ(atomic_load(&g.told), 0);
    atomic_store(&g.open, 1);
    wait_ended(&fx, 2);
    CHECK_EQ(ended(&fx, 2)->outcome.kind, OUTCOME_OK);
    end(&fx);
}

TEST(the_time_of_a_function_runs_from_its_begin_and_not_in_the_queue)
{
    struct fixture fx;
    struct spec spec = {.timeout = 100 * MS};
    struct gate g = {0};
    int64_t until = clock_boot_us() + 200 * MS;

    open_threads(&fx, 1);
    add(&fx, "gate", until_open, &g);
    add(&fx, "nothing", nothing, NULL);
    start(&fx, 1, "gate");
    start_spec(&fx, 2, "nothing", &spec);
    WAIT_FOR(&fx, clock_boot_us() > until);
    CHECK_EQ(fx.ended, 0);
    atomic_store(&g.open, 1);
    wait_ended(&fx, 2);
    CHECK_EQ(ended(&fx, 2)->outcome.kind, OUTCOME_OK);
    end(&fx);
}

/* ---- leases ---- */

TEST(a_forgotten_function_is_told_keeps_its_slot_and_is_never_heard_of_again)
{
    struct fixture fx;
    struct gate g = {0};
    int before;

    open_with(&fx, (struct function_options){.threads = 2, .queue = -1});
    add(&fx, "deaf", deaf, &g);
    add(&fx, "nothing", nothing, NULL);
    before = fx.x->ops->capacity(fx.x);
    CHECK_EQ(before, 2);
    start(&fx, 1, "deaf");
    WAIT_FOR(&fx, atomic_load(&g.inside) == 1);
    fx.x->ops->forget(fx.x, 1, 1);
    fx.x->ops->forget(fx.x, 8, 8);
    CHECK_EQ(fx.x->ops->capacity(fx.x), 1);
    start(&fx, 2, "nothing");
    wait_ended(&fx, 1);
    CHECK(!find_seen(&fx, REPORT_ENDED, 1));
    CHECK_EQ(fx.x->ops->capacity(fx.x), 1);
    atomic_store(&g.open, 1);
    WAIT_FOR(&fx, fx.x->ops->capacity(fx.x) == 2);
    while (turn(&fx, 20))
        ;
    CHECK(!find_seen(&fx, REPORT_ENDED, 1));
    end(&fx);
}

TEST(a_forgotten_function_that_has_not_begun_never_runs)
{
    struct fixture fx;
    struct gate g = {0}, other = {.open = 1};

    open_threads(&fx, 1);
    add(&fx, "gate", until_open, &g);
    start(&fx, 1, "gate");
    add(&fx, "other", until_open, &other);
    start(&fx, 2, "other");
    fx.x->ops->forget(fx.x, 2, 1);
    atomic_store(&g.open, 1);
    wait_ended(&fx, 1);
    CHECK_EQ(atomic_load(&other.told), 0);
    CHECK_EQ(fx.x->ops->capacity(fx.x), 5);
    CHECK(!find_seen(&fx, REPORT_ENDED, 2));
    end(&fx);
}

TEST(what_this_worker_still_runs_goes_on_under_its_new_epoch)
{
    struct fixture fx;
    struct gate g = {0};
    struct task again = a_task(1, "gate");
    struct err err = ERR_INIT;

    open_threads(&fx, 1);
    add(&fx, "gate", until_open, &g);
    start(&fx, 1, "gate");
    WAIT_FOR(&fx, atomic_load(&g.inside) == 1);
    again.epoch = 9;
    CHECK_OK_ERR(fx.x->ops->reattach(fx.x, &again, &err), &err);
    atomic_store(&g.open, 1);
    wait_ended(&fx, 1);
    CHECK_EQ(fx.ended, 1);
    CHECK_EQ(ended(&fx, 1)->outcome.kind, OUTCOME_OK);
    CHECK_EQ(ended(&fx, 1)->epoch, 9);
    end(&fx);
}

TEST(one_that_was_forgotten_and_found_again_is_lost_unless_it_got_done)
{
    struct fixture fx;
    struct gate stops = {.rc = 1}, does = {.rc = 0};
    struct task a = a_task(1, "stops"), b = a_task(2, "does");
    struct err err = ERR_INIT;

    open_threads(&fx, 2);
    add(&fx, "stops", deaf, &stops);
    add(&fx, "does", deaf, &does);
    start(&fx, 1, "stops");
    start(&fx, 2, "does");
    WAIT_FOR(&fx, atomic_load(&stops.inside) && atomic_load(&does.inside));
    fx.x->ops->forget(fx.x, 1, 1);
    fx.x->ops->forget(fx.x, 2, 1);
    a.epoch = b.epoch = 3;
    CHECK_OK_ERR(fx.x->ops->reattach(fx.x, &a, &err), &err);
    CHECK_OK_ERR(fx.x->ops->reattach(fx.x, &b, &err), &err);
    atomic_store(&stops.open, 1);
    atomic_store(&does.open, 1);
    wait_ended(&fx, 2);
    CHECK_EQ(ended(&fx, 1)->outcome.kind, OUTCOME_LOST);
    CHECK_STR(ended(&fx, 1)->error, "function stops was stopped: its worker had lost the lease");
    CHECK_EQ(ended(&fx, 2)->outcome.kind, OUTCOME_OK);
    CHECK_EQ(ended(&fx, 2)->epoch, 3);
    end(&fx);
}

TEST(what_runs_nowhere_is_lost_at_once_and_never_begun)
{
    struct fixture fx;
    struct gate g = {.open = 1};
    struct task t = a_task(1, "gate"), unknown = a_task(2, "not-here");
    struct err err = ERR_INIT;

    open_threads(&fx, 1);
    add(&fx, "gate", until_open, &g);
    CHECK_OK_ERR(fx.x->ops->reattach(fx.x, &t, &err), &err);
    CHECK_OK_ERR(fx.x->ops->reattach(fx.x, &unknown, &err), &err);
    CHECK_EQ(fx.seen.n, 0); /* reports are made in a turn */
    wait_ended(&fx, 2);
    CHECK_EQ(fx.seen.n, 2);
    CHECK_EQ(ended(&fx, 1)->outcome.kind, OUTCOME_LOST);
    CHECK_EQ(ended(&fx, 2)->outcome.kind, OUTCOME_LOST);
    CHECK_STR(ended(&fx, 1)->error,
              "the worker that ran this function is gone, and the function with it");
    end(&fx);
}

/* ---- the end of a worker ---- */

TEST(a_worker_that_stops_gives_back_what_waits_and_lets_run_what_runs)
{
    struct fixture fx;
    struct gate done = {.rc = 0}, not_done = {.rc = 4};
    struct task t = a_task(9, "done");
    struct err err = ERR_INIT;

    open_threads(&fx, 2);
    add(&fx, "done", until_open, &done);
    add(&fx, "not_done", until_open, &not_done);
    start(&fx, 1, "done");
    start(&fx, 2, "not_done");
    WAIT_FOR(&fx, atomic_load(&done.inside) && atomic_load(&not_done.inside));
    start(&fx, 3, "done");
    fx.x->ops->stop(fx.x, true);
    CHECK_EQ(fx.x->ops->capacity(fx.x), 0);
    CHECK_EQ(fx.x->ops->start(fx.x, &t, &err), -E_REFUSED);
    wait_ended(&fx, 3);
    CHECK_EQ(ended(&fx, 1)->outcome.kind, OUTCOME_OK);
    CHECK_EQ(ended(&fx, 2)->outcome.kind, OUTCOME_DEFERRED); /* costs no attempt */
    CHECK_EQ(ended(&fx, 2)->outcome.retry_delay, 0);
    CHECK_STR(ended(&fx, 2)->error, "function not_done was stopped with its worker");
    CHECK_EQ(ended(&fx, 3)->outcome.kind, OUTCOME_REFUSED);
    CHECK(!find_seen(&fx, REPORT_STARTED, 3));
    end(&fx);
}

TEST(a_worker_that_drains_lets_run_what_runs_and_may_still_lose_its_patience)
{
    struct fixture fx;
    struct gate g = {.rc = 4}, patient = {.rc = 4};

    open_threads(&fx, 2);
    add(&fx, "gate", until_open, &g);
    add(&fx, "patient", until_open, &patient);
    start(&fx, 1, "gate");
    start(&fx, 2, "patient");
    WAIT_FOR(&fx, atomic_load(&g.inside) && atomic_load(&patient.inside));
    start(&fx, 3, "gate");
    fx.x->ops->stop(fx.x, false);
    CHECK_EQ(fx.x->ops->capacity(fx.x), 0);
    WAIT_FOR(&fx, fx.ended == 1);
    CHECK_EQ(ended(&fx, 3)->outcome.kind, OUTCOME_REFUSED);
    atomic_store(&g.open, 1);
    wait_ended(&fx, 2);
    CHECK_EQ(ended(&fx, 1)->outcome.kind, OUTCOME_OK);
    CHECK_EQ(atomic_load(&g.told) + atomic_load(&patient.told), 0);
    fx.x->ops->stop(fx.x, true);
    wait_ended(&fx, 3);
    CHECK_EQ(ended(&fx, 2)->outcome.kind, OUTCOME_DEFERRED);
    end(&fx);
}

TEST(a_function_that_does_not_stop_in_its_grace_is_counted_as_deaf)
{
    struct fixture fx;
    struct gate g = {0};
    struct spec spec = {.grace = 30 * MS};

    open_threads(&fx, 2);
    add(&fx, "deaf", deaf, &g);
    start_spec(&fx, 1, "deaf", &spec);
    start(&fx, 2, "deaf"); /* has ten seconds */
    WAIT_FOR(&fx, atomic_load(&g.inside) == 2);
    CHECK_EQ(function_count_unresponsive(fx.f), 0);
    fx.x->ops->cancel(fx.x, 1, 1, OUTCOME_CANCELLED);
    fx.x->ops->cancel(fx.x, 2, 1, OUTCOME_CANCELLED);
    CHECK_EQ(function_count_unresponsive(fx.f), 0);
    WAIT_FOR(&fx, function_count_unresponsive(fx.f) == 1);
    CHECK_EQ(fx.ended, 0);
    atomic_store(&g.open, 1);
    wait_ended(&fx, 2);
    CHECK_EQ(function_count_unresponsive(fx.f), 0);
    CHECK_EQ(ended(&fx, 1)->outcome.kind, OUTCOME_CANCELLED);
    end(&fx);
}

static void note(void *arg, const char *sentence)
{
    CHECK(strstr(sentence, "does not stop"));
    ++*(int *)arg;
}

TEST(freeing_an_executor_waits_for_its_functions_but_not_for_a_deaf_one)
{
    struct fixture fx;
    static struct gate g, hears; /* static: the thread outlives this test's frame */
    struct spec spec = {.grace = 30 * MS};
    int notes = 0;
    struct env env = {.note = note, .arg = &notes};

    open_with(&fx, (struct function_options){.threads = 1, .env = &env});
    add(&fx, "hears", until_open, &hears);
    start(&fx, 1, "hears");
    start(&fx, 2, "hears");
    WAIT_FOR(&fx, atomic_load(&hears.inside) == 1);
    end(&fx);
    CHECK_EQ(atomic_load(&hears.told), 1);
    CHECK_EQ(notes, 0);

    open_with(&fx, (struct function_options){.threads = 1, .env = &env});
    add(&fx, "deaf", deaf, &g);
    start_spec(&fx, 1, "deaf", &spec);
    WAIT_FOR(&fx, atomic_load(&g.inside) == 1);
    end(&fx);
    CHECK_EQ(notes, 1);
    atomic_store(&g.open, 1);
    while (pool_threads()) /* which clears up behind itself */
        clock_sleep_us(1000);
}
