/* shim.c - runs one attempt: lock, start, watch (watch.c), end, write the exit record. One thread.
 *
 *     lock ─> started ─> running ──main process ended──> kill the rest ─> exit record ─> exit
 *                           │ timeout, cancel: TERM        ^
 *                           ├────── grace over: KILL ──────┤
 *                           └────── fence: KILL ───────────┘ */
#include "exec/shim/shim.h"

#include "base/env.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/own_file.h"
#include "base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#define OUTPUT_PIECE    65536
#define STRAY_PAUSE     1000 /* µs before the second search; each further pause is twice as long */
#define STRAY_PAUSE_MAX 500000 /* µs, the longest pause */
#define OUTPUT_MAX      (4 << 20)

/* ---- before the start ---- */

bool load_request(int memfd, struct loaded_request *out)
{
    struct stat st;
    size_t got = 0;

    memset(out, 0, sizeof(*out));
    if (fstat(memfd, &st) || st.st_size <= 0)
        return false;
    out->len = (size_t)st.st_size;
    out->bytes = mem_alloc(out->len);
    while (got < out->len) {
        ssize_t n = pread(memfd, out->bytes + got, out->len - got, (off_t)got);

        if (n <= 0)
            break;
        got += (size_t)n;
    }
    if (got == out->len && request_read(out->bytes, out->len, &out->r))
        return true;
    wipe_request(out);
    return false;
}

void wipe_request(struct loaded_request *l)
{
    request_release(&l->r);
    if (l->bytes)
        explicit_bzero(l->bytes, l->len);
    free(l->bytes);
    l->bytes = NULL;
}

/* Only the first shim may start the task, and only if no worker has given the attempt up. After the
 * end of the lease nothing is started either: a worker may have given the attempt up and removed
 * the tombstone with the folder. */
static bool may_start(const struct shim *s)
{
    struct attempt_shim other;
    struct attempt_exit end;

    return !attempt_has_tombstone(s->folder) && !record_read(s->folder, &RECORD_EXIT, &end) &&
           !record_read(s->folder, &RECORD_SHIM, &other) &&
           attempt_epoch(s->folder) <= s->request.r.epoch &&
           (s->until <= 0 || s->until > clock_boot_us());
}

/* Takes the start token: from now on nothing proves that the attempt never started, unless the
 * token is returned. A worker that gives the attempt up writes the tombstone and then reads the
 * token, so if another program has removed the lock file and both hold a lock, at least one of the
 * two notices the other. A resumed attempt has started, so its shim has no token to take or to
 * return. */
static bool take_start_token(struct shim *s)
{
    return (s->resumed || attempt_take_start_token(s->lock, &s->token) == 0) &&
           !attempt_has_tombstone(s->folder);
}

static void make_cgroup(struct shim *s, const char *parent)
{
    int n;

    s->cgroup = -1;
    if (!*parent || s->in_container)
        return;
    n = snprintf(s->self.cgroup, sizeof(s->self.cgroup), "%s/pawl-%" PRId64 ".%" PRId64 "-%.16s",
                 parent, s->request.r.execution, s->request.r.attempt, s->request.r.key);
    if (n > 0 && (size_t)n < sizeof(s->self.cgroup))
        s->cgroup = cgroup_make(s->self.cgroup);
    if (s->cgroup < 0)
        s->self.cgroup[0] = '\0';
}

/* Writes the record that another shim needs if this one dies. */
static bool write_container_record(const struct shim *s)
{
    struct attempt_container c = {.head = s->log.head, .tail = s->log.tail};

    c.pid_namespace = proc_pid_namespace();
    return !s->in_container ||
           (proc_boot_id(c.boot) && record_write(s->folder, &RECORD_CONTAINER, &c) == 0);
}

/* Writes the record of this shim: from now on the attempt counts as started. The record appears
 * complete or not at all, so that a disk that is full here leaves nothing that means "started". */
static bool write_shim_record(struct shim *s)
{
    const struct request *r = &s->request.r;
    int room = write_container_record(s) ? record_reserve(s->folder, &RECORD_SHIM) : -1;

    s->self.pid = getpid();
    s->self.start_time = proc_start_time(getpid());
    s->self.epoch = r->epoch;
    s->self.place = proc_place();
    s->self.session = s->self.session_start = 0; /* the clients of a dead shim were killed */
    if (!s->resumed)                             /* the timeout counts from the first start */
        s->self.begun = clock_boot_us();
    snprintf(s->self.key, sizeof(s->self.key), "%s", r->key);
    if (room >= 0 && record_publish(s->folder, &RECORD_SHIM, &s->self, &room, NULL) == 0)
        return true;
    fd_close(&room);
    record_release(s->folder, &RECORD_SHIM);
    if (*s->self.cgroup)
        cgroup_remove(s->self.cgroup);
    return false;
}

static bool open_control(struct shim *s)
{
    s->control =
        openat(s->folder, ATTEMPT_CONTROL, O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY);
    return s->control >= 0;
}

static bool make_files(struct shim *s)
{
    int fd = own_file_open(s->folder, ATTEMPT_OUTPUT, O_WRONLY | O_CREAT | O_EXCL, 0);
    int rc = fd < 0 ? -1 : 0;

    /* The container may run as any user, so anybody may write the file. Other users of the host
     * can't enter the folder. */
    if (fd >= 0 && s->in_container)
        rc = fchmod(fd, 0666);
    if (fd >= 0)
        close(fd);
    if (rc)
        return false;
    if (!s->request.r.cwd && mkdirat(s->folder, ATTEMPT_WORK, 0700))
        return false;
    return mkfifoat(s->folder, ATTEMPT_CONTROL, 0600) == 0 && open_control(s);
}

/* Keeps a second descriptor to test the lock: the task can replace the file, but not what this
 * descriptor refers to. */
static bool lock_tree(struct shim *s, int *tree)
{
    *tree = attempt_lock_shared(s->folder, ATTEMPT_TREE);
    s->tree = *tree < 0 ? -1 : own_file_open(s->folder, ATTEMPT_TREE, O_RDONLY, ATTEMPT_LOCK_MAX);
    return s->tree >= 0;
}

static int start_task(struct shim *s, struct launch_failure *why)
{
    const struct request *r = &s->request.r;
    struct launch l = {
        .r = r, .folder = s->folder, .cgroup = s->cgroup, .tree = -1, .lock = s->lock};
    int rc;

    *why = (struct launch_failure){.step = STEP_FILES};
    if (!(s->resumed ? open_control(s) : make_files(s)) ||
        (s->in_container ? !undo_load(&s->undo, s->folder) : !lock_tree(s, &l.tree))) {
        why->error = errno;
        return -1;
    }
    if (s->cgroup >= 0) {
        l.limits_memory = r->memory && cgroup_limit(s->cgroup, "memory.max", r->memory);
        l.limits_pids = r->pids && cgroup_limit(s->cgroup, "pids.max", r->pids);
    }
    rc = launch(&l, &s->task, why);
    if (l.tree >= 0)
        close(l.tree); /* only the task's processes hold the lock: a free lock means that all have
                          ended */
    if (rc)
        return -1;
    test_point("forked");
    if (s->cgroup >= 0 && !s->task.in_cgroup) {
        cgroup_remove(s->self.cgroup);
        s->self.cgroup[0] = '\0';
    }
    s->self.session = s->task.pid;
    s->self.session_start = proc_start_time(s->task.pid);
    /* If this fails, the processes can still be found by their key and by the lock on `tree`. */
    if (record_write(s->folder, &RECORD_SHIM, &s->self))
        s->self.session = 0;
    if (r->timeout > 0)
        s->timeout_at = s->self.begun + r->timeout;
    return 0;
}

/* ---- the end ---- */

/* Ends all processes of the task. None may be alive when the exit record is written, as the job may
 * be started again from then on. So processes that can't be ended now (blocked in the kernel, or
 * another user's) are waited for. */
static void end_tree(struct shim *s)
{
    int64_t pause = STRAY_PAUSE;

    kill_tree(&s->task.pid, &s->status, s->self.cgroup);
    while (s->tree >= 0 && attempt_file_is_locked(s->tree)) {
        attempt_kill_remains_of(s->tree, &s->self);
        kill_tree(&s->task.pid, &s->status, s->self.cgroup);
        clock_sleep_us(pause);
        pause = pause * 2 < STRAY_PAUSE_MAX ? pause * 2 : STRAY_PAUSE_MAX;
    }
    if (*s->self.cgroup)
        cgroup_remove(s->self.cgroup);
    while (read_task_output(s))
        ;
    if (s->resumed)
        read_rest_of_output(s);
    log_masked(s, "", 0);
}

/* Reads the file $PAWL_OUTPUT, at most OUTPUT_MAX bytes. */
static bool read_output(int fd, struct buf *text)
{
    ssize_t n = 1;

    while (n > 0 && text->len < OUTPUT_MAX) {
        buf_reserve(text, OUTPUT_PIECE);
        n = pread(fd, text->ptr + text->len, OUTPUT_PIECE, (off_t)text->len);
        if (n > 0)
            text->len += (size_t)n;
    }
    return n >= 0;
}

/* Overwrites the file in place and truncates it afterwards: a mask is never longer than the secret
 * that it replaces, so this works on a full disk. */
static bool replace_output(int fd, const struct buf *text)
{
    size_t done = 0;

    while (done < text->len) {
        ssize_t n = pwrite(fd, text->ptr + done, text->len - done, (off_t)done);

        if (n == 0)
            errno = ENOSPC;
        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return ftruncate(fd, (off_t)done) == 0;
}

/* Reads the file only once: after a partial write it contains both masked and unmasked text. */
static bool load_masked_output(struct shim *s, int fd)
{
    AUTO_BUF text = BUF_INIT, masked = BUF_INIT;

    if (!s->has_output && read_output(fd, &text)) {
        mask_feed(&s->mask, buf_cstr(&text), text.len, &masked);
        mask_end(&s->mask, &masked);
        mask_json_strings(&s->mask, buf_cstr(&masked), masked.len, &s->output);
        s->has_output = true;
    }
    if (text.ptr)
        explicit_bzero(text.ptr, text.cap);
    if (masked.ptr) /* wiped: the text may hold secrets with JSON escapes */
        explicit_bzero(masked.ptr, masked.cap);
    return s->has_output;
}

/* Marks the outputs: from now on no other shim can read them, which would find them partly masked.
 * Root in the container may have given the file to a user whose files this process can't mark. */
static bool mark_output(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 &&
           (fchmod(fd, (st.st_mode & 07777) | ATTEMPT_OUTPUT_MARK) == 0 || errno == EPERM);
}

/* Opens $PAWL_OUTPUT to mask it. The file is made writable if the task has made it read-only: it
 * would otherwise be stored unmasked. */
static int open_output(const struct shim *s)
{
    int fd = own_file_open_given(s->folder, ATTEMPT_OUTPUT, O_RDWR, OWN_FILE_ANY_SIZE);

    if (fd < 0 && errno == EACCES) {
        AUTO_FD readable =
            own_file_open_given(s->folder, ATTEMPT_OUTPUT, O_RDONLY, OWN_FILE_ANY_SIZE);

        if (readable < 0 || fchmod(readable, 0600))
            return -1;
        fd = own_file_open_given(s->folder, ATTEMPT_OUTPUT, O_RDWR, OWN_FILE_ANY_SIZE);
    }
    return fd;
}

/* Masks secrets in the file $PAWL_OUTPUT, so that they do not get into the database. A file that
 * can't be masked is removed. False if the next try may succeed. */
static bool mask_output(struct shim *s)
{
    int fd = open_output(s);
    bool done;

    if (fd < 0 && errno == EACCES) /* can't be masked: the worker must not read it */
        unlinkat(s->folder, ATTEMPT_OUTPUT, 0);
    if (fd < 0) /* if the file is not a plain file, the worker reports it */
        return !error_may_pass(errno);
    done = load_masked_output(s, fd) && (!s->in_container || mark_output(fd)) &&
           replace_output(fd, &s->output);
    if (!done && !error_may_pass(errno)) {
        unlinkat(s->folder, ATTEMPT_OUTPUT, 0);
        done = true;
    }
    close(fd);
    return done;
}

/* Ends an attempt whose start failed. If a dead shim left a container, the container is not
 * affected: the worker finds it again. */
static void give_up_start(struct shim *s)
{
    if (s->resumed)
        release_records(s);
    else
        write_not_started(s);
}

static void run_attempt(struct shim *s)
{
    struct launch_failure failure;

    s->task = (struct launched){.output = -1, .report = -1};
    s->timer = s->control = s->tree = -1;
    if (start_task(s, &s->why)) {
        if (*s->self.cgroup)
            cgroup_remove(s->self.cgroup);
        give_up_start(s);
        return;
    }
    for (const char **secret = s->request.r.secrets; *secret; secret++)
        mask_add(&s->mask, *secret);
    if (!s->resumed)
        wipe_request(&s->request);
    s->why.step = STEP_NONE;
    watch_task(s);
    end_tree(s);
    wipe_request(&s->request);
    if (read(s->task.report, &failure, sizeof(failure)) == (ssize_t)sizeof(failure)) {
        if (s->resumed) {
            give_up_start(s);
            return;
        }
        s->why = failure;
    }
    if (s->mask.n)
        keep_trying(s, mask_output);
    if (s->in_container) {
        write_ending(s);
        end_container(s);
    }
    write_exit(s);
}

static void start_own_session(void)
{
    setsid();
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_NAME, "pawl-shim");
}

int shim_run(int folder, int request, const char *cgroup)
{
    struct shim s = {
        .folder = folder, .lock = -1, .cgroup = -1, .exit_room = -1, .ending_room = -1};
    sigset_t chld;

    start_own_session();
    sigemptyset(&chld);
    sigaddset(&chld, SIGCHLD);
    s.signals = signalfd(-1, &chld, SFD_CLOEXEC | SFD_NONBLOCK);
    if (folder < 0 || request < 0 || s.signals < 0 || !load_request(request, &s.request))
        return 1;
    close(request);
    s.epoch = s.request.r.epoch;
    s.until = s.request.r.until;
    s.fence = s.request.r.fence;
    s.grace = s.request.r.grace;
    s.in_container = s.request.r.in_container;
    s.resumed = s.request.r.resumed;
    s.has_ended = s.request.r.has_ended;
    if (s.resumed)
        test_points_are_resumed();
    if (s.in_container) /* processes that podman or docker leaves running are not the task's */
        prctl(PR_SET_CHILD_SUBREAPER, 0);
    s.log = (struct log){
        .folder = folder, .fd = -1, .head = s.request.r.head, .tail = s.request.r.tail};

    test_point("before-lock");
    s.lock = attempt_lock(folder, ATTEMPT_LOCK, true);
    test_point("locked");
    if (s.lock < 0 || !(s.resumed ? may_resume(&s) : may_start(&s)) || !reserve_records(&s))
        return 1;
    test_point("before-token");
    if (!take_start_token(&s)) {
        release_records(&s);
        return 1;
    }
    make_cgroup(&s, cgroup);
    if (write_shim_record(&s)) {
        run_attempt(&s);
    } else {
        release_records(&s);
        if (!s.resumed)
            attempt_return_start_token(s.lock, &s.token);
    }
    return 0;
}
