/* launch.c - from fork to exec: everything that makes a process the task. What goes wrong on the
 * way is said through a pipe that a successful exec closes. */
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
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Out of the way of scripts, which use small numbers for themselves. */
#define TREE_FD   200
#define PIPE_SIZE (256 << 10)

/* --- in the child -------------------------------------------------------------------------------
 */

static _Noreturn void report_failure(int report, enum attempt_step step, int error)
{
    struct launch_failure why = {.step = (int)step, .error = error};

    /* A short write leaves nothing to be said; the exit code is then all there is. */
    if (write(report, &why, sizeof(why)) != (ssize_t)sizeof(why))
        _exit(125);
    _exit(step == STEP_EXEC && error == ENOENT ? 127 : 126);
}

static int input_file(const char *text)
{
    size_t len = text ? strlen(text) : 0;
    int fd;

    if (!text)
        return open("/dev/null", O_RDONLY | O_CLOEXEC);
    fd = memfd_create("input", MFD_CLOEXEC);
    while (fd >= 0 && len) {
        ssize_t n = write(fd, text, len);

        if (n < 0 && errno != EINTR)
            return -1;
        if (n > 0) {
            text += n;
            len -= (size_t)n;
        }
    }
    if (fd >= 0 && lseek(fd, 0, SEEK_SET))
        return -1;
    return fd;
}

/* Nothing but the three and the tree's lock crosses the exec. */
static bool set_files(const struct launch *l, int output)
{
    int in = input_file(l->r->input), tree;

    if (in < 0 || dup2(in, 0) < 0 || dup2(output, 1) < 0 || dup2(output, 2) < 0)
        return false;
    if (l->tree < 0)
        return true;
    /* Without CLOEXEC: this is the copy that all its children have. */
    tree = fcntl(l->tree, F_DUPFD, TREE_FD);
    if (tree < 0)
        tree = fcntl(l->tree, F_DUPFD, 3);
    return tree >= 0;
}

/* Never above what we are held to ourselves. */
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
    /* XCPU first, a second later KILL. */
    if (r->cpu && !set_rlimit(RLIMIT_CPU, (r->cpu + 999999) / 1000000, 1))
        return false;
    if (r->files && !set_rlimit(RLIMIT_NOFILE, r->files, 0))
        return false;
    /* Counted for all processes of the user, and not at all for root. */
    if (r->pids && !l->limits_pids && !root && !set_rlimit(RLIMIT_NPROC, r->pids, 0))
        return false;
    return true;
}

struct identity {
    const char *name;
    uid_t uid;
    gid_t gid;
};

static int find_user(const char *user, struct identity *out)
{
    struct passwd *p;
    int64_t n;

    errno = 0;
    p = text_parse_i64(user, &n) == 0 ? getpwuid((uid_t)n) : getpwnam(user);
    if (!p)
        return errno && errno != ENOENT && errno != EPERM ? errno : ESRCH;
    *out = (struct identity){.name = p->pw_name, .uid = p->pw_uid, .gid = p->pw_gid};
    return 0;
}

/* The folder stays closed to others but for passing through; the task gets its own files. */
static bool chown_files(const struct launch *l, const struct identity *id)
{
    if (fchmod(l->folder, 0711) ||
        fchownat(l->folder, ATTEMPT_OUTPUT, id->uid, id->gid, AT_SYMLINK_NOFOLLOW))
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

/* None is ignored: the helper began with all of them at their defaults. */
static void unblock_signals(void)
{
    sigset_t none;

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Without its shim it is lost, so it had better end at once. */
static void die_with_shim(pid_t shim)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != shim)
        _exit(125);
}

static _Noreturn void exec_task(const struct launch *l, int output, int report, pid_t shim)
{
    close(l->lock); /* the shim's alone: a copy here would outlive it */
    setsid();
    die_with_shim(shim);
    unblock_signals();
    if (!set_files(l, output))
        report_failure(report, STEP_FILES, errno);
    /* Its own folder may lie where the user can't pass; one that it names must be the user's. */
    if (!l->r->cwd && !enter_own_folder(l))
        report_failure(report, STEP_CWD, errno);
    set_user_and_limits(l, report);
    die_with_shim(shim); /* a change of user took it back */
    if (l->r->cwd && chdir(l->r->cwd))
        report_failure(report, STEP_CWD, errno);
    environ = (char **)(uintptr_t)l->r->env;
    execvp(l->r->argv[0], (char **)(uintptr_t)l->r->argv);
    report_failure(report, STEP_EXEC, errno);
}

/* --- in the shim --------------------------------------------------------------------------------
 */

/* Born in its cgroup: moving there later costs half a millisecond. -1 and errno, as fork; not
 * allowed, or not known here: ENOSYS. */
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
        if (pid < 0 && in_cgroup && errno == ENOSYS) { /* session and subreaper have to do */
            in_cgroup = l->limits_memory = l->limits_pids = false;
            pid = fork();
        }
    }
    if (pid == 0)
        exec_task(l, output[1], report[1], shim);
    *why = (struct launch_failure){.step = STEP_FORK, .error = errno};
    if (output[1] >= 0)
        close(output[1]);
    if (report[1] >= 0)
        close(report[1]);
    if (pid < 0) {
        if (output[0] >= 0)
            close(output[0]);
        if (report[0] >= 0)
            close(report[0]);
        return -1;
    }
    fcntl(output[0], F_SETFL, O_NONBLOCK);
    fcntl(report[0], F_SETFL, O_NONBLOCK);
    *out = (struct launched){
        .pid = pid, .in_cgroup = in_cgroup, .output = output[0], .report = report[0]};
    return 0;
}
