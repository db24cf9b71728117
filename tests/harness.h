/* harness.h - the test framework. A test is a function that registers itself. Each runs in its
 * own process and directory, under a time limit; the processes and files it leaves behind are ended
 * and removed.
 *
 *     TEST(task_with_two_retries_is_attempted_three_times)
 *     {
 *         CHECK_EQ(attempts, 3);
 *     }
 *
 * Tests run once per database, which PAWL_TEST_DB names (see test_db). The framework must not know
 * anything about Pawl. */
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

/* A limit for hangs only: a busy machine may stall, and the tests must survive that. */
#define TEST_SECONDS 300
#define TEST(name)   TEST_SLOW(name, TEST_SECONDS)

/* A test that may take longer than others. With sanitizers the limit is four times as long. */
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
 * too. Only a mark that the Makefile and tests/run search for. */
#define TEST_THREADED    _Static_assert(1, "")

/* Once in a file, at file level: these tests are about one database, so run them only on that one:
 * TEST_ONLY_DB(postgres). A mark for tests/run, too. */
#define TEST_ONLY_DB(db) _Static_assert(1, "")

/* Once in a file, at file level: these tests are slow, and for the address sanitizer they are equal
 * on both databases, so run them with it on one only: TEST_ASAN_DB(sqlite). `make test-all` runs
 * them on both. A mark for tests/run, too. */
#define TEST_ASAN_DB(db) _Static_assert(1, "")

/* Once in a file, at file level: run these tests a second time with PAWL_TEST_POLL=1, which makes
 * their engines claim every job through the outbox. A mark for tests/run; .bats files have it in a
 * comment. */
#define TEST_POLL_TOO    _Static_assert(1, "")

/* Once in a file, at file level: run these tests a second time on PostgreSQL with
 * PAWL_TEST_LOOPS=3, the number of loops in each of their engines. A mark for tests/run, too. */
#define TEST_LOOPS_TOO   _Static_assert(1, "")

/* Once in a file, at file level: these tests take long, so start them first. A mark for tests/run,
 * too. */
#define TEST_LONG        _Static_assert(1, "")

void test_without_db(void);

/* A check that fails prints the failure and ends the test. It may be used in any function and any
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
/* Like CHECK_OK, and prints err->msg, the sentence that explains the failure. */
#define CHECK_OK_ERR(rc_expr, err) test_check_ok(__FILE__, __LINE__, #rc_expr, rc_expr, (err)->msg)

/* Ends the test as neither passed nor failed, because this machine lacks something. */
#define SKIP(reason)               test_skip(reason)

/* For checks written in a test file. */
_Noreturn void test_fail(const char *file, int line, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

void test_check_eq(const char *file, int line, const char *expr, long long a, long long b);
void test_check_str(const char *file, int line, const char *expr, const char *a, const char *b);
void test_check_ok(const char *file, int line, const char *expr, int rc, const char *msg);
_Noreturn void test_skip(const char *reason);

/* Whether this is the build with the address sanitizer, which is several times slower. */
#ifdef __SANITIZE_ADDRESS__
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

const char *test_db(void);  /* "sqlite" or "postgres" */
const char *test_dir(void); /* this test's empty directory; removed after the test in any case */
bool test_full(void);       /* make test-all: run the longer variant */

#endif
