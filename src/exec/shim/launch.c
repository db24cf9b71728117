/* launch.c - forks and executes the task: files, limits, user and working directory. An error on
 * the way is reported through a pipe that a successful exec closes. */
#include "base/fd.h"
#include "base/text.h"
#include "exec/shim/shim.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/sched.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The descriptor of the lock on `tree` in the task; high, because scripts use low descriptors for
 * themselves. */
#define TREE_FD   200
#define PIPE_SIZE (256 << 10)

/* ---- in the child ---- */

static _Noreturn void report_failure(int report, enum attempt_step step, int error)
{
    struct launch_failure why = {.step = (int)step, .error = error};

    /* If the report can't be written, only the exit code is left. */
    if (write(report, &why, sizeof(why)) != (ssize_t)sizeof(why))
        _exit(125);
    _exit(step == STEP_EXEC && error == ENOENT ? 127 : 126);
}

static int input_file(const char *text)
{
    return text ? memfd_make("input", text, strlen(text)) : open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* Sets the three standard descriptors and the lock on `tree`, the only ones that survive the
 * exec. */
static bool set_files(const struct launch *l, int output)
{
    int in = input_file(l->r->input), tree;

    if (in < 0 || dup2(in, 0) < 0 || dup2(output, 1) < 0 || dup2(output, 2) < 0)
        return false;
    if (l->tree < 0)
        return true;
    /* Without CLOEXEC: all descendants of the task inherit this copy. */
    tree = fcntl(l->tree, F_DUPFD, TREE_FD);
    if (tree < 0)
        tree = fcntl(l->tree, F_DUPFD, 3);
    return tree >= 0;
}

/* Sets a limit, but never above the own hard limit of this process. */
static bool set_rlimit(int what, int64_t value, int64_t spare)
{
    struct rlimit old, new;

    if (getrlimit((__rlimit_resource_t)what, &old))
        return false;
    new.rlim_cur = (rlim_t)value < old.rlim_max ? (rlim_t)value : old.rlim_max;
    new.rlim_max = (rlim_t)(value + spare) < old.rlim_max ? (rlim_t)(value + spare) : old.rlim_max;
    return setrlimit((__rlimit_resource_t)what, &new) == 0;
}

static bool set_limits(const struct launch *l, bool root)
{
    const struct request *r = l->r;

    if (r->memory && !l->limits_memory && !set_rlimit(RLIMIT_AS, r->memory, 0))
        return false;
    /* SIGXCPU first, SIGKILL one second later. */
    if (r->cpu && !set_rlimit(RLIMIT_CPU, (r->cpu + 999999) / 1000000, 1))
        return false;
    if (r->files && !set_rlimit(RLIMIT_NOFILE, r->files, 0))
        return false;
    /* The kernel counts all processes of the user, and does not limit root. */
    if (r->pids && !l->limits_pids && !root && !set_rlimit(RLIMIT_NPROC, r->pids, 0))
        return false;
    return true;
}

struct identity {
    const char *name;
    uid_t uid;
    gid_t gid;
};

/* Finds a user by name or number. A number that is too large for a user id is not cut to one: 2^32
 * would be root. */
static int find_user(const char *user, struct identity *out)
{
    bool is_number = user[strspn(user, "+-0123456789")] == '\0';
    struct passwd *p;
    int64_t n;

    if (is_number && (text_parse_i64(user, &n) || n < 0 || n >= UINT32_MAX))
        return ESRCH;
    errno = 0;
    p = is_number ? getpwuid((uid_t)n) : getpwnam(user);
    if (!p)
        return errno && errno != ENOENT && errno != EPERM ? errno : ESRCH;
    *out = (struct identity){.name = p->pw_name, .uid = p->pw_uid, .gid = p->pw_gid};
    return 0;
}

/* Gives the files that are meant for the task to the task's user. Other users may only traverse the
 * folder. */
static bool chown_files(const struct launch *l, const struct identity *id)
{
    if (fchmod(l->folder, 0711) ||
        fchownat(l->folder, ATTEMPT_OUTPUT, id->uid, id->gid, AT_SYMLINK_NOFOLLOW) ||
        (fchownat(l->folder, ATTEMPT_VALUES, id->uid, id->gid, AT_SYMLINK_NOFOLLOW) &&
         errno != ENOENT))
        return false;
    return l->r->cwd ||
           fchownat(l->folder, ATTEMPT_WORK, id->uid, id->gid, AT_SYMLINK_NOFOLLOW) == 0;
}

static bool switch_user(const struct identity *id)
{
    return initgroups(id->name, id->gid) == 0 && setresgid(id->gid, id->gid, id->gid) == 0 &&
           setresuid(id->uid, id->uid, id->uid) == 0;
}

static void set_user_and_limits(const struct launch *l, int report)
{
    struct identity id = {.uid = geteuid()};
    int rc = l->r->user ? find_user(l->r->user, &id) : 0;
    bool change = l->r->user && id.uid != geteuid();

    if (rc)
        report_failure(report, STEP_USER, rc);
    if (change && !chown_files(l, &id))
        report_failure(report, STEP_FILES, errno);
    if (!set_limits(l, id.uid == 0))
        report_failure(report, STEP_LIMITS, errno);
    if (!change)
        return;
    if (!switch_user(&id))
        report_failure(report, STEP_USER, errno);
    if (access(l->r->output, W_OK))
        report_failure(report, STEP_OUTPUT, errno);
}

static bool enter_own_folder(const struct launch *l)
{
    int fd = openat(l->folder, ATTEMPT_WORK, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    return fd >= 0 && fchdir(fd) == 0;
}

/* Resets the signal mask. No handlers must be reset: the helper was started with default handlers,
 * so no signal is ignored. */
static void unblock_signals(void)
{
    sigset_t none;

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Makes the kernel kill the main process when its shim dies, because the attempt is lost without a
 * shim. */
static void die_with_shim(pid_t shim)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != shim)
        _exit(125);
}

static _Noreturn void exec_task(const struct launch *l, int output, int report, pid_t shim)
{
    close(l->lock); /* a copy in the task would still hold the lock after the shim's death */
    setsid();
    die_with_shim(shim);
    unblock_signals();
    if (!set_files(l, output))
        report_failure(report, STEP_FILES, errno);
    /* `work` is entered before the switch to the task's user, who may have no access to its path; a
     * folder that the task names is entered afterwards, with the permissions of that user. */
    if (!l->r->cwd && !enter_own_folder(l))
        report_failure(report, STEP_CWD, errno);
    set_user_and_limits(l, report);
    die_with_shim(shim); /* changing the user resets the parent-death signal */
    if (l->r->cwd && chdir(l->r->cwd))
        report_failure(report, STEP_CWD, errno);
    environ = (char **)(uintptr_t)l->r->env;
    execvp(l->r->argv[0], (char **)(uintptr_t)l->r->argv);
    report_failure(report, STEP_EXEC, errno);
}

/* ---- in the shim ---- */

/* Forks directly into the cgroup: moving the child later costs half a millisecond. -1 and errno as
 * for fork; ENOSYS if this is not permitted or not supported. */
static pid_t fork_into_cgroup(int cgroup)
{
    struct clone_args args = {.flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD};
    pid_t pid;

    args.cgroup = (unsigned long long)(unsigned)cgroup;
    pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
    if (pid < 0 && errno != EAGAIN && errno != ENOMEM)
        errno = ENOSYS;
    return pid;
}

int launch(struct launch *l, struct launched *out, struct launch_failure *why)
{
    int output[2] = {-1, -1}, report[2] = {-1, -1};
    pid_t shim = getpid(), pid = -1;
    bool in_cgroup = l->cgroup >= 0;

    if (pipe2(output, O_CLOEXEC) == 0 && pipe2(report, O_CLOEXEC) == 0) {
        fcntl(output[0], F_SETPIPE_SZ, PIPE_SIZE);
        pid = in_cgroup ? fork_into_cgroup(l->cgroup) : fork();
        if (pid < 0 && in_cgroup && errno == ENOSYS) { /* without a cgroup, rely on the session and
                                                          the subreaper */
            in_cgroup = l->limits_memory = l->limits_pids = false;
            pid = fork();
        }
    }
    if (pid == 0)
        exec_task(l, output[1], report[1], shim);
    *why = (struct launch_failure){.step = STEP_FORK, .error = errno};
    fd_close(&output[1]);
    fd_close(&report[1]);
    if (pid < 0) {
        fd_close(&output[0]);
        fd_close(&report[0]);
        return -1;
    }
    fcntl(output[0], F_SETFL, O_NONBLOCK);
    fcntl(report[0], F_SETFL, O_NONBLOCK);
    *out = (struct launched){
        .pid = pid, .in_cgroup = in_cgroup, .output = output[0], .report = report[0]};
    return 0;
}
