/* test_embedding.c - features for embedders: workflows without files, waiting for the end of an
 * execution, and several engines in one process. */
#include "api/api.h"
#include "api_fixture.h"
#include "base/env.h"
#include "base/text.h"
#include "engine_fixture.h"
#include "sql_submission_fixture.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>

TEST_THREADED;

static void close_all(struct pawl *p, struct store *s)
{
    pawl_close(p);
    verify_clean(s);
    store_close(&s);
}

TEST(workflow_given_as_text_is_submitted)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    const char *const params[] = {"n=7", NULL};
    struct pawl_job job = {.yaml = ONE_TASK, .params = params};

    OK(pawl_submit(p, &job, 1, &api_err));
    CHECK_STR(get(s, job.id).input, "{\"n\":7}");
    run_workflows(s, "");
    CHECK_EQ(status_of(s, job.id), S_SUCCEEDED);
    close_all(p, s);
}

TEST(text_that_is_not_a_workflow_is_refused_with_the_location_of_the_error)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    struct pawl_job wrong = {.yaml = "name: w\ntasks: {a: {rum: x}}\n"},
                    nested = {.yaml = "name: w\ntasks: {a: {workflow: other.flow.yaml}}\n"};

    CHECK_EQ(pawl_submit(p, &wrong, 1, &api_err), -PAWL_E_INVALID);
    CHECK(strstr(api_err.message, "workflow:2:"));
    CHECK(strstr(api_err.message, "rum"));
    CHECK_EQ(pawl_submit(p, &nested, 1, &api_err), -PAWL_E_INVALID);
    CHECK_EQ(pawl_apply_text(p, wrong.yaml, NULL, NULL, &api_err), -PAWL_E_INVALID);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions"), 0);
    close_all(p, s);
}

TEST(workflow_text_is_applied_under_its_name)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    struct pawl_applied a = {0};
    struct pawl_job job = {.applied = "w"};

    OK(pawl_apply_text(p, ONE_TASK, "me", &a, &api_err));
    CHECK_STR(a.definition.name, "w");
    CHECK(!a.unchanged);
    OK(pawl_apply_text(p, ONE_TASK, "me", &a, &api_err));
    CHECK(a.unchanged);
    OK(pawl_submit(p, &job, 1, &api_err));
    CHECK_EQ(status_of(s, job.id), S_RUNNING);
    close_all(p, s);
}

/* ---- waiting ---- */

TEST(wait_returns_when_its_timeout_has_passed)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    int64_t id = submit(s, "exec::x");
    const char *status = NULL;

    OK(pawl_wait(p, id, 20, &status, &api_err));
    CHECK_STR(status, "ready");
    OK(pawl_wait(p, id, 0, &status, &api_err));
    CHECK_EQ(pawl_wait(p, id + 1, 20, &status, &api_err), -PAWL_E_NOT_FOUND);
    cancel(s, id);
    OK(pawl_wait(p, id, -1, &status, &api_err));
    CHECK_STR(status, "cancelled");
    close_all(p, s);
}

static void *settle_later(void *arg)
{
    struct store *s = fixture_store();

    clock_sleep_us(50000);
    settle_ok(s, *(struct held_job *)arg);
    store_close(&s);
    return NULL;
}

TEST(wait_without_a_timeout_returns_when_the_job_ends)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    int64_t id = submit(s, "exec::x");
    struct held_job j = claim_job(s, 7);
    const char *status = NULL;
    pthread_t thread;

    CHECK_OK(pthread_create(&thread, NULL, settle_later, &j));
    OK(pawl_wait(p, id, -1, &status, &api_err));
    CHECK_STR(status, "succeeded");
    pthread_join(thread, NULL);
    close_all(p, s);
}

/* A driver in front of the real one, which counts the transactions of a handle. */
static struct db_driver spy;
static const struct db_driver *real_driver;
static int begun;

static int count_begin(struct db *db, enum tx_kind kind, struct err *err)
{
    begun++;
    return real_driver->begin(db, kind, err);
}

static void count_transactions(struct pawl *p)
{
    struct db *db = store_db(p->store);

    real_driver = db->driver;
    spy = *real_driver;
    spy.begin = count_begin;
    db->driver = &spy;
}

TEST(wait_reads_the_status_only_at_its_start_and_when_it_is_woken)
{
    enum { WAITS = 6 };
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    int64_t id = submit(s, "exec::x"), start = clock_boot_us();
    const char *status = NULL;
    pthread_t thread;
    int i;

    OK(pawl_wait(p, id, 0, &status, &api_err)); /* connects */
    count_transactions(p);
    OK(pawl_wait(p, id, 1200, &status, &api_err));
    CHECK(begun <= 3); /* the first read, the last, and one for a notification from before */
    CHECK_EQ(cancel(s, id), 0);
    for (i = 0; i < WAITS; i++) {
        struct held_job j;

        id = submit(s, "exec::x");
        j = claim_job(s, 7);
        CHECK_OK(pthread_create(&thread, NULL, settle_later, &j));
        OK(pawl_wait(p, id, -1, &status, &api_err));
        CHECK_STR(status, "succeeded");
        pthread_join(thread, NULL);
    }
    CHECK(clock_boot_us() - start < WAITS * 4 * SECOND); /* without a wake-up, five seconds each */
    store_db(p->store)->driver = real_driver;
    close_all(p, s);
}

TEST(wait_for_a_sql_submission_reports_whether_it_is_pending_or_refused)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    const char *status = NULL;
    int64_t id, bad;

    apply(s, ONE_TASK);
    id = sql_submit(s, (struct sql_call){0});
    OK(pawl_wait(p, id, 20, &status, &api_err));
    CHECK_STR(status, "pending");
    take_submissions(s);
    run_workflows(s, "");
    OK(pawl_wait(p, id, -1, &status, &api_err));
    CHECK_STR(status, "succeeded");
    bad = sql_submit(s, (struct sql_call){0});
    sql_run(s, "UPDATE submissions SET definition = 'gone' WHERE execution IS NULL");
    take_submissions(s);
    CHECK_EQ(pawl_wait(p, bad, -1, &status, &api_err), -PAWL_E_NOT_FOUND);
    CHECK(strstr(api_err.message, "was refused"));
    close_all(p, s);
}

/* ---- several engines in one process ---- */

static int add_one(struct pawl_call *c, void *arg)
{
    (void)c;
    __atomic_add_fetch((int *)arg, 1, __ATOMIC_RELAXED);
    return 0;
}

/* Returns the number of threads besides this one; checks that each of them blocks SIGTERM and
 * SIGINT. */
static int threads_blocking_signals(void)
{
    DIR *dir = opendir("/proc/self/task");
    struct dirent *entry;
    int n = 0;

    CHECK(dir);
    while ((entry = readdir(dir))) {
        char path[300], line[200];
        int64_t thread;
        unsigned long blocked = 0, wanted = 1UL << (SIGTERM - 1) | 1UL << (SIGINT - 1);
        FILE *f;

        if (text_parse_i64(entry->d_name, &thread) || thread == getpid())
            continue;
        snprintf(path, sizeof(path), "/proc/self/task/%s/status", entry->d_name);
        if (!(f = fopen(path, "r")))
            continue; /* the thread has just ended */
        while (fgets(line, sizeof(line), f))
            if (sscanf(line, "SigBlk: %lx", &blocked) == 1)
                CHECK_EQ(blocked & wanted, wanted);
        fclose(f);
        n++;
    }
    closedir(dir);
    return n;
}

TEST(one_process_can_run_several_engines_on_several_databases)
{
    struct pawl *p[3];
    struct pawl_engine *engines[3];
    struct store *s = fixture_store();
    char other[5000];
    int calls[3] = {0}, i, left;

    snprintf(other, sizeof(other), "sqlite:%s/other.db", test_dir());
    for (i = 0; i < 3; i++) {
        struct pawl_engine_options eo = {.state = kit_state()};
        struct pawl_job job = {.name = "exec::x", .lane = "function:add_one"};

        if (i < 2)
            p[i] = open_pawl();
        else
            OK(pawl_open(&(struct pawl_options){.url = other}, &p[i], &api_err));
        OK(pawl_engine_open(p[i], &eo, &engines[i], &api_err));
        OK(pawl_engine_register(engines[i], "add_one", add_one, &calls[i], &api_err));
        OK(pawl_submit(p[i], &job, 1, &api_err));
    }
    do
        for (left = 0, i = 0; i < 3; i++) {
            bool drained = false;

            OK(pawl_engine_step(engines[i], 10, &api_err));
            OK(pawl_engine_drained(engines[i], &drained, &api_err));
            left += !drained;
        }
    while (left);
    CHECK_EQ(calls[0] + calls[1],
             2); /* the first two share a database: either may have run both jobs */
    CHECK_EQ(calls[2], 1);
    CHECK(threads_blocking_signals() > 0);
    for (i = 0; i < 3; i++) {
        pawl_engine_close(engines[i]);
        pawl_close(p[i]);
    }
    verify_clean(s);
    store_close(&s);
}
