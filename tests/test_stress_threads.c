/* test_stress_threads.c - threads with one store each do not interfere with each other. */
#include "fixture.h"

#include <pthread.h>

TEST_THREADED;

#define THREADS          4
#define JOBS_OF_A_THREAD 30

/* Each thread has its own store; the threads share the process, and with it the global state of the
 * drivers. */
static void *work_in_a_thread(void *arg)
{
    int64_t me = (int64_t)(intptr_t)arg;
    struct store *s = fixture_store();
    struct held_job jobs[3];
    size_t n, i, left;

    for (i = 0; i < JOBS_OF_A_THREAD; i++)
        submit(s, "x");
    for (left = JOBS_OF_A_THREAD; left > 0; left -= n) {
        n = claim_many(s, me, left < 3 ? left : 3, jobs);
        CHECK(n > 0); /* there are as many jobs as all threads want together, and each thread
                         submits its share first */
        for (i = 0; i < n; i++)
            CHECK_EQ(settle_ok(s, jobs[i]), 0);
    }
    store_close(&s);
    return NULL;
}

TEST(threads_with_one_store_each_do_not_interfere)
{
    pthread_t threads[THREADS];
    struct store *s;
    int i;

    fixture_url();
    for (i = 0; i < THREADS; i++)
        CHECK_OK(pthread_create(&threads[i], NULL, work_in_a_thread, (void *)(intptr_t)(i + 1)));
    for (i = 0; i < THREADS; i++)
        CHECK_OK(pthread_join(threads[i], NULL));
    s = fixture_store();
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE status = 4 AND attempts = 1"),
             THREADS * JOBS_OF_A_THREAD);
    verify_clean(s);
    store_close(&s);
}
