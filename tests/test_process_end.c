/* test_process_end.c - ending running tasks: timeouts, cancels, floods of output, and tasks that
 * resist. None of their processes is left afterwards. */
#include "process_fixture.h"

#include <sys/socket.h>
#include <sys/syscall.h>

TEST_NO_DB;

TEST(task_that_exceeds_its_timeout_is_terminated)
{
    struct worker *w = worker_new();
    struct spec spec = {.run = "echo $$ >pid; exec sleep 1000", .timeout = SECOND / 5};
    struct job t = task_of(&spec);
    struct seen *s;
    pid_t pid;

    spec.cwd = test_dir();
    s = worker_run(w, &t);
    pid = read_pid(w, path_of("pid"));
    CHECK_EQ(s->o.kind, OUTCOME_TIMED_OUT);
    CHECK_STR(s->error, "ran longer than its timeout of 200.0 ms");
    CHECK_EQ(s->o.signal, SIGTERM);
    CHECK(is_gone(pid));
    worker_free(w);
}

TEST(cancelled_task_may_clean_up_and_counts_as_cancelled_whatever_it_returns)
{
    struct worker *w = worker_new();
    struct spec spec = {
        .run = "trap 'echo bye; exit 0' TERM; echo up >up; while :; do sleep 0.02; done"};
    struct job t = task_of(&spec);
    struct seen *s;

    spec.cwd = test_dir();
    worker_start(w, &t);
    UNTIL(w, *read_text(path_of("up")));
    handles_cancel(&w->handles, t.execution, t.attempt, OUTCOME_CANCELLED);
    s = worker_wait(w, &t);
    CHECK_EQ(s->o.kind, OUTCOME_CANCELLED);
    CHECK(strstr(buf_cstr(&s->log), "bye\n")); /* the shell may report its child, too */
    worker_free(w);
}

static void check_task_that_ignores_TERM_is_killed(void)
{
    struct worker *w = worker_new();
    struct spec spec = {
        .run = "trap '' TERM; sleep 1000 & echo $! >child; while :; do sleep 0.02; done",
        .grace = SECOND / 5};
    struct job t = task_of(&spec);
    struct seen *s;
    pid_t child;

    spec.cwd = test_dir();
    worker_start(w, &t);
    child = read_pid(w, path_of("child"));
    handles_cancel(&w->handles, t.execution, t.attempt, OUTCOME_TIMED_OUT);
    s = worker_wait(w, &t);
    CHECK_EQ(s->o.kind, OUTCOME_TIMED_OUT);
    CHECK_STR(s->error, "ended by a timeout");
    CHECK_EQ(s->o.signal, SIGKILL);
    CHECK(is_gone(child));
    worker_free(w);
}

TEST(task_that_ignores_TERM_is_killed_with_its_children)
{
    check_task_that_ignores_TERM_is_killed();
}

TEST(without_cgroups_task_that_ignores_TERM_is_killed_with_its_children)
{
    setenv("PAWL_CGROUPS", "off", 1);
    check_task_that_ignores_TERM_is_killed();
}

TEST(cancel_right_after_the_start_is_not_lost)
{
    struct worker *w = worker_new();
    struct spec spec = {.run = "sleep 1000"};
    struct job t = task_of(&spec);

    worker_start(w, &t);
    handles_cancel(&w->handles, t.execution, t.attempt, OUTCOME_CANCELLED);
    CHECK_EQ(worker_wait(w, &t)->o.kind, OUTCOME_CANCELLED);
    worker_free(w);
}

TEST(task_that_ended_before_the_cancel_keeps_its_outcome)
{
    struct worker *w = worker_new();
    struct spec spec = {.run = "true"};
    struct job t = task_of(&spec);
    int at;

    worker_start(w, &t);
    at = folder_of(&t);
    for (struct attempt_exit end; record_read(at, &RECORD_EXIT, &end) != 1;)
        clock_sleep_us(1000);
    close(at);
    handles_cancel(&w->handles, t.execution, t.attempt, OUTCOME_CANCELLED);
    CHECK_EQ(worker_wait(w, &t)->o.kind, OUTCOME_OK);
    handles_cancel(&w->handles, 4711, 1, OUTCOME_CANCELLED); /* no error for an unknown attempt */
    worker_free(w);
}

/* Another program may remove the folder. The task keeps running, and its end is noticed. */
TEST(task_whose_attempt_folder_was_removed_ends_as_lost)
{
    struct worker *w = worker_new();
    struct spec spec = {.run = "echo $$ >begun; while [ ! -e go ]; do sleep 0.01; done",
                        .cwd = test_dir()};
    struct job t = task_of(&spec);
    int dir = open(attempts_dir(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char name[ATTEMPT_NAME_SIZE];
    struct seen *s;

    CHECK(dir >= 0);
    worker_start(w, &t);
    (void)read_pid(w, path_of("begun"));
    CHECK_OK(attempt_remove_folder(dir, attempt_name(t.execution, t.attempt, name)));
    close(dir);
    write_text(path_of("go"), "");
    s = worker_wait(w, &t);
    CHECK_EQ(s->o.kind, OUTCOME_LOST);
    CHECK_STR(s->error, "its folder was removed, so its exit status is unknown");
    worker_free(w);
}

TEST(background_processes_end_with_the_main_process_of_the_task)
{
    struct worker *w = worker_new();
    struct spec spec = {.run = "sleep 1000 & echo $! >child; exit 4"};
    struct job t = task_of(&spec);

    spec.cwd = test_dir();
    CHECK_EQ(worker_run(w, &t)->o.exit_code, 4);
    CHECK(is_gone(read_pid(w, path_of("child"))));
    worker_free(w);
}

/* The daemon has its own session, no parent, an empty environment and no inherited files. */
static void check_detached_daemon_is_killed(void)
{
    struct worker *w = worker_new();
    struct spec spec = {.run = "(env -i setsid bash -c 'exec 200>&-; echo $$ >daemon; exec sleep "
                               "1000' </dev/null >/dev/null 2>&1 &); while [ ! -s daemon ]; do "
                               "sleep 0.01; done"};
    struct job t = task_of(&spec);

    spec.cwd = test_dir();
    CHECK_EQ(worker_run(w, &t)->o.kind, OUTCOME_OK);
    CHECK(is_gone(read_pid(w, path_of("daemon"))));
    worker_free(w);
}

TEST(detached_daemon_is_killed_with_its_task)
{
    check_detached_daemon_is_killed();
}

TEST(without_cgroups_detached_daemon_is_killed_with_its_task)
{
    setenv("PAWL_CGROUPS", "off", 1);
    check_detached_daemon_is_killed();
}

TEST(task_that_closes_its_output_keeps_running)
{
    struct worker *w = worker_new();
    struct spec spec = {.run = "echo first; exec >&- 2>&-; sleep 0.1; exit 5"};
    struct job t = task_of(&spec);
    struct seen *s = worker_run(w, &t);

    CHECK_EQ(s->o.exit_code, 5);
    CHECK_STR(buf_cstr(&s->log), "first\n");
    worker_free(w);
}

/* The peak memory of a running process; 0 if unknown. */
static long peak_kb(pid_t pid)
{
    char path[40];
    const char *line;

    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    line = strstr(read_text(path), "VmHWM:");
    return line ? strtol(line + 6, NULL, 10) : 0;
}

TEST(tail_of_a_long_output_replaces_the_middle_that_was_already_reported)
{
    struct worker *w = worker_with((struct process_options){.log_head = 10, .log_tail = 10});
    /* two fifos: with one, the second read could get the rest of the first line */
    struct spec spec = {.run = "printf 0123456789abcdef; read x <fifo;"
                               "printf GHIJKLMNOPQRSTUVWXYZ; read x <second"};
    struct job t = task_of(&spec);
    struct seen *s = seen_of(w, t.execution, t.attempt);
    size_t kept;

    spec.cwd = test_dir();
    CHECK_OK(mkfifo(path_of("fifo"), 0600));
    CHECK_OK(mkfifo(path_of("second"), 0600));
    worker_start(w, &t);
    UNTIL(w, s->log.len);
    CHECK_STR(buf_cstr(&s->log), "0123456789abcdef");
    CHECK_EQ(s->nchunks, 2);
    write_text(path_of("fifo"), "x\n");
    UNTIL(w, s->dropped); /* while it runs, half a tail to a whole tail is kept */
    kept = s->log.len - 10;
    CHECK(kept >= 5 && kept <= 10);
    CHECK(!strncmp(buf_cstr(&s->log), "0123456789", 10));
    CHECK_STR(buf_cstr(&s->log) + 10, &"QRSTUVWXYZ"[10 - kept]);
    CHECK_EQ(s->dropped, 26 - kept);
    write_text(path_of("second"), "x\n");
    UNTIL(w, s->ended);
    CHECK_STR(buf_cstr(&s->log), "0123456789QRSTUVWXYZ");
    CHECK_EQ(s->dropped, 16);
    worker_free(w);
}

TEST_SLOW(flood_of_output_takes_constant_memory_and_disk, 600)
{
    struct worker *w = worker_with((struct process_options){.log_head = 1000, .log_tail = 2000});
    struct spec spec = {.argv = (const char *[]){"sh", "-c", NULL, NULL}};
    long long bytes = test_full() ? 1LL << 30 : 1LL << 28;
    char text[200];
    const char *argv[] = {"sh", "-c", text, NULL};
    struct job t = task_of(&spec);
    struct seen *s = seen_of(w, t.execution, t.attempt);
    struct stat st;
    long peak = 0;
    pid_t shim;
    int at;

    snprintf(text, sizeof(text),
             "echo begin; head -c %lld /dev/zero | tr '\\0' x; echo end; read x <fifo", bytes);
    spec.argv = argv;
    spec.cwd = test_dir();
    CHECK_OK(mkfifo(path_of("fifo"), 0600));
    worker_start(w, &t);
    UNTIL(w, (shim = shim_of(&t)) > 0);
    at = folder_of(&t);
    for (int fd = -1; fd < 0;) { /* the task opens the fifo after it has written all output */
        fd = open(path_of("fifo"), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
        worker_poll(w, 10000);
        if (fd < 0)
            continue;
        peak = peak_kb(shim);
        CHECK_EQ(write(fd, "x\n", 2), 2);
        close(fd);
    }
    UNTIL(w, s->ended);
    CHECK_EQ(s->o.kind, OUTCOME_OK);
    CHECK_EQ(s->log.len, 3000);
    CHECK_EQ(s->dropped, bytes + 10 - 3000);
    CHECK(strncmp(s->log.ptr, "begin\nxxx", 9) == 0);
    CHECK_STR(s->log.ptr + 3000 - 8, "xxxxend\n");
    CHECK_OK(fstatat(at, ATTEMPT_LOG, &st, 0));
    CHECK_EQ(st.st_size, 3000);
#ifndef __SANITIZE_ADDRESS__
    CHECK(peak > 0 && peak < 8192);
#endif
    close(at);
    worker_free(w);
}

static void check_fork_bomb_ends_with_its_task(void)
{
    struct worker *w = worker_new();
    struct spec spec = {
        .run = "for i in 1 2 3 4 5 6 7 8; do (while :; do (setsid sleep 0.01 &) ; done) & done; "
               "echo go; sleep 0.2; exit 1",
        .limits = {.cpu = 20 * SECOND}};
    struct job t = task_of(&spec);
    int at;

    CHECK_EQ(worker_run(w, &t)->o.exit_code, 1);
    at = folder_of(&t);
    CHECK(!attempt_is_locked(at, ATTEMPT_TREE));
    close(at);
    worker_free(w);
}

TEST(fork_bomb_ends_with_its_task)
{
    check_fork_bomb_ends_with_its_task();
}

TEST(without_cgroups_fork_bomb_ends_with_its_task)
{
    setenv("PAWL_CGROUPS", "off", 1);
    check_fork_bomb_ends_with_its_task();
}

TEST(task_whose_lease_is_not_renewed_is_killed_after_the_lease_ends)
{
    struct worker *w = worker_with((struct process_options){.fence = SECOND / 10, .lease = SECOND});
    struct spec spec = {.run = "trap '' TERM; echo $$ >pid; while :; do sleep 0.02; done"};
    struct job t = task_of(&spec);
    struct seen *s;
    int64_t first;

    spec.cwd = test_dir();
    for (;; t.attempt++) { /* until an attempt is renewed in time and has written its pid */
        s = seen_of(w, t.execution, t.attempt);
        worker_start_leased(w, &t, SECOND * 6 / 10);
        first = t.lease_until + SECOND / 10;
        handles_renewed(&w->handles, t.execution, t.attempt, t.lease_until + SECOND / 2);
        if (clock_boot_us() < t.lease_until) {
            UNTIL(w, s->ended);
            if (*read_text(path_of("pid")))
                break;
        }
    }
    CHECK_EQ(s->o.kind, OUTCOME_LOST);
    CHECK_EQ(s->o.signal, SIGKILL);
    CHECK(clock_boot_us() >= first + SECOND / 2); /* the renewal counted */
    CHECK(is_gone(read_pid(w, path_of("pid"))));
    worker_free(w);
}

/* Copies the task's descriptor of `tree` to where no process holds it: into a message in a socket
 * that is never received. So its holder can't be found and killed, like a process that hangs in the
 * kernel. False if this machine does not allow it. */
static bool hide_tree(pid_t task, int sockets[2])
{
    char space[CMSG_SPACE(sizeof(int))] = {0}, byte = 0, path[60], to[PATH_MAX];
    struct iovec data = {&byte, 1};
    struct msghdr m = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof(space)};
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    int pidfd = (int)syscall(SYS_pidfd_open, task, 0), fd = -1, i;

    CHECK(pidfd >= 0);
    for (i = 3; i < 4096 && fd < 0; i++) { /* its number is high, out of the way of scripts */
        ssize_t n;

        snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)task, i);
        n = readlink(path, to, sizeof(to) - 1);
        to[n > 0 ? n : 0] = 0;
        if (n > 5 && !strcmp(to + n - 5, "/tree"))
            fd = (int)syscall(SYS_pidfd_getfd, pidfd, i, 0);
    }
    close(pidfd);
    if (fd < 0)
        return false;
    CHECK_OK(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
    *c = (struct cmsghdr){
        .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int))};
    memcpy(CMSG_DATA(c), &fd, sizeof(fd));
    CHECK_EQ(sendmsg(sockets[0], &m, 0), 1);
    close(fd);
    return true;
}

TEST(exit_record_is_not_written_while_a_process_of_the_task_may_be_alive)
{
    struct worker *w = worker_new();
    struct spec spec = {.run = "echo $$ >pid; until test -e go; do sleep 0.02; done"};
    struct job t = task_of(&spec);
    struct attempt_exit end;
    int sockets[2], at;
    int64_t until;

    spec.cwd = test_dir();
    worker_start(w, &t);
    if (!hide_tree(read_pid(w, path_of("pid")), sockets))
        SKIP("pidfd_getfd is not allowed here");
    write_text(path_of("go"), "");
    at = folder_of(&t);
    for (until = clock_boot_us() + 3 * SECOND / 2; clock_boot_us() < until;) {
        worker_poll(w, 20000);
        CHECK_EQ(record_read(at, &RECORD_EXIT, &end), 0);
    }
    CHECK_EQ(seen_of(w, t.execution, t.attempt)->ended, 0);
    close(sockets[0]);
    close(sockets[1]);
    CHECK_EQ(worker_wait(w, &t)->o.kind, OUTCOME_OK);
    close(at);
    worker_free(w);
}

TEST(short_command_takes_less_than_a_tenth_of_a_second_on_average)
{
    struct worker *w = worker_new();
    const char *argv[] = {"true", NULL};
    struct spec spec = {.argv = argv, .argc = 1};
    struct job t = task_of(&spec);
    int n = test_full() ? 2000 : 400;
    int64_t start = clock_boot_us();

    for (int i = 0; i < n; i++) {
        t.execution = 100 + i;
        worker_run(w, &t);
        CHECK_EQ(w->seen[0].o.kind, OUTCOME_OK);
        w->x->ops->settled(w->x, t.execution, t.attempt);
        free(w->seen[0].result);
        free(w->seen[0].error);
        w->nseen = 0;
    }
    printf("%.2f ms each\n", (double)(clock_boot_us() - start) / n / 1000);
    CHECK((clock_boot_us() - start) / n < 100000);
    UNTIL(w, count_files(attempts_dir()) == 0);
    worker_free(w);
}
