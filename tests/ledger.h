/* ledger.h - the oracle outside of the database: each task of a test writes a line when it starts
 * and one when it ends, and holds a lock for its execution in between. Lines are appended whole and
 * in order, so the file records what really ran, independently of the database:
 *
 *     EXECUTION ATTEMPT begin|end|overlap
 *
 * A task that finds the lock of its execution held writes `overlap`: two processes run it. */
#ifndef TESTS_LEDGER_H
#define TESTS_LEDGER_H

#include "base/mem.h"
#include "engine_fixture.h"
#include "exec/attempt/attempt.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>

struct ledger_line {
    int64_t execution;
    int attempt;
    char what; /* b, e, o */
};

struct ledger {
    VEC(struct ledger_line) lines;
};

static inline const char *ledger_file(const char *name)
{
    static char path[4][4096];
    static int at;

    at = (at + 1) % 4;
    snprintf(path[at], sizeof(path[at]), "%s/%s", test_dir(), name);
    return path[at];
}

/* ---- writing ---- */

static inline void ledger_write(int64_t execution, int attempt, const char *what)
{
    char line[80], path[4200];
    int n = snprintf(line, sizeof(line), "%lld %d %s\n", (long long)execution, attempt, what), fd;

    snprintf(path, sizeof(path), "%s/ledger", test_dir());
    fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    CHECK(fd >= 0);
    CHECK_EQ(write(fd, line, (size_t)n), n);
    close(fd);
}

/* Writes that the execution starts. Returns the handle that holds its lock. */
static inline int ledger_begin(int64_t execution, int attempt)
{
    char path[4200];
    int fd;

    snprintf(path, sizeof(path), "%s/lock.%lld", test_dir(), (long long)execution);
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    CHECK(fd >= 0);
    ledger_write(execution, attempt, "begin");
    if (flock(fd, LOCK_EX | LOCK_NB))
        ledger_write(execution, attempt, "overlap");
    return fd;
}

static inline void ledger_end(int64_t execution, int attempt, int lock)
{
    ledger_write(execution, attempt, "end");
    close(lock);
}

/* A function whose input selects its behaviour: "ok" succeeds at once, "once" fails the first time,
 * "wait" runs until the file `go` exists or it is cancelled. */
static inline int ledger_function(struct function_call *c, void *arg)
{
    const char *how = c->input ? c->input : "\"ok\"";
    bool cancelled = false;
    char go[4200];
    int lock = ledger_begin(c->execution, c->attempt);

    (void)arg;
    snprintf(go, sizeof(go), "%s/go", test_dir());
    while (!strcmp(how, "\"wait\"") && access(go, F_OK) && !(cancelled = c->ops->cancelled(c)))
        usleep(1000);
    ledger_end(c->execution, c->attempt, lock);
    if (cancelled || (!strcmp(how, "\"once\"") && c->attempt == 1)) {
        c->ops->fail(c, cancelled ? "it was asked to stop" : "the first time it fails");
        return 1;
    }
    return 0;
}

/* ledger_function as a command; its argument is the input. */
static inline const char *ledger_script(void)
{
    static const char text[] =
        "say() { echo \"$PAWL_EXECUTION_ID $PAWL_ATTEMPT $1\" >>\"$dir/ledger\"; }\n"
        "exec 9>>\"$dir/lock.$PAWL_EXECUTION_ID\"\n"
        "say begin\n"
        "flock -n 9 || say overlap\n"
        "if [ $1 = wait ]; then while [ ! -e \"$dir/go\" ]; do sleep 0.02; done; fi\n"
        "if [ $1 = sleep ]; then sleep 1000; fi\n"
        "say end\n"
        "[ $1 != once ] || [ $PAWL_ATTEMPT != 1 ]\n";
    const char *path = ledger_file("task.sh");
    FILE *f;

    if (access(path, F_OK) == 0)
        return path;
    CHECK((f = fopen(path, "we")) != NULL);
    fprintf(f, "dir=%s\n%s", test_dir(), text);
    CHECK_OK(fclose(f));
    return path;
}

/* ---- jobs that write the ledger ---- */

#define LEDGER_RETRY "\"retry\":{\"delay\":1000,\"jitter\":0}"

/* Keeps a text until the test ends. */
static inline const char *ledger_keep(char *text)
{
    static struct arena texts;
    const char *kept = arena_strdup(&texts, text);

    free(text);
    return kept;
}

static inline struct submission ledger_job(bool command, const char *how, int max_attempts)
{
    struct submission s = {.kind = KIND_EXEC,
                           .name = "exec::test",
                           .lane = command ? "process" : "function:ledger",
                           .task_index = -1,
                           .max_attempts = max_attempts,
                           .input = ledger_keep(mem_printf("\"%s\"", how))};

    s.spec = command
                 ? ledger_keep(mem_printf("{\"argv\":[\"/bin/sh\",\"%s\",\"%s\"]," LEDGER_RETRY "}",
                                          ledger_script(), how))
                 : "{" LEDGER_RETRY "}";
    return s;
}

static const struct kit_function ledger_functions[] = {{"ledger", ledger_function, NULL},
                                                       {NULL, NULL, NULL}};

static inline void ledger_go(void)
{
    int fd = open(ledger_file("go"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    CHECK(fd >= 0);
    close(fd);
}

/* ---- reading ---- */

static inline void ledger_read(struct ledger *l)
{
    FILE *f = fopen(ledger_file("ledger"), "re");
    char what[20];
    long long execution;
    int attempt;

    l->lines.n = 0;
    while (f && fscanf(f, "%lld %d %19s", &execution, &attempt, what) == 3)
        *vec_add(&l->lines) = (struct ledger_line){execution, attempt, what[0]};
    if (f)
        fclose(f);
}

/* The number of lines of that kind for an execution; attempt 0 counts all its attempts. */
static inline int ledger_count(const struct ledger *l, int64_t execution, int attempt, char what)
{
    size_t i;
    int n = 0;

    for (i = 0; i < l->lines.n; i++) {
        const struct ledger_line *line = &l->lines.at[i];

        n += line->execution == execution && line->what == what &&
             (!attempt || line->attempt == attempt);
    }
    return n;
}

/* Reads the ledger and returns how often the execution was started. */
static inline int ledger_begun(int64_t execution)
{
    struct ledger l = {0};
    int n;

    ledger_read(&l);
    n = ledger_count(&l, execution, 0, 'b');
    vec_release(&l.lines);
    return n;
}

/* Every line agrees with the database's record of its execution, and with the lines before it. */
static inline void ledger_check_line(const struct ledger *l, size_t nth, const struct execution *e)
{
    const struct ledger_line *line = &l->lines.at[nth];
    size_t i;

    if (line->what == 'o')
        test_fail(__FILE__, __LINE__, "attempt %d of %lld began beside another", line->attempt,
                  (long long)line->execution);
    CHECK(line->attempt >= 1 && line->attempt <= e->attempts);
    CHECK_EQ(ledger_count(l, e->id, line->attempt, line->what), 1);
    if (line->what == 'e')
        CHECK_EQ(ledger_count(l, e->id, line->attempt, 'b'), 1);
    for (i = 0; i < nth; i++) /* an older attempt writes nothing after a newer one */
        CHECK(l->lines.at[i].execution != e->id || l->lines.at[i].attempt <= line->attempt);
}

/* Checks one execution: it has ended, and if it succeeded, its last attempt ran to its end. */
static inline void ledger_check(struct store *s, int64_t id)
{
    struct execution e = get(s, id);
    struct ledger l = {0};
    size_t i;

    ledger_read(&l);
    CHECK(status_is_terminal(e.status));
    CHECK(ledger_count(&l, id, 0, 'b') <= e.attempts);
    CHECK(e.attempts <= e.max_attempts);
    for (i = 0; i < l.lines.n; i++)
        if (l.lines.at[i].execution == id)
            ledger_check_line(&l, i, &e);
    if (e.status == S_SUCCEEDED)
        CHECK_EQ(ledger_count(&l, id, e.attempts, 'e'), 1);
    vec_release(&l.lines);
}

/* Starts with an empty ledger. */
static inline void ledger_clear(void)
{
    unlink(ledger_file("ledger"));
    unlink(ledger_file("go"));
}

/* ---- leftovers ---- */

static inline bool ledger_is_ours(int pid)
{
    char path[64], text[65536], *p;
    bool key = false, dir = false;
    ssize_t n;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/environ", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    n = read(fd, text, sizeof(text) - 1);
    close(fd);
    text[n > 0 ? n : 0] = 0;
    for (p = text; n > 0 && p < text + n; p += strlen(p) + 1) {
        key |= !strncmp(p, "PAWL_ATTEMPT_KEY=", 17);
        dir |= !strncmp(p, "PAWL_OUTPUT=", 12) && strstr(p, test_dir());
    }
    return key && dir;
}

/* Processes of this test's attempts. */
static inline int ledger_processes(void)
{
    DIR *d = opendir("/proc");
    struct dirent *entry;
    int n = 0;

    CHECK(d != NULL);
    while ((entry = readdir(d)))
        if (isdigit((unsigned char)entry->d_name[0]))
            n += ledger_is_ours((int)strtol(entry->d_name, NULL, 10));
    closedir(d);
    return n;
}

/* Calls `each` for every attempt folder in the state folder, and returns the sum of its results. */
static inline int ledger_each_in(const char *attempts_folder,
                                 int (*each)(int at, int64_t execution, int attempt, int64_t arg),
                                 int64_t arg)
{
    int dir = open(attempts_folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), n = 0, attempt;
    DIR *d = dir < 0 ? NULL : fdopendir(dir);
    struct dirent *entry;
    int64_t execution;

    while (d && (entry = readdir(d)))
        if (attempt_parse_name(entry->d_name, &execution, &attempt)) {
            int at = attempt_open_folder(dir, execution, attempt);

            if (at < 0)
                continue; /* just removed */
            n += each(at, execution, attempt, arg);
            close(at);
        }
    if (d)
        closedir(d);
    return n;
}

static inline int ledger_each(int (*each)(int at, int64_t execution, int attempt, int64_t arg),
                              int64_t arg)
{
    DIR *d = opendir(kit_state());
    struct dirent *entry;
    char path[4500];
    int n = 0;

    while (d && (entry = readdir(d))) {
        snprintf(path, sizeof(path), "%s/%s", kit_state(), entry->d_name);
        n += entry->d_name[0] == '.' ? 0 : ledger_each_in(path, each, arg);
    }
    if (d)
        closedir(d);
    return n;
}

static inline int ledger_held_at(int at, int64_t execution, int attempt, int64_t arg)
{
    (void)execution;
    (void)attempt;
    (void)arg;
    return attempt_is_locked(at, ATTEMPT_LOCK) || attempt_is_locked(at, ATTEMPT_TREE);
}

/* The number of attempt folders in which a process still runs. */
static inline int ledger_held(void)
{
    return ledger_each(ledger_held_at, 0);
}

static inline int ledger_is_first_of(int at, int64_t execution, int attempt, int64_t arg)
{
    (void)at;
    return execution == arg && attempt == 1;
}

static inline bool ledger_has_first_folder(int64_t execution)
{
    return ledger_each(ledger_is_first_of, execution) > 0;
}

#endif
