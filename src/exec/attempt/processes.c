/* processes.c - finds the processes of attempts by their environment, see attempt.h. Every process
 * that a task starts inherits $PAWL_OUTPUT, the path of a file in the attempt folder. */
#include "exec/attempt/attempt.h"

#include "base/fd.h"
#include "base/mem.h"
#include "base/proc.h"
#include "exec/attempt/proc_search.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <unistd.h>

struct process_search {
    struct proc_search s;
    struct stat dir;
    void (*each)(void *arg, int64_t execution, int attempt, pid_t pid);
    void *arg;
};

/* The value of a variable in the text of an environment; NULL if it is not set. */
static const char *find_variable(const struct buf *text, const char *name)
{
    size_t len = strlen(name), i;

    for (i = 0; i < text->len; i += strlen(text->ptr + i) + 1)
        if (!strncmp(text->ptr + i, name, len) && text->ptr[i + len] == '=')
            return text->ptr + i + len + 1;
    return NULL;
}

/* Cuts the last component off a path and returns it; NULL if the path has only one. */
static char *cut_last_part(char *path)
{
    char *slash = strrchr(path, '/');

    if (!slash || slash == path)
        return NULL;
    *slash = '\0';
    return slash + 1;
}

/* Compares folders by device and inode, because several paths may lead to the same folder. */
static bool is_below(const struct process_search *s, const char *output, int64_t *execution,
                     int *attempt)
{
    char *path = mem_strdup(output), *file = cut_last_part(path),
         *name = file ? cut_last_part(path) : NULL;
    struct stat st;
    bool below = name && !strcmp(file, ATTEMPT_OUTPUT) &&
                 attempt_parse_name(name, execution, attempt) && !stat(path, &st) &&
                 st.st_dev == s->dir.st_dev && st.st_ino == s->dir.st_ino;

    free(path);
    return below;
}

static bool check_process(struct proc_search *base, int proc, pid_t pid)
{
    const struct process_search *s = (struct process_search *)base;
    const char *output;
    int64_t execution;
    int attempt;

    if (proc_search_read(base, proc, "environ", ENVIRON_MAX) &&
        (output = find_variable(&base->text, "PAWL_OUTPUT")) &&
        is_below(s, output, &execution, &attempt))
        s->each(s->arg, execution, attempt, pid);
    return false;
}

bool attempt_each_process(const char *dir,
                          void (*each)(void *arg, int64_t execution, int attempt, pid_t pid),
                          void *arg)
{
    struct process_search s = {.each = each, .arg = arg};

    if (stat(dir, &s.dir))
        return errno == ENOENT;
    (void)proc_search(&s.s, check_process);
    buf_release(&s.s.text);
    return !s.s.error;
}

/* ---- killing processes ---- */

struct stray_search {
    const char *dir;
    int64_t execution;
    int attempt;
    bool found;
};

static void note_stray(void *arg, int64_t execution, int attempt, pid_t pid)
{
    struct stray_search *s = arg;

    (void)pid;
    s->found |= execution == s->execution && attempt == s->attempt;
}

/* Reads the environment after opening the pidfd, so that both refer to the same process. */
bool attempt_kill_stray(const char *dir, int64_t execution, int attempt, pid_t pid)
{
    struct stray_search again = {.execution = execution, .attempt = attempt};
    struct process_search s = {.each = note_stray, .arg = &again};
    AUTO_FD pidfd = pidfd_open(pid, 0);

    if (pidfd < 0)
        return proc_is_shortage(errno);
    if (!stat(dir, &s.dir))
        (void)proc_search_one(&s.s, pid, check_process);
    if (again.found)
        (void)pidfd_send_signal(pidfd, SIGKILL, NULL, 0);
    buf_release(&s.s.text);
    return again.found || s.s.error;
}

static void kill_if_stray(void *arg, int64_t execution, int attempt, pid_t pid)
{
    struct stray_search *s = arg;

    if (execution == s->execution && attempt == s->attempt)
        s->found |= attempt_kill_stray(s->dir, execution, attempt, pid);
}

bool attempt_kill_strays(const char *dir, int64_t execution, int attempt)
{
    struct stray_search s = {.dir = dir, .execution = execution, .attempt = attempt};

    return !attempt_each_process(dir, kill_if_stray, &s) || s.found;
}
