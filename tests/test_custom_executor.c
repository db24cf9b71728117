/* test_custom_executor.c - executors of those who embed Pawl: what they are given, what they
 * report, and what becomes of it. The executor here only notes what is asked of it; the test
 * reports. */
#include "api/executor.h"
#include "base/mem.h"
#include "fixture.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

TEST_THREADED;

#define OK(call)          test_check_ok(__FILE__, __LINE__, #call, call, err.message)
#define FAILS(call, code) CHECK_EQ(call, -(code))
#define MOST              64

static struct pawl_error err;

/* ---- the executor ---- */

struct lab {
    struct pawl_attempt begun[MOST], found[MOST];
    int nbegun, nfound, cancelled, forgotten, settled, freed;
    int epoch;         /* of the last */
    int refuse;        /* so many first */
    const char *wrong; /* fails to begin, with this sentence */
    bool obeys;        /* a cancel ends it */
    void (*look)(const struct pawl_task *t);
};

static int lab_start(void *data, const struct pawl_task *t, struct pawl_error *e)
{
    struct lab *l = data;

    if (l->refuse > 0) {
        l->refuse--;
        snprintf(e->message, sizeof(e->message), "the lab is closed");
        return -PAWL_E_REFUSED;
    }
    if (l->wrong) {
        snprintf(e->message, sizeof(e->message), "%s", l->wrong);
        return -PAWL_E_INVALID;
    }
    if (l->look)
        l->look(t);
    CHECK(l->nbegun < MOST);
    l->begun[l->nbegun++] = t->id;
    l->epoch = t->epoch;
    return 0;
}

static int lab_find(void *data, const struct pawl_task *t, struct pawl_error *e)
{
    struct lab *l = data;

    (void)e;
    CHECK(l->nfound < MOST);
    l->found[l->nfound++] = t->id;
    l->epoch = t->epoch;
    return 0;
}

static void lab_cancel(void *data, struct pawl_attempt a)
{
    struct lab *l = data;

    l->cancelled++;
    if (l->obeys)
        pawl_report_ended(a, &(struct pawl_end){.outcome = PAWL_CANCELLED});
}

static void lab_forget(void *data, struct pawl_attempt a)
{
    (void)a;
    ((struct lab *)data)->forgotten++;
}

static void lab_settled(void *data, struct pawl_attempt a)
{
    (void)a;
    ((struct lab *)data)->settled++;
}

static void lab_free(void *data)
{
    ((struct lab *)data)->freed++;
}

static struct pawl_executor lab_executor(struct lab *l)
{
    return (struct pawl_executor){.key = "lab",
                                  .data = l,
                                  .start = lab_start,
                                  .cancel = lab_cancel,
                                  .settled = lab_settled,
                                  .free = lab_free};
}

static void done(struct pawl_attempt a, const char *result)
{
    pawl_report_ended(a, &(struct pawl_end){.outcome = PAWL_OK, .result = result});
}

/* ---- a database, an engine on it, and a store to look with ---- */

struct world {
    struct pawl *p;
    struct pawl_engine *e;
    struct store *s;
};

static void configure(char *path, size_t size, const char *more)
{
    FILE *f;

    snprintf(path, size, "%s/pawl.yaml", test_dir());
    CHECK((f = fopen(path, "w")) != NULL);
    fprintf(f, "state: %s/state\n%s", test_dir(),
            more ? more : "executors: {process: {enabled: false}}\n");
    CHECK_EQ(fclose(f), 0);
}

static int try_open(struct world *w, const char *more)
{
    char path[4096];
    struct pawl_options o = {.url = fixture_url(), .tenant = fixture_tenant(), .config = path};

    configure(path, sizeof(path), more);
    return pawl_open(&o, &w->p, &err);
}

static void open_engine(struct world *w, const struct pawl_executor *x)
{
    OK(pawl_engine_open(w->p, NULL, &w->e, &err));
    OK(pawl_engine_add_executor(w->e, x, &err));
}

static struct world open_world(const struct pawl_executor *x, const char *more)
{
    struct world w = {0};

    OK(try_open(&w, more));
    open_engine(&w, x);
    w.s = fixture_store();
    return w;
}

static void close_world(struct world *w)
{
    pawl_engine_close(w->e);
    verify_clean(w->s);
    store_close(&w->s);
    pawl_close(w->p);
}

static void step(struct world *w)
{
    OK(pawl_engine_step(w->e, 20, &err));
}

/* Steps until it holds; the test's own time limit is the end of patience. */
#define UNTIL(w, what) \
    while (!(what))    \
    step(w)

static int64_t put(struct world *w, struct pawl_job job)
{
    if (!job.name)
        job.name = "exec::lab";
    if (!job.lane && !strncmp(job.name, "exec::lab", 9))
        job.lane = "lab";
    OK(pawl_submit(w->p, &job, 1, &err));
    return job.id;
}

static int64_t put_one(struct world *w)
{
    return put(w, (struct pawl_job){0});
}

/* ---- the life of an attempt ---- */

TEST(a_job_runs_and_its_start_its_output_and_its_result_are_kept)
{
    struct lab lab = {0};
    struct pawl_executor x = lab_executor(&lab);
    struct world w = open_world(&x, NULL);
    int64_t id = put_one(&w);
    struct pawl_log_page page;
    char text[64];
    struct execution e;

    UNTIL(&w, lab.nbegun == 1);
    CHECK_EQ(lab.begun[0].execution, id);
    CHECK_EQ(lab.begun[0].attempt, 1);
    pawl_report_started(lab.begun[0], 0);
    UNTIL(&w, strstr(history(w.s, id), "started"));
    pawl_report_log(lab.begun[0], "one\n", 4);
    pawl_report_log(lab.begun[0], "two\n", 4);
    pawl_report_ended(lab.begun[0], &(struct pawl_end){.outcome = PAWL_OK,
                                                       .result = "{\"n\":7}",
                                                       .has_exit_code = true,
                                                       .cpu = 3});
    pawl_report_ended(lab.begun[0], &(struct pawl_end){.outcome = PAWL_FAILED, .error = "late"});
    UNTIL(&w, lab.settled == 1);
    e = get(w.s, id);
    CHECK_EQ(e.status, S_SUCCEEDED);
    CHECK_STR(e.result, "{\"n\":7}");
    CHECK_STR(history(w.s, id), "created marked_ready claimed started completed");
    OK(pawl_log(w.p, &(struct pawl_log_place){.execution = id}, text, sizeof(text), &page, &err));
    CHECK_EQ(page.len, 8);
    CHECK(!memcmp(text, "one\ntwo\n", 8));
    done(lab.begun[0], NULL); /* nobody listens, and nothing happens */
    step(&w);
    CHECK_EQ(lab.freed, 0);
    close_world(&w);
    CHECK_EQ(lab.freed, 1);
}

static void look_at_command(const struct pawl_task *t)
{
    const struct pawl_command *c = &t->command;

    CHECK_STR(t->name, "exec::lab-7");
    CHECK_STR(t->input, "[1]");
    CHECK_EQ(t->max_attempts, 3);
    CHECK_EQ(t->root, t->id.execution);
    CHECK(t->lease_until > 0);
    CHECK(!c->run);
    CHECK_STR(c->argv[0], "ls");
    CHECK_STR(c->argv[1], "-l");
    CHECK(!c->argv[2]);
    CHECK_STR(c->env[0], "A=1=2");
    CHECK_STR(c->env[1], "B=");
    CHECK(!c->env[2]);
    CHECK_STR(c->secrets[0], "TOKEN");
    CHECK_STR(c->outputs[0], "n");
    CHECK_STR(c->cwd, "/tmp");
    CHECK_EQ(c->timeout, 5000000);
    CHECK_EQ(c->memory, 1 << 20);
    CHECK(strstr(t->spec, "\"argv\":[\"ls\",\"-l\"]"));
}

TEST(it_sees_the_command_as_it_was_submitted)
{
    struct lab lab = {.look = look_at_command};
    struct pawl_executor x = lab_executor(&lab);
    struct world w = open_world(&x, NULL);
    struct pawl_command c = {.argv = (const char *[]){"ls", "-l", NULL},
                             .env = (const char *[]){"A=1=2", "B=", NULL},
                             .secrets = (const char *[]){"TOKEN", NULL},
                             .outputs = (const char *[]){"n", NULL},
                             .cwd = "/tmp",
                             .timeout = 5000000,
                             .memory = 1 << 20};
    char *spec = NULL;

    OK(pawl_command_spec(w.p, &c, NULL, &spec, &err));
    put(&w,
        (struct pawl_job){.name = "exec::lab-7", .input = "[1]", .spec = spec, .max_attempts = 3});
    UNTIL(&w, lab.nbegun == 1);
    done(lab.begun[0], NULL);
    UNTIL(&w, lab.settled == 1);
    free(spec);
    close_world(&w);
}

TEST(a_refusal_gives_the_job_back_and_costs_no_attempt)
{
    struct lab lab = {.refuse = 1};
    struct pawl_executor x = lab_executor(&lab);
    struct world w = open_world(&x, NULL);
    int64_t id = put_one(&w);

    UNTIL(&w, lab.nbegun == 1);
    CHECK_EQ(lab.begun[0].attempt, 2);
    CHECK_EQ(get(w.s, id).max_attempts, 2);
    CHECK(strstr(history(w.s, id), "claimed released"));
    done(lab.begun[0], NULL);
    UNTIL(&w, lab.settled == 1);
    CHECK_EQ(status_of(w.s, id), S_SUCCEEDED);
    close_world(&w);
}

TEST(an_error_of_start_fails_the_attempt_with_its_sentence)
{
    struct lab lab = {.wrong = "there is no such machine"};
    struct pawl_executor x = lab_executor(&lab);
    struct world w = open_world(&x, NULL);
    int64_t id = put_one(&w);

    UNTIL(&w, status_of(w.s, id) == S_FAILED);
    CHECK_STR(get(w.s, id).error, "there is no such machine");
    CHECK(!strstr(history(w.s, id), "started"));
    CHECK_EQ(lab.settled, 0); /* it never had it */
    close_world(&w);
}

TEST(what_is_reported_wrongly_is_a_failure_that_says_so)
{
    struct lab lab = {0};
    struct pawl_executor x = lab_executor(&lab);
    struct world w;
    int64_t none, no_json, silent;

    x.slots = 3;
    w = open_world(&x, "executors: {process: {enabled: false}}\nworker: {slots: 3}\n");
    none = put_one(&w);
    no_json = put_one(&w);
    silent = put_one(&w);
    UNTIL(&w, lab.nbegun == 3);
    pawl_report_ended(lab.begun[0], &(struct pawl_end){0});
    pawl_report_ended(lab.begun[1], &(struct pawl_end){.outcome = PAWL_OK, .result = "{"});
    pawl_report_ended(lab.begun[2], &(struct pawl_end){.outcome = PAWL_FAILED, .error = ""});
    UNTIL(&w, lab.settled == 3);
    CHECK(strstr(get(w.s, none).error, "an outcome 0 that there is not"));
    CHECK_EQ(status_of(w.s, no_json), S_FAILED);
    CHECK_STR(get(w.s, silent).error, "the executor lab does not say why");
    close_world(&w);
}

/* ---- its end is asked for ---- */

TEST(a_cancel_reaches_it)
{
    struct lab lab = {.obeys = true};
    struct pawl_executor x = lab_executor(&lab);
    struct world w = open_world(&x, NULL);
    int64_t id = put_one(&w);

    UNTIL(&w, lab.nbegun == 1);
    OK(pawl_cancel(w.p, id, "me", "enough", NULL, &err));
    UNTIL(&w, lab.settled == 1);
    CHECK_EQ(lab.cancelled, 1);
    CHECK_EQ(status_of(w.s, id), S_CANCELLED);
    close_world(&w);
}

TEST(what_was_done_before_the_cancel_came_keeps_its_own_outcome)
{
    struct lab lab = {0};
    struct pawl_executor x = lab_executor(&lab);
    struct world w = open_world(&x, NULL);
    int64_t id = put_one(&w);

    UNTIL(&w, lab.nbegun == 1);
    OK(pawl_cancel(w.p, id, NULL, NULL, NULL, &err));
    UNTIL(&w, lab.cancelled == 1);
    done(lab.begun[0], "[]");
    UNTIL(&w, lab.settled == 1);
    CHECK_EQ(status_of(w.s, id), S_SUCCEEDED);
    close_world(&w);
}

TEST(at_its_timeout_it_is_asked_to_end)
{
    struct lab lab = {.obeys = true};
    struct pawl_executor x = lab_executor(&lab);
    struct world w = open_world(&x, NULL);
    int64_t silent = put(&w, (struct pawl_job){.spec = "{\"timeout\":50000}"}), late;

    UNTIL(&w, lab.settled == 1); /* counted from its start, as it never says that it began */
    CHECK_EQ(lab.cancelled, 1);
    CHECK_EQ(status_of(w.s, silent), S_TIMED_OUT);
    CHECK(strstr(get(w.s, silent).error, "ran longer than its timeout of 50"));
    late = put(&w, (struct pawl_job){.spec = "{\"timeout\":3600000000}"});
    UNTIL(&w, lab.nbegun == 2);
    pawl_report_started(lab.begun[1], 3600 * SECOND); /* all its time was over before */
    UNTIL(&w, lab.settled == 2);
    CHECK_EQ(status_of(w.s, late), S_TIMED_OUT);
    close_world(&w);
}

TEST(an_executor_that_can_not_cancel_runs_to_its_end)
{
    struct lab lab = {0};
    struct pawl_executor x = lab_executor(&lab);
    struct world w;
    int64_t id;

    x.cancel = NULL;
    w = open_world(&x, NULL);
    id = put(&w, (struct pawl_job){.spec = "{\"timeout\":1000}"});
    UNTIL(&w, lab.nbegun == 1);
    OK(pawl_cancel(w.p, id, NULL, NULL, NULL, &err));
    step(&w);
    done(lab.begun[0], NULL);
    UNTIL(&w, lab.settled == 1);
    CHECK_EQ(status_of(w.s, id), S_SUCCEEDED);
    close_world(&w);
}

TEST(a_worker_that_stops_now_gives_back_what_runs_and_that_costs_no_attempt)
{
    struct lab lab = {.obeys = true};
    struct pawl_executor x = lab_executor(&lab);
    struct world w = open_world(&x, NULL);
    int64_t id = put_one(&w);

    UNTIL(&w, lab.nbegun == 1);
    pawl_engine_stop(w.e, false);
    step(&w);
    CHECK_EQ(lab.cancelled, 0);
    pawl_engine_stop(w.e, true);
    UNTIL(&w, pawl_engine_idle(w.e));
    CHECK_EQ(lab.cancelled, 1);
    CHECK_EQ(status_of(w.s, id), S_READY);
    CHECK(strstr(history(w.s, id), "deferred"));
    pawl_engine_close(w.e);
    open_engine(&w, &x);
    UNTIL(&w, lab.nbegun == 2);
    done(lab.begun[1], NULL);
    UNTIL(&w, status_of(w.s, id) == S_SUCCEEDED);
    close_world(&w);
}

/* ---- routes and room ---- */

#define LAB_CONFIG                                                            \
    "executors: {process: {enabled: false}, lab: {type: custom, slots: 2}}\n" \
    "dispatch: {routes: [{task: 'exec::*-lab', executor: lab}]}\n"

TEST(a_route_leads_to_it_by_the_name_of_the_task)
{
    struct lab lab = {0};
    struct pawl_executor x = lab_executor(&lab);
    struct world w = open_world(&x, LAB_CONFIG);
    int64_t fits = put(&w, (struct pawl_job){.name = "exec::x-lab"});
    int64_t other = put(&w, (struct pawl_job){.name = "exec::x-lob"});

    CHECK_STR(get(w.s, fits).lane, "lab");
    CHECK_STR(get(w.s, other).lane, "process");
    UNTIL(&w, lab.nbegun == 1);
    CHECK_EQ(lab.begun[0].execution, fits);
    done(lab.begun[0], NULL);
    UNTIL(&w, lab.settled == 1);
    CHECK_EQ(status_of(w.s, other), S_READY);
    close_world(&w);
}

static int doubles(struct pawl_call *c, void *arg)
{
    (void)arg;
    return c->ops->set_result(c, "2");
}

/* This program stands where there is no shim. */
TEST(a_program_without_a_shim_runs_functions_and_why_says_that_nobody_serves_its_commands)
{
    struct pawl_engine_options here = {.here = true};
    struct world w = {0};
    struct pawl_engine *other;
    int64_t function, command;
    char *json;

    OK(try_open(&w, "worker: {slots: 1}\n"));
    OK(pawl_engine_open(w.p, NULL, &w.e, &err));
    OK(pawl_engine_register(w.e, "doubles", doubles, NULL, &err));
    w.s = fixture_store();
    function = put(&w, (struct pawl_job){.name = "exec::f", .lane = "function:doubles"});
    command = put(&w, (struct pawl_job){.name = "exec::c", .lane = "process"});
    UNTIL(&w, status_of(w.s, function) == S_SUCCEEDED);
    CHECK_EQ(status_of(w.s, command), S_READY);
    OK(pawl_why(w.p, command, &json, &err));
    CHECK(strstr(json, "no live worker serves lane process in queue default (1 is alive)"));
    free(json);
    /* who came to run one command can't do without */
    FAILS(pawl_engine_open(w.p, &here, &other, &err), PAWL_E_UNAVAILABLE);
    CHECK(strstr(err.message, "pawl-shim, which runs commands, is not there"));
    CHECK_EQ(setenv("PAWL_SHIM", "/nowhere/pawl-shim", 1), 0);
    FAILS(pawl_engine_open(w.p, NULL, &other, &err), PAWL_E_UNAVAILABLE);
    close_world(&w);
}

TEST(a_worker_without_it_opens_all_the_same)
{
    struct world w = {0};

    OK(try_open(&w, LAB_CONFIG));
    OK(pawl_engine_open(w.p, NULL, &w.e, &err));
    w.s = fixture_store();
    step(&w);
    close_world(&w);
}

TEST(a_route_to_an_executor_that_there_is_not_is_an_error_at_the_start_that_names_it)
{
    struct world w = {0};

    FAILS(try_open(&w, "dispatch:\n  routes:\n    - {task: 'exec::*', executor: labb}\n"
                       "executors: {lab: {type: custom}}\n"),
          PAWL_E_INVALID);
    CHECK(strstr(err.message, "pawl.yaml:4:"));
    CHECK(strstr(err.message, "there is no executor 'labb': did you mean \"lab\"?"));
}

TEST(never_more_run_than_it_has_slots)
{
    struct lab lab = {0};
    struct pawl_executor x = lab_executor(&lab);
    struct world w = open_world(&x, LAB_CONFIG);
    int i;

    for (i = 0; i < 5; i++)
        put_one(&w);
    UNTIL(&w, lab.nbegun == 2);
    for (i = 0; i < 5; i++)
        step(&w);
    CHECK_EQ(lab.nbegun, 2);
    for (i = 0; i < 5; i++) {
        done(lab.begun[i], NULL);
        UNTIL(&w, lab.settled == i + 1);
        UNTIL(&w, lab.nbegun == (i + 3 < 5 ? i + 3 : 5));
    }
    close_world(&w);
}

static int no_room(void *data)
{
    return ((struct lab *)data)->refuse ? 0 : 1;
}

TEST(it_is_given_nothing_while_it_says_that_it_has_no_room)
{
    struct lab lab = {.refuse = 1};
    struct pawl_executor x = lab_executor(&lab);
    struct world w;
    int64_t id;
    int i;

    x.room = no_room;
    w = open_world(&x, NULL);
    id = put_one(&w);
    for (i = 0; i < 5; i++)
        step(&w);
    CHECK_STR(history(w.s, id), "created marked_ready");
    lab.refuse = 0;
    UNTIL(&w, lab.nbegun == 1);
    done(lab.begun[0], NULL);
    UNTIL(&w, lab.settled == 1);
    close_world(&w);
}

TEST(one_that_lacks_what_it_needs_is_refused)
{
    struct lab lab = {0};
    struct pawl_executor x = lab_executor(&lab), bad;
    struct world w = open_world(&x, NULL);

    FAILS(pawl_engine_add_executor(w.e, &x, &err), PAWL_E_CONFLICT);
    bad = x;
    bad.key = "process";
    FAILS(pawl_engine_add_executor(w.e, &bad, &err), PAWL_E_CONFLICT);
    bad.key = "a:b";
    FAILS(pawl_engine_add_executor(w.e, &bad, &err), PAWL_E_INVALID);
    bad.key = NULL;
    FAILS(pawl_engine_add_executor(w.e, &bad, &err), PAWL_E_INVALID);
    bad.key = "b";
    bad.start = NULL;
    FAILS(pawl_engine_add_executor(w.e, &bad, &err), PAWL_E_INVALID);
    bad.start = lab_start;
    bad.outlives_worker = true;
    FAILS(pawl_engine_add_executor(w.e, &bad, &err), PAWL_E_INVALID);
    CHECK(strstr(err.message, "has no find"));
    bad.outlives_worker = false;
    bad.fd = no_room;
    FAILS(pawl_engine_add_executor(w.e, &bad, &err), PAWL_E_INVALID);
    CHECK_EQ(lab.freed, 0);
    close_world(&w);
}

/* ---- workers that are gone ---- */

TEST(work_that_lives_in_its_worker_is_lost_with_it_and_tried_again)
{
    struct lab lab = {0};
    struct pawl_executor x = lab_executor(&lab);
    struct world w = open_world(&x, NULL);
    int64_t id =
        put(&w, (struct pawl_job){.max_attempts = 2, .spec = "{\"retry\":{\"delay\":1000}}"});

    UNTIL(&w, lab.nbegun == 1);
    pawl_engine_close(w.e); /* without a word to anybody: as if it had died */
    open_engine(&w, &x);
    UNTIL(&w, lab.nbegun == 2);
    CHECK_EQ(lab.begun[1].attempt, 2);
    CHECK(strstr(history(w.s, id), "lease_expired adopted retry_scheduled"));
    done(lab.begun[1], NULL);
    UNTIL(&w, status_of(w.s, id) == S_SUCCEEDED);
    close_world(&w);
}

TEST(work_that_outlives_its_worker_is_found_by_the_next)
{
    struct lab lab = {0};
    struct pawl_executor x = lab_executor(&lab);
    struct world w;
    int64_t id;
    int epoch;

    x.outlives_worker = true;
    x.find = lab_find;
    x.forget = lab_forget;
    w = open_world(&x, NULL);
    id = put_one(&w);
    UNTIL(&w, lab.nbegun == 1);
    epoch = lab.epoch;
    pawl_engine_stop(w.e, true);
    CHECK(pawl_engine_idle(w.e));
    CHECK_EQ(lab.cancelled, 0);
    CHECK_EQ(lab.forgotten, 1);
    pawl_engine_close(w.e);
    CHECK_EQ(status_of(w.s, id), S_RUNNING);
    open_engine(&w, &x);
    UNTIL(&w, lab.nfound == 1);
    CHECK_EQ(lab.found[0].execution, id);
    CHECK_EQ(lab.found[0].attempt, 1);
    CHECK_EQ(lab.epoch, epoch + 1);
    pawl_report_started(lab.found[0], SECOND);
    done(lab.found[0], "1");
    UNTIL(&w, status_of(w.s, id) == S_SUCCEEDED);
    CHECK_EQ(lab.nbegun, 1);
    close_world(&w);
}

/* A dispatcher alone, so that leases can be lost at will. */
struct desk {
    struct dispatch *d;
    struct lab lab;
    int started, ended;
    struct outcome last;
};

static void on_report(void *arg, const struct report *r)
{
    struct desk *k = arg;

    k->started += r->kind == REPORT_STARTED;
    if (r->kind != REPORT_ENDED)
        return;
    k->ended++;
    k->last = r->outcome;
    k->last.error = NULL;
}

static void open_desk(struct desk *k, void (*forget)(void *data, struct pawl_attempt a))
{
    struct dispatch_options o = {.env = fixture_env(), .report = on_report, .arg = k};
    struct pawl_executor x = lab_executor(&k->lab);
    struct err e = ERR_INIT;

    x.forget = forget;
    CHECK_OK_ERR(dispatch_new(&o, &k->d, &e), &e);
    CHECK_OK_ERR(api_executor_add(k->d, &x, 1, fixture_env(), &e), &e);
}

static struct task task_of(int64_t execution, int epoch)
{
    static const struct spec spec;

    return (struct task){.execution = execution,
                         .root = execution,
                         .attempt = 1,
                         .max_attempts = 1,
                         .epoch = epoch,
                         .name = "exec::lab",
                         .spec = &spec};
}

static int room_of(struct desk *k)
{
    size_t n;

    return dispatch_lanes(k->d, &n)->begin;
}

TEST(work_whose_lease_is_lost_is_told_to_stop_and_keeps_its_slot_until_it_has)
{
    struct desk k = {0};
    struct task t = task_of(7, 1);

    open_desk(&k, NULL);
    dispatch_start(k.d, "lab", &t);
    dispatch_forget(k.d, 7, 1);
    CHECK_EQ(k.lab.cancelled, 1);
    CHECK_EQ(room_of(&k), 0);
    pawl_report_ended(k.lab.begun[0], &(struct pawl_end){.outcome = PAWL_CANCELLED});
    dispatch_turn(k.d);
    CHECK_EQ(k.ended, 0);
    CHECK_EQ(room_of(&k), 1);
    dispatch_free(k.d);
    CHECK_EQ(k.lab.freed, 1);
}

TEST(work_that_still_runs_here_is_never_taken_for_lost)
{
    struct desk k = {0};
    struct task t = task_of(7, 1), again = task_of(7, 3), other = task_of(8, 2);
    struct err e = ERR_INIT;

    open_desk(&k, NULL);
    dispatch_start(k.d, "lab", &t);
    dispatch_forget(k.d, 7, 1);
    CHECK_OK_ERR(dispatch_find(k.d, "lab", &again, &e), &e);
    dispatch_turn(k.d);
    CHECK_EQ(k.ended, 0);
    pawl_report_started(k.lab.begun[0], 0);
    pawl_report_ended(k.lab.begun[0], &(struct pawl_end){.outcome = PAWL_CANCELLED});
    dispatch_turn(k.d);
    CHECK_EQ(k.started, 1);
    CHECK_EQ(k.ended, 1);
    CHECK_EQ(k.last.kind, OUTCOME_LOST); /* nobody cancelled it: it stopped for the lease */
    CHECK_OK_ERR(dispatch_find(k.d, "lab", &other, &e), &e);
    dispatch_turn(k.d);
    CHECK_EQ(k.ended, 2);
    CHECK_EQ(k.last.kind, OUTCOME_LOST);
    CHECK_EQ(k.started, 1);
    dispatch_free(k.d);
}

TEST(what_was_forgotten_and_came_back_can_still_be_cancelled)
{
    struct desk k = {.lab = {.obeys = true}};
    struct task t = task_of(7, 1), again = task_of(7, 3);
    struct err e = ERR_INIT;

    open_desk(&k, lab_forget);
    dispatch_start(k.d, "lab", &t);
    dispatch_forget(k.d, 7, 1);
    CHECK_EQ(k.lab.forgotten, 1);
    CHECK_EQ(k.lab.cancelled, 0);
    again.cancel = true;
    CHECK_OK_ERR(dispatch_find(k.d, "lab", &again, &e), &e);
    CHECK_EQ(k.lab.cancelled, 1);
    dispatch_turn(k.d);
    CHECK_EQ(k.ended, 1);
    CHECK_EQ(k.last.kind, OUTCOME_CANCELLED);
    dispatch_free(k.d);
}

/* ---- much at once ---- */

TEST(of_a_flood_of_output_the_beginning_and_the_end_are_kept)
{
    struct lab lab = {0};
    struct pawl_executor x = lab_executor(&lab);
    struct world w = open_world(&x, NULL);
    int64_t id = put_one(&w), at = 0;
    struct pawl_log_page page = {0};
    char line[65], *text = mem_alloc(4 << 20);
    size_t len = 0;
    int i;

    UNTIL(&w, lab.nbegun == 1);
    for (i = 0; i < 50000; i++) { /* 64 bytes each */
        snprintf(line, sizeof(line), "%063d\n", i);
        pawl_report_log(lab.begun[0], line, 64);
        if (i == 100)
            step(&w); /* some of it is on its way before */
    }
    done(lab.begun[0], NULL);
    UNTIL(&w, lab.settled == 1);
    do {
        OK(pawl_log(w.p, &(struct pawl_log_place){.execution = id, .from = at}, text + len,
                    (4 << 20) - len, &page, &err));
        len += page.len;
        at = page.next;
    } while (page.len);
    CHECK_EQ(len, 1 << 20);
    CHECK(!memcmp(text + 62, "0\n", 2));
    CHECK(!memcmp(text + (8191 * 64) + 59, "8191\n", 5));
    CHECK(!memcmp(text + (8192 * 64) + 58, "41808\n", 6));
    CHECK(!memcmp(text + len - 6, "49999\n", 6));
    free(text);
    close_world(&w);
}

struct pipe_lab {
    int fds[2];
    struct pawl_attempt at;
};

static int pipe_start(void *data, const struct pawl_task *t, struct pawl_error *e)
{
    struct pipe_lab *l = data;

    (void)e;
    l->at = t->id;
    return write(l->fds[1], "x", 1) == 1 ? 0 : -PAWL_E_INTERNAL;
}

static int pipe_fd(void *data)
{
    return ((struct pipe_lab *)data)->fds[0];
}

static void pipe_turn(void *data)
{
    struct pipe_lab *l = data;
    char c;

    CHECK_EQ(read(l->fds[0], &c, 1), 1);
    done(l->at, "\"turned\"");
}

TEST(one_without_threads_is_called_when_its_descriptor_is_readable)
{
    struct pipe_lab lab;
    struct pawl_executor x = {
        .key = "lab", .data = &lab, .start = pipe_start, .fd = pipe_fd, .turn = pipe_turn};
    struct world w;
    int64_t id;

    CHECK_EQ(pipe2(lab.fds, O_CLOEXEC), 0);
    w = open_world(&x, NULL);
    id = put_one(&w);
    UNTIL(&w, status_of(w.s, id) == S_SUCCEEDED);
    CHECK_STR(get(w.s, id).result, "\"turned\"");
    close_world(&w);
    close(lab.fds[0]);
    close(lab.fds[1]);
}

/* Each attempt has a thread of its own, which says a lot and ends. */
struct crowd {
    pthread_t threads[MOST];
    int n;
};

static void *chatter(void *arg)
{
    struct pawl_attempt a = *(struct pawl_attempt *)arg;
    int i;

    free(arg);
    pawl_report_started(a, 0);
    for (i = 0; i < 200; i++)
        pawl_report_log(a, "la\n", 3);
    done(a, "\"la\"");
    pawl_report_log(a, "too late\n", 9);
    return NULL;
}

static int crowd_start(void *data, const struct pawl_task *t, struct pawl_error *e)
{
    struct crowd *c = data;
    struct pawl_attempt *a = mem_alloc(sizeof(*a));

    (void)e;
    *a = t->id;
    CHECK(c->n < MOST);
    return pthread_create(&c->threads[c->n++], NULL, chatter, a) ? -PAWL_E_REFUSED : 0;
}

static void crowd_free(void *data)
{
    struct crowd *c = data;

    while (c->n)
        pthread_join(c->threads[--c->n], NULL);
}

TEST(many_threads_may_report_at_once)
{
    struct crowd crowd = {0};
    struct pawl_executor x = {
        .key = "lab", .data = &crowd, .slots = 8, .start = crowd_start, .free = crowd_free};
    struct world w = open_world(&x, "executors: {process: {enabled: false}}\nworker: {slots: 8}\n");
    struct pawl_job jobs[MOST];
    int i;

    for (i = 0; i < MOST; i++)
        jobs[i] = (struct pawl_job){.name = "exec::lab", .lane = "lab"};
    OK(pawl_submit(w.p, jobs, MOST, &err));
    UNTIL(&w,
          sql_number(w.s, "SELECT count(*) FROM executions WHERE finished_at IS NOT NULL") == MOST);
    CHECK_EQ(sql_number(w.s, "SELECT sum(raw) FROM attempt_logs"), MOST * 600);
    close_world(&w);
}
