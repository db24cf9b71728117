/* test_function_stop.c - functions that must stop: when they are cancelled, at their deadline,
 * without their lease, and with their worker. */
#include "function_fixture.h"

#include <stdatomic.h>
#include <string.h>

TEST_NO_DB;
TEST_THREADED;

static int unresponsive(struct function_call *c, void *arg)
{
    struct gate *g = arg;

    (void)c;
    atomic_fetch_add(&g->inside, 1);
    while (!atomic_load(&g->open))
        clock_sleep_us(200);
    atomic_fetch_sub(&g->inside, 1);
    return g->rc;
}

/* ---- cancel and deadline ---- */

TEST(running_function_is_notified_of_a_cancel_and_ends_as_cancelled)
{
    struct fixture fx;
    struct gate g = {0};

    open_threads(&fx, 1);
    add(&fx, "gate", until_open, &g);
    start(&fx, 1, "gate");
    WAIT_FOR(&fx, atomic_load(&g.inside) == 1);
    handles_cancel(&fx.handles, 1, 7, OUTCOME_CANCELLED); /* neither call names this attempt */
    handles_cancel(&fx.handles, 9, 1, OUTCOME_CANCELLED);
    CHECK_EQ(atomic_load(&g.notified), 0);
    handles_cancel(&fx.handles, 1, 1, OUTCOME_CANCELLED);
    wait_ended(&fx, 1);
    CHECK_EQ(atomic_load(&g.notified), 1);
    CHECK_EQ(ended(&fx, 1)->outcome.kind, OUTCOME_CANCELLED);
    CHECK_STR(ended(&fx, 1)->error, "function gate was cancelled");
    end(&fx);
}

TEST(function_cancelled_before_its_start_does_not_run)
{
    struct fixture fx;
    struct gate g = {0}, other = {.open = 1};
    struct job cancelled_early = a_task(3, "other");

    open_threads(&fx, 1);
    add(&fx, "gate", until_open, &g);
    add(&fx, "other", until_open, &other);
    start(&fx, 1, "gate");
    WAIT_FOR(&fx, atomic_load(&g.inside) == 1);
    start(&fx, 2, "gate");
    cancelled_early.cancel = true;
    start_task(&fx, &cancelled_early);
    handles_cancel(&fx.handles, 2, 1, OUTCOME_CANCELLED);
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

TEST(function_that_ended_before_the_cancel_keeps_its_outcome)
{
    struct fixture fx;

    open_threads(&fx, 1);
    add(&fx, "nothing", nothing, NULL);
    start(&fx, 1, "nothing");
    while (!fx.x->ops->capacity(
        fx.x)) /* until the function has returned; the executor is not polled yet */
        clock_sleep_us(200);
    handles_cancel(&fx.handles, 1, 1, OUTCOME_CANCELLED);
    wait_ended(&fx, 1);
    CHECK_EQ(ended(&fx, 1)->outcome.kind, OUTCOME_OK);
    end(&fx);
}

static int watches_its_deadline(struct function_call *c, void *arg)
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

TEST(function_is_notified_at_its_deadline_and_ends_as_timed_out)
{
    struct fixture fx;
    struct spec spec = {.timeout = 80 * MS}, long_spec = {.timeout = 3600 * SECOND};
    struct gate g = {0};

    open_threads(&fx, 2);
    add(&fx, "watches", watches_its_deadline, NULL);
    add(&fx, "gate", until_open, &g);
    start_spec(&fx, 2, "gate", &long_spec);
    start_spec(&fx, 1, "watches", &spec);
    wait_ended(&fx, 1);
    CHECK_EQ(ended(&fx, 1)->outcome.kind, OUTCOME_TIMED_OUT);
    CHECK_STR(ended(&fx, 1)->error,
              "function watches ran longer than its timeout of 80.0 ms: half of it done");
    CHECK(ended(&fx, 1)->outcome.duration >= 80 * MS);
    CHECK_EQ(atomic_load(&g.notified), 0);
    atomic_store(&g.open, 1);
    wait_ended(&fx, 2);
    CHECK_EQ(ended(&fx, 2)->outcome.kind, OUTCOME_OK);
    end(&fx);
}

TEST(timeout_of_a_function_does_not_include_its_time_in_the_queue)
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

TEST(forgotten_function_is_notified_keeps_its_slot_and_is_not_reported)
{
    struct fixture fx;
    struct gate g = {0};
    int before;

    open_with(&fx, (struct function_options){.threads = 2, .queue = -1});
    add(&fx, "unresponsive", unresponsive, &g);
    add(&fx, "nothing", nothing, NULL);
    before = fx.x->ops->capacity(fx.x);
    CHECK_EQ(before, 2);
    start(&fx, 1, "unresponsive");
    WAIT_FOR(&fx, atomic_load(&g.inside) == 1);
    handles_forget(&fx.handles, 1, 1);
    handles_forget(&fx.handles, 8, 8);
    CHECK_EQ(fx.x->ops->capacity(fx.x), 1);
    start(&fx, 2, "nothing");
    wait_ended(&fx, 1);
    CHECK(!find_seen(&fx, REPORT_ENDED, 1));
    CHECK_EQ(fx.x->ops->capacity(fx.x), 1);
    atomic_store(&g.open, 1);
    WAIT_FOR(&fx, fx.x->ops->capacity(fx.x) == 2);
    while (poll_reports(&fx, 20))
        ;
    CHECK(!find_seen(&fx, REPORT_ENDED, 1));
    end(&fx);
}

TEST(function_forgotten_before_its_start_never_runs)
{
    struct fixture fx;
    struct gate g = {0}, other = {.open = 1};

    open_threads(&fx, 1);
    add(&fx, "gate", until_open, &g);
    start(&fx, 1, "gate");
    add(&fx, "other", until_open, &other);
    start(&fx, 2, "other");
    handles_forget(&fx.handles, 2, 1);
    atomic_store(&g.open, 1);
    wait_ended(&fx, 1);
    CHECK_EQ(atomic_load(&other.notified), 0);
    CHECK_EQ(function_free_threads(fx.f), 1);
    CHECK(!find_seen(&fx, REPORT_ENDED, 2));
    end(&fx);
}

TEST(reattached_function_continues_under_its_new_epoch)
{
    struct fixture fx;
    struct gate g = {0};
    struct job again = a_task(1, "gate");
    struct err err = ERR_INIT;

    open_threads(&fx, 1);
    add(&fx, "gate", until_open, &g);
    start(&fx, 1, "gate");
    WAIT_FOR(&fx, atomic_load(&g.inside) == 1);
    again.epoch = 9;
    CHECK_OK_ERR(handles_reattach(&fx.handles, &again, &err), &err);
    atomic_store(&g.open, 1);
    wait_ended(&fx, 1);
    CHECK_EQ(fx.ended, 1);
    CHECK_EQ(ended(&fx, 1)->outcome.kind, OUTCOME_OK);
    end(&fx);
}

TEST(function_reattached_after_a_lost_lease_is_lost_unless_it_succeeds)
{
    struct fixture fx;
    struct gate stops = {.rc = 1}, does = {.rc = 0};
    struct job a = a_task(1, "stops"), b = a_task(2, "does");
    struct err err = ERR_INIT;

    open_threads(&fx, 2);
    add(&fx, "stops", unresponsive, &stops);
    add(&fx, "does", unresponsive, &does);
    start(&fx, 1, "stops");
    start(&fx, 2, "does");
    WAIT_FOR(&fx, atomic_load(&stops.inside) && atomic_load(&does.inside));
    handles_forget(&fx.handles, 1, 1);
    handles_forget(&fx.handles, 2, 1);
    a.epoch = b.epoch = 3;
    CHECK_OK_ERR(handles_reattach(&fx.handles, &a, &err), &err);
    CHECK_OK_ERR(handles_reattach(&fx.handles, &b, &err), &err);
    atomic_store(&stops.open, 1);
    atomic_store(&does.open, 1);
    wait_ended(&fx, 2);
    CHECK_EQ(ended(&fx, 1)->outcome.kind, OUTCOME_LOST);
    CHECK_STR(ended(&fx, 1)->error, "function stops was stopped: its worker lost the lease");
    CHECK_EQ(ended(&fx, 2)->outcome.kind, OUTCOME_OK);
    end(&fx);
}

TEST(reattached_function_that_is_not_running_is_lost_and_not_restarted)
{
    struct fixture fx;
    struct gate g = {.open = 1};
    struct job t = a_task(1, "gate"), unknown = a_task(2, "not-here");
    struct err err = ERR_INIT;

    open_threads(&fx, 1);
    add(&fx, "gate", until_open, &g);
    CHECK_OK_ERR(handles_reattach(&fx.handles, &t, &err), &err);
    CHECK_OK_ERR(handles_reattach(&fx.handles, &unknown, &err), &err);
    CHECK_EQ(fx.seen.n, 0); /* reports are made by a poll */
    wait_ended(&fx, 2);
    CHECK_EQ(fx.seen.n, 2);
    CHECK_EQ(ended(&fx, 1)->outcome.kind, OUTCOME_LOST);
    CHECK_EQ(ended(&fx, 2)->outcome.kind, OUTCOME_LOST);
    CHECK_STR(ended(&fx, 1)->error,
              "the worker that ran this function ended, and the function with it");
    end(&fx);
}

/* ---- a stopping worker ---- */

TEST(stopping_worker_refuses_waiting_functions_and_defers_unfinished_ones)
{
    struct fixture fx;
    struct gate done = {.rc = 0}, not_done = {.rc = 4};
    struct job t = a_task(9, "done");
    struct err err = ERR_INIT;

    open_threads(&fx, 2);
    add(&fx, "done", until_open, &done);
    add(&fx, "not_done", until_open, &not_done);
    start(&fx, 1, "done");
    start(&fx, 2, "not_done");
    WAIT_FOR(&fx, atomic_load(&done.inside) && atomic_load(&not_done.inside));
    start(&fx, 3, "done");
    handles_stop(&fx.handles, true);
    CHECK_EQ(fx.x->ops->capacity(fx.x), 0);
    CHECK_EQ(handles_start(&fx.handles, &t, &err), -E_REFUSED);
    wait_ended(&fx, 3);
    CHECK_EQ(ended(&fx, 1)->outcome.kind, OUTCOME_OK);
    CHECK_EQ(ended(&fx, 2)->outcome.kind, OUTCOME_DEFERRED); /* costs no attempt */
    CHECK_EQ(ended(&fx, 2)->outcome.retry_delay, 0);
    CHECK_STR(ended(&fx, 2)->error, "function not_done was stopped with its worker");
    CHECK_EQ(ended(&fx, 3)->outcome.kind, OUTCOME_REFUSED);
    CHECK(!find_seen(&fx, REPORT_STARTED, 3));
    end(&fx);
}

TEST(draining_worker_lets_functions_run_until_it_is_forced_to_stop)
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
    handles_stop(&fx.handles, false);
    CHECK_EQ(fx.x->ops->capacity(fx.x), 0);
    WAIT_FOR(&fx, fx.ended == 1);
    CHECK_EQ(ended(&fx, 3)->outcome.kind, OUTCOME_REFUSED);
    atomic_store(&g.open, 1);
    wait_ended(&fx, 2);
    CHECK_EQ(ended(&fx, 1)->outcome.kind, OUTCOME_OK);
    CHECK_EQ(atomic_load(&g.notified) + atomic_load(&patient.notified), 0);
    handles_stop(&fx.handles, true);
    wait_ended(&fx, 3);
    CHECK_EQ(ended(&fx, 2)->outcome.kind, OUTCOME_DEFERRED);
    end(&fx);
}

TEST(function_that_exceeds_its_grace_is_counted_as_unresponsive)
{
    struct fixture fx;
    struct gate g = {0};
    struct spec spec = {.grace = 30 * MS};

    open_threads(&fx, 2);
    add(&fx, "unresponsive", unresponsive, &g);
    start_spec(&fx, 1, "unresponsive", &spec);
    start(&fx, 2, "unresponsive"); /* has the default of ten seconds */
    WAIT_FOR(&fx, atomic_load(&g.inside) == 2);
    CHECK_EQ(function_count_unresponsive(fx.f), 0);
    handles_cancel(&fx.handles, 1, 1, OUTCOME_CANCELLED);
    handles_cancel(&fx.handles, 2, 1, OUTCOME_CANCELLED);
    CHECK_EQ(function_count_unresponsive(fx.f), 0);
    WAIT_FOR(&fx, function_count_unresponsive(fx.f) == 1);
    CHECK_EQ(fx.ended, 0);
    atomic_store(&g.open, 1);
    wait_ended(&fx, 2);
    CHECK_EQ(function_count_unresponsive(fx.f), 0);
    CHECK_EQ(ended(&fx, 1)->outcome.kind, OUTCOME_CANCELLED);
    end(&fx);
}

static void count_note(void *arg, const char *sentence)
{
    CHECK(strstr(sentence, "did not stop in time"));
    ++*(int *)arg;
}

TEST(freeing_the_function_executor_waits_for_all_functions_except_unresponsive_ones)
{
    struct fixture fx;
    static struct gate g, responsive; /* static: the thread outlives this test's frame */
    struct spec spec = {.grace = 30 * MS};
    int notes = 0;
    struct env env = {.note = count_note, .arg = &notes};

    open_with(&fx, (struct function_options){.threads = 1, .env = &env});
    add(&fx, "responsive", until_open, &responsive);
    start(&fx, 1, "responsive");
    start(&fx, 2, "responsive");
    WAIT_FOR(&fx, atomic_load(&responsive.inside) == 1);
    end(&fx);
    CHECK_EQ(atomic_load(&responsive.notified), 1);
    CHECK_EQ(notes, 0);

    open_with(&fx, (struct function_options){.threads = 1, .env = &env});
    add(&fx, "unresponsive", unresponsive, &g);
    start_spec(&fx, 1, "unresponsive", &spec);
    WAIT_FOR(&fx, atomic_load(&g.inside) == 1);
    end(&fx);
    CHECK_EQ(notes, 1);
    atomic_store(&g.open, 1);
    while (pool_threads()) /* the thread cleans up after itself */
        clock_sleep_us(1000);
}
