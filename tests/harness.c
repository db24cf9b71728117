/* harness.c - runs the tests of one program: test_x [--list] [name...]
 *
 * The parent forks a child for each test; it starts no thread and opens no database itself. It is
 * the subreaper of all processes that a test starts, so that a process that left the test's group
 * and lost its parent is still found, reaped when it ends, and killed when the test is over. */
#include "harness.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <ftw.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZER "asan, "
#define PATIENCE  4
#elif defined(__SANITIZE_THREAD__)
#define SANITIZER "tsan, "
#define PATIENCE  4
#else
#define SANITIZER ""
#define PATIENCE  1
#endif

#define SANITIZER_EXIT 66     /* the exit status that tests/run sets for the sanitizers */
#define OUTPUT_MAX     100000 /* the last bytes of a failed test's output are shown */

enum outcome { PASSED, FAILED, SKIPPED, OUTCOME_COUNT };

/* The child's report to its parent, in addition to its exit status. In shared memory. */
struct verdict {
    pid_t child;
    bool returned; /* the test function has returned; an early exit(0) is not a success */
    bool skipped;
    char reason[200];
};

static struct test *tests, **tests_end = &tests;
static bool no_db;
static const char *program;
static char dir[200];
static struct verdict *verdict;

void test_register(struct test *test)
{
    *tests_end = test;
    tests_end = &test->next;
}

void test_without_db(void)
{
    no_db = true;
}

const char *test_db(void)
{
    const char *db = getenv("PAWL_TEST_DB");
    return db && *db ? db : "sqlite";
}

const char *test_dir(void)
{
    return dir;
}

bool test_full(void)
{
    const char *full = getenv("PAWL_TEST_FULL");
    return full && *full && strcmp(full, "0") != 0;
}

/* --- in the child -------------------------------------------------------------------------------
 */

void test_fail(const char *file, int line, const char *fmt, ...)
{
    va_list ap;

    fflush(NULL);
    printf("%s:%d: ", file, line);
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    printf("\n");
    fflush(NULL);
    _exit(1); /* not exit: this may be any thread, in any state */
}

void test_check_eq(const char *file, int line, const char *expr, long long a, long long b)
{
    if (a != b)
        test_fail(file, line, "%s\n    left:  %lld\n    right: %lld", expr, a, b);
}

void test_check_str(const char *file, int line, const char *expr, const char *a, const char *b)
{
    if (a && b ? strcmp(a, b) != 0 : a != b)
        test_fail(file, line, "%s\n    left:  %s\n    right: %s", expr, a ? a : "(null)",
                  b ? b : "(null)");
}

void test_check_ok(const char *file, int line, const char *expr, int rc, const char *msg)
{
    if (rc)
        test_fail(file, line, "%s is %d%s%s", expr, rc, msg ? ": " : "", msg ? msg : "");
}

void test_skip(const char *reason)
{
    snprintf(verdict->reason, sizeof(verdict->reason), "%s", reason);
    verdict->skipped = true;
    fflush(NULL);
    _exit(0);
}

static _Noreturn void run_child(const struct test *test, FILE *output, const sigset_t *signals)
{
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(null, STDIN_FILENO);
    dup2(fileno(output), STDOUT_FILENO);
    dup2(fileno(output), STDERR_FILENO);
    fclose(output);
    sigprocmask(SIG_UNBLOCK, signals, NULL);
    verdict->child = getpid();
    test->run();
    if (getpid() != verdict->child) /* a forked process that the test forgot to end */
        test_fail(__FILE__, __LINE__, "a child process returned from the test");
    verdict->returned = true;
    exit(0); /* not _exit: the leak checker runs now */
}

/* --- in the parent ------------------------------------------------------------------------------
 */

static double now(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Waits until the child has ended, without reaping it, so that no other process can get its pid or
 * the id of its group. Meanwhile reaps the orphans, as init would. Returns 0, or the signal that
 * ended the wait; SIGALRM stands for the time limit. */
static int wait_for(pid_t child, double deadline, const sigset_t *signals)
{
    for (;;) {
        siginfo_t info = {0};
        while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid) {
            if (info.si_pid == child)
                return 0;
            waitpid(info.si_pid, NULL, 0);
            info.si_pid = 0;
        }
        double left = deadline - now();
        if (left <= 0)
            return SIGALRM;
        struct timespec ts = {(time_t)left, (long)((left - (double)(time_t)left) * 1e9)};
        int sig = sigtimedwait(signals, NULL, &ts);
        if (sig > 0 && sig != SIGCHLD)
            return sig;
    }
}

/* Kills all children; their children become children of this process. False if there are none or
 * they can't be listed. */
static bool kill_children(void)
{
    char path[64];
    int pid, n = 0;

    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)getpid(), (int)getpid());
    FILE *f = fopen(path, "re");
    if (!f)
        return false;
    while (fscanf(f, "%d", &pid) == 1) {
        kill(pid, SIGKILL);
        n++;
    }
    fclose(f);
    return n > 0;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    remove(path);
    return 0;
}

static void print_output(FILE *output)
{
    char line[4096];

    if (fseek(output, -OUTPUT_MAX, SEEK_END) != 0)
        rewind(output);
    while (fgets(line, sizeof(line), output))
        printf("    %s%s", line, strchr(line, '\n') ? "" : "\n");
}

/* A sentence that explains why a test failed, or "" if it did not. */
static const char *explain(int sig, int status, int seconds)
{
    static char why[100] = "";

    why[0] = '\0';
    if (sig)
        snprintf(why, sizeof(why), "not done after %d s", seconds);
    else if (WIFSIGNALED(status))
        snprintf(why, sizeof(why), "killed by %s", strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status) == SANITIZER_EXIT && *SANITIZER)
        snprintf(why, sizeof(why), "the sanitizer complained");
    else if (WEXITSTATUS(status) > 1)
        snprintf(why, sizeof(why), "exited with %d", WEXITSTATUS(status));
    else if (WEXITSTATUS(status) == 1)
        snprintf(why, sizeof(why), "see below");
    else if (!verdict->returned && !verdict->skipped)
        snprintf(why, sizeof(why), "it called exit(0)");
    return why;
}

static enum outcome report(const struct test *test, const char *why, double seconds, FILE *output)
{
    const char *db = no_db ? "" : test_db(), *comma = no_db ? "" : ", ";
    const char *variant = getenv("PAWL_TEST_POLL")    ? "poll, "
                          : getenv("PAWL_TEST_LOOPS") ? "loops, "
                                                      : SANITIZER;

    if (*why) {
        printf("FAIL %s: %s (%s%s%s%.2f s): %s\n", program, test->name, db, comma, variant, seconds,
               why);
        print_output(output);
        return FAILED;
    }
    if (verdict->skipped) {
        printf("skip %s: %s (%s%s%s%s)\n", program, test->name, db, comma, variant,
               verdict->reason);
        return SKIPPED;
    }
    printf("ok %s: %s (%s%s%s%.2f s)\n", program, test->name, db, comma, variant, seconds);
    return PASSED;
}

static enum outcome run_test(const struct test *test, const sigset_t *signals)
{
    int seconds = test->seconds * PATIENCE, status = 0;
    double start = now();
    FILE *output = tmpfile();
    const char *tmp = getenv("TMPDIR");

    snprintf(dir, sizeof(dir), "%s/pawl-test.XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!output || !mkdtemp(dir)) {
        perror(dir);
        exit(2);
    }
    memset(verdict, 0, sizeof(*verdict));
    fflush(NULL);
    pid_t child = fork();
    if (child < 0) {
        perror("fork");
        exit(2);
    }
    if (child == 0)
        run_child(test, output, signals);
    setpgid(child, child); /* parent and child both call it, to avoid a race */

    int sig = wait_for(child, start + seconds, signals);
    kill(-child, SIGKILL);
    waitpid(child, &status, 0);
    while (kill_children())
        waitpid(-1, NULL, 0);
    nftw(dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
    if (sig && sig != SIGALRM) { /* this process was asked to end, and everything is cleaned up */
        signal(sig, SIG_DFL);
        raise(sig);
        sigprocmask(SIG_UNBLOCK, signals, NULL);
    }
    enum outcome o = report(test, explain(sig, status, seconds), now() - start, output);
    fclose(output);
    fflush(stdout);
    return o;
}

static bool wanted(const struct test *test, char **names)
{
    if (!*names)
        return true;
    for (; *names; names++)
        if (fnmatch(*names, test->name, 0) == 0)
            return true;
    return false;
}

/* Weak, because benchmarks define their own main and may still use the rest. */
__attribute__((weak)) int main(int argc, char **argv)
{
    int count[OUTCOME_COUNT] = {0}, total = 0;
    bool list = argc > 1 && strcmp(argv[1], "--list") == 0;
    char **names = argv + 1 + list;
    sigset_t signals;

    program = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
    verdict =
        mmap(NULL, sizeof(*verdict), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (verdict == MAP_FAILED) {
        perror("mmap");
        return 2;
    }
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_PDEATHSIG, SIGTERM); /* if tests/run is killed, end too */
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    sigprocmask(SIG_BLOCK, &signals, NULL);

    for (const struct test *test = tests; test; test = test->next) {
        if (!wanted(test, names))
            continue;
        total++;
        if (list)
            puts(test->name);
        else
            count[run_test(test, &signals)]++;
    }
    if (total == 0) {
        fprintf(stderr, "%s: no such test\n", program);
        return 2;
    }
    if (!list)
        printf("%d passed, %d failed, %d skipped\n", count[PASSED], count[FAILED], count[SKIPPED]);
    return count[FAILED] > 0;
}
