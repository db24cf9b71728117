/* harness.h - the test framework. A test is a function that registers itself; each runs in a
 * process and a directory of its own, under a time limit, and whatever it leaves behind is ended
 * and removed.
 *
 *     TEST(a_task_that_fails_three_times_is_dead)
 *     {
 *         CHECK_EQ(attempts, 3);
 *     }
 *
 * Tests run once a database: PAWL_TEST_DB says which (see test_db). It must not know what Pawl is.
 */
#ifndef TESTS_HARNESS_H
#define TESTS_HARNESS_H

#include <stdbool.h>

struct test {
    const char *name;
    void (*run)(void);
    int seconds;
    struct test *next;
};

void test_register(struct test *test);

/* Only so that a hang ends: a busy machine may stand still for a while, and a test waits it out. */
#define TEST_SECONDS 300
#define TEST(name)   TEST_SLOW(name, TEST_SECONDS)

/* A test that may take longer than others. Sanitizers are given four times as long. */
#define TEST_SLOW(name, seconds)                                    \
    static void test_##name(void);                                  \
    __attribute__((constructor)) static void register_##name(void)  \
    {                                                               \
        static struct test test = {#name, test_##name, seconds, 0}; \
        test_register(&test);                                       \
    }                                                               \
    static void test_##name(void)

/* Once in a file, at file level: these tests use no database, so run them once only. */
#define TEST_NO_DB                                           \
    __attribute__((constructor)) static void use_no_db(void) \
    {                                                        \
        test_without_db();                                   \
    }                                                        \
    _Static_assert(1, "")

/* Once in a file, at file level: these tests start threads, so run them under the thread sanitizer
 * too. Only a word for the Makefile and tests/run, which look for it. */
#define TEST_THREADED    _Static_assert(1, "")

/* Once in a file, at file level: these tests are about one database, so run them on that alone:
 * TEST_ONLY_DB(postgres). A word for tests/run, too. */
#define TEST_ONLY_DB(db) _Static_assert(1, "")

/* Once in a file, at file level: what these tests do is the same on both databases as far as the
 * address sanitizer can see, and takes long, so show it to that on one alone: TEST_ASAN_DB(sqlite).
 * `make test-all` shows it on both. A word for tests/run, too. */
#define TEST_ASAN_DB(db) _Static_assert(1, "")

/* Once in a file, at file level: run these tests once more with PAWL_TEST_POLL=1, which has their
 * engines take every job through the outbox. A word for tests/run, in .bats files as a comment. */
#define TEST_POLL_TOO    _Static_assert(1, "")

/* Once in a file, at file level: run these tests once more on PostgreSQL with PAWL_TEST_LOOPS=3, so
 * many loops in each of their engines. A word for tests/run, too. */
#define TEST_LOOPS_TOO   _Static_assert(1, "")

/* Once in a file, at file level: these tests take long, so start them first. A word for tests/run,
 * too. */
#define TEST_LONG        _Static_assert(1, "")

void test_without_db(void);

/* A check that does not hold says so and ends the test. It may stand in any function and any
 * thread. */
#define CHECK(cond)                                     \
    do {                                                \
        if (!(cond))                                    \
            test_fail(__FILE__, __LINE__, "%s", #cond); \
    } while (0)
#define CHECK_EQ(a, b) \
    test_check_eq(__FILE__, __LINE__, #a " == " #b, (long long)(a), (long long)(b))
#define CHECK_STR(a, b)            test_check_str(__FILE__, __LINE__, #a " == " #b, a, b)
#define CHECK_OK(rc_expr)          test_check_ok(__FILE__, __LINE__, #rc_expr, rc_expr, 0)
/* The same with the sentence that explains the failure: err has a member msg. */
#define CHECK_OK_ERR(rc_expr, err) test_check_ok(__FILE__, __LINE__, #rc_expr, rc_expr, (err)->msg)

/* Ends the test as neither passed nor failed; for what this machine lacks. */
#define SKIP(reason)               test_skip(reason)

/* For checks of one's own. */
_Noreturn void test_fail(const char *file, int line, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

void test_check_eq(const char *file, int line, const char *expr, long long a, long long b);
void test_check_str(const char *file, int line, const char *expr, const char *a, const char *b);
void test_check_ok(const char *file, int line, const char *expr, int rc, const char *msg);
_Noreturn void test_skip(const char *reason);

/* Whether this is the build with the address sanitizer, which is some times slower. */
#ifdef __SANITIZE_ADDRESS__
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

const char *test_db(void);  /* "sqlite" or "postgres" */
const char *test_dir(void); /* this test's empty directory; removed after it, whatever happens */
bool test_full(void);       /* make test-all: take the time to try more */

#endif
