/* test_engine_drain.c - a worker that an operator asks to drain claims and adopts nothing more,
 * returns jobs that have not started, runs the others to their end, and is then idle. */
#include "engine_fixture.h"
#include "store/operator.h"

TEST_POLL_TOO;
TEST_LOOPS_TOO;

static atomic_int opened, inside;

static int until_opened(struct function_call *c, void *arg)
{
    (void)c;
    (void)arg;
    atomic_fetch_add(&inside, 1);
    while (!atomic_load(&opened))
        usleep(1000);
    return 0;
}

static const struct kit_function blocking[] = {
    {"f", until_opened, NULL}, {"short", kit_noop, NULL}, {0}};
static const struct kit_function quick[] = {{"f", kit_noop, NULL}, {0}};

static int drain_body(struct turn *t, void *arg, struct err *err)
{
    return op_worker_drain(t, arg, err);
}

static int drain_rc(struct store *s, int64_t worker)
{
    struct drain_request d = {.worker = worker, .by = "ada", .reason = "new disk"};
    struct err err = ERR_INIT;

    return store_turn(s, drain_body, &d, &err);
}

static bool is_draining(const struct worker_kit *k)
{
    return engine_drain_request(k->engine) != NULL;
}

static void drain_worker(struct worker_kit *k, struct store *s)
{
    CHECK_OK(drain_rc(s, engine_worker(k->engine)));
    KIT_UNTIL(k, is_draining(k));
    CHECK_STR(engine_drain_request(k->engine)->by, "ada");
    CHECK_STR(engine_drain_request(k->engine)->reason, "new disk");
}

/* A file in the test's folder, whose name is valid until the second next call. */
static const char *file(const char *name)
{
    static char path[2][4096];
    static int at;

    at = !at;
    snprintf(path[at], sizeof(path[at]), "%s/%s", test_dir(), name);
    return path[at];
}

static int64_t submit_waiting_command(struct store *s)
{
    char text[1000];

    snprintf(text, sizeof(text), "echo >%s; while [ ! -e %s ]; do sleep 0.02; done", file("begun"),
             file("go"));
    return kit_command(s, text);
}

static void let_commands_end(void)
{
    FILE *f = fopen(file("go"), "w");

    CHECK(f);
    fclose(f);
}

TEST(draining_worker_claims_nothing_and_is_idle_when_its_function_and_its_command_have_ended)
{
    struct worker_kit k = {.list = blocking, .commands = true}, next = {.list = quick};
    struct store *s = fixture_store();
    int64_t function, command, later;

    atomic_store(&opened, 0);
    kit_open(&k);
    function = kit_submit(s, "f", NULL);
    command = submit_waiting_command(s);
    KIT_UNTIL(&k, atomic_load(&inside) && !access(file("begun"), F_OK));
    KIT_UNTIL(&k,
              strstr(history(s, command), "started") && strstr(history(s, function), "started"));
    drain_worker(&k, s);
    later = kit_submit(s, "f", NULL);
    for (int i = 0; i < 3; i++) {
        int64_t until = get(s, command).until;

        clock_advance(LEASE / 2);
        KIT_UNTIL(&k, get(s, command).until > until); /* heartbeats continue */
    }
    CHECK_EQ(status_of(s, later), S_READY);
    CHECK_EQ(get(s, later).attempts, 0);
    CHECK_EQ(status_of(s, function), S_RUNNING);
    CHECK_EQ(status_of(s, command), S_RUNNING);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM workers WHERE serves = '{}'"), 1);
    CHECK(!engine_is_idle(k.engine));
    let_commands_end();
    atomic_store(&opened, 1);
    KIT_UNTIL(&k, engine_is_idle(k.engine));
    CHECK_STR(history(s, function), "created marked_ready claimed started completed");
    CHECK_STR(history(s, command), "created marked_ready claimed started completed");
    CHECK_EQ(status_of(s, later), S_READY);
    engine_close(&k.engine);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM workers"), 0);
    kit_open(&next);
    kit_until_ended(&next, 1);
    CHECK_STR(history(s, later), "created marked_ready claimed started completed");
    engine_close(&next.engine);
    verify_clean(s);
    store_close(&s);
}

TEST(draining_worker_returns_functions_that_wait_for_a_thread_without_losing_an_attempt)
{
    struct worker_kit k = {.list = blocking, .threads = 1, .patience = 1000 * SECOND};
    struct store *s = fixture_store();
    int64_t ids[3];
    int runs;

    atomic_store(&inside, 0);
    atomic_store(&opened, 0);
    kit_open(&k);
    runs = kit_warm_up(&k, s, "short");
    for (int i = 0; i < 3; i++)
        ids[i] = kit_submit(s, "f", NULL);
    KIT_UNTIL(&k, atomic_load(&inside) && status_of(s, ids[2]) == S_RUNNING);
    drain_worker(&k, s);
    kit_until_ended(&k, runs + 2);
    CHECK_EQ(status_of(s, ids[0]), S_RUNNING);
    for (int i = 1; i < 3; i++) {
        CHECK_EQ(status_of(s, ids[i]), S_READY);
        CHECK_STR(history(s, ids[i]), "created marked_ready claimed released");
        CHECK_EQ(get(s, ids[i]).max_attempts, get(s, ids[i]).attempts + 1);
    }
    atomic_store(&opened, 1);
    KIT_UNTIL(&k, engine_is_idle(k.engine));
    CHECK_EQ(status_of(s, ids[0]), S_SUCCEEDED);
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}

TEST(command_that_has_not_started_is_returned_by_a_draining_worker)
{
    struct worker_kit k = {.commands = true}, next = {.commands = true};
    struct store *s = fixture_store();
    int64_t id = kit_command(s, "true");

    setenv("PAWL_SHIM_POINT", "=before-lock", 1); /* the shim stops there */
    kit_open(&k);
    unsetenv("PAWL_SHIM_POINT");
    KIT_UNTIL(&k, status_of(s, id) == S_RUNNING);
    for (int i = 0; i < 5; i++)
        kit_step(&k);
    drain_worker(&k, s);
    KIT_UNTIL(&k, engine_is_idle(k.engine));
    CHECK_EQ(status_of(s, id), S_READY);
    CHECK_EQ(get(s, id).max_attempts, 2); /* the job used up no attempt */
    engine_close(&k.engine);
    kit_open(&next);
    kit_until_ended(&next, 1);
    CHECK_STR(history(s, id), "created marked_ready claimed released claimed started completed");
    engine_close(&next.engine);
    verify_clean(s);
    store_close(&s);
}

/* As if the wake-up of the request were lost, and the worker's row were registered again before the
 * worker learns of the request, and removed afterwards. */
TEST(drain_request_survives_registrations_and_is_found_by_the_next_heartbeat)
{
    struct worker_kit k = {.list = quick};
    struct store *s = fixture_store();
    struct err err = ERR_INIT;

    kit_open(&k);
    kit_step(&k);
    sql_run(s, "UPDATE workers SET drain_requested_at = started_at, drain_requested_by = 'ada'");
    CHECK_OK_ERR(function_add(k.functions, "g", kit_noop, NULL, &err), &err);
    kit_step(&k); /* registers the worker again, with the lane of g */
    CHECK(!is_draining(&k));
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM workers WHERE drain_requested_at = started_at"),
             1);
    clock_advance(LEASE / 2);
    KIT_UNTIL(&k, is_draining(&k));
    CHECK_STR(engine_drain_request(k.engine)->by, "ada");
    sql_run(s, "DELETE FROM workers");
    clock_advance(LEASE / 2);
    while (!sql_number(s, "SELECT count(*) FROM workers"))
        kit_step(&k);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM workers WHERE drain_requested_by = 'ada'"), 1);
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}

/* The lease of its command expires while the worker drains: nobody else watches the command, so the
 * worker takes it back. It adopts no other orphan. */
TEST(draining_worker_readopts_its_own_command_and_no_other)
{
    struct worker_kit k = {.commands = true}, other = {.commands = true};
    struct store *s = fixture_store();
    int64_t own, foreign;

    kit_open(&k);
    own = submit_waiting_command(s);
    KIT_UNTIL(&k, strstr(history(s, own), "started") && !access(file("begun"), F_OK));
    drain_worker(&k, s);
    kit_open(&other);
    CHECK_OK(unlink(file("begun")));
    foreign = submit_waiting_command(s);
    KIT_UNTIL(&other, strstr(history(s, foreign), "started") && !access(file("begun"), F_OK));
    engine_stop(other.engine, false);
    KIT_UNTIL(&other, engine_is_idle(other.engine));
    engine_close(&other.engine);
    clock_advance(2 * LEASE);
    (void)reap(s);
    KIT_UNTIL(&k, get(s, own).epoch == 2 || engine_is_idle(k.engine));
    CHECK_EQ(get(s, own).epoch, 2);
    for (int i = 0; i < 20; i++)
        kit_step(&k);
    CHECK_EQ(get(s, own).worker, engine_worker(k.engine));
    let_commands_end();
    KIT_UNTIL(&k, engine_is_idle(k.engine));
    CHECK_EQ(status_of(s, own), S_SUCCEEDED);
    CHECK_EQ(status_of(s, foreign), S_RUNNING);
    CHECK_EQ(get(s, foreign).worker, 0);
    engine_close(&k.engine);
    kit_open(&other);
    KIT_UNTIL(&other, status_of(s, foreign) == S_SUCCEEDED);
    engine_close(&other.engine);
    verify_clean(s);
    store_close(&s);
}

TEST(drain_of_an_unknown_or_a_foreground_worker_is_refused)
{
    struct worker_kit k = {.list = quick};
    struct store *s = fixture_store();

    CHECK_EQ(drain_rc(s, 4711), -E_NOT_FOUND);
    kit_open_with(&k, (struct engine_options){.foreground = true});
    kit_step(&k);
    CHECK_EQ(drain_rc(s, engine_worker(k.engine)), -E_INVALID);
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}
