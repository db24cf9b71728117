/* test_process_unstarted.c - commands that their host can't start: the disk of the state folder
 * fills while the shim prepares the start, or the host lacks something else. Their jobs are
 * returned without using an attempt. */
#include "disk_fixture.h"
#include "process_wait_fixture.h"

TEST_NO_DB;

static int count_cgroups(void)
{
    char path[CGROUP_PATH_SIZE], prefix[64];
    struct dirent *e;
    DIR *d;
    int n = 0;

    cgroup_find(path);
    d = *path ? opendir(path) : NULL;
    snprintf(prefix, sizeof(prefix), "pawl-%d.", (int)getpid());
    while (d && (e = readdir(d)) != NULL)
        n += strncmp(e->d_name, prefix, strlen(prefix)) == 0;
    if (d)
        closedir(d);
    return n;
}

/* Runs an attempt. After its shim was forked, and before the shim does anything, `fill` fills the
 * disk except for `left` blocks or files. */
static struct seen *run_while_disk_fills(struct worker *w, const struct job *t, void (*fill)(int),
                                         int left)
{
    pid_t shim = late_shim(w, t);

    fill(left);
    CHECK_OK(kill(shim, SIGCONT));
    return worker_wait(w, t);
}

static struct worker *worker_on_small_disk(const char *size, const char *point)
{
    struct worker *w;

    CHECK_OK(mkdir(attempts_dir(), 0711));
    mount_small_disk(attempts_dir(), size);
    setenv("PAWL_SHIM_POINT", point, 1);
    w = worker_new();
    unsetenv("PAWL_SHIM_POINT");
    return w;
}

static struct worker *worker_with_late_shims_on_small_disk(const char *size)
{
    return worker_on_small_disk(size, "=before-lock");
}

static void fill_blocks(int left)
{
    char *path = fill_disk(attempts_dir());
    struct stat st;

    CHECK_OK(stat(path, &st));
    CHECK_OK(truncate(path, st.st_size - left * 4096));
    free(path);
}

static void fill_files(int left)
{
    char path[PATH_MAX];
    int n = 0;

    do {
        snprintf(path, sizeof(path), "%s/filler.%d", attempts_dir(), n++);
    } while (close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600)) == 0);
    while (left--) {
        snprintf(path, sizeof(path), "%s/filler.%d", attempts_dir(), left);
        CHECK_OK(unlink(path));
    }
}

static void empty_disk(void)
{
    DIR *d = opendir(attempts_dir());
    struct dirent *e;

    while ((e = readdir(d)) != NULL)
        if (strncmp(e->d_name, "filler", 6) == 0)
            CHECK_OK(unlinkat(dirfd(d), e->d_name, 0));
    closedir(d);
}

/* Whichever file can't be written, the command either runs or is returned without having
 * started. */
static void check_never_lost(struct worker *w, void (*fill)(int), int most)
{
    struct spec spec = {.run = "echo $$ >>begun", .cwd = test_dir()};
    struct job t = task_of(&spec);
    int returned = 0, begun = 0;

    t.execution = getpid(); /* makes the names of its cgroups unique */
    for (int left = 0; left <= most; left++, t.attempt++) {
        struct seen *s = run_while_disk_fills(w, &t, fill, left);

        if (s->o.kind == OUTCOME_REFUSED) {
            CHECK_STR(s->error, "the disk of its state folder is full, so nothing was started");
            CHECK(s->o.retry_delay > 0);
            CHECK_EQ(s->started, 0);
            returned++;
        } else {
            CHECK_EQ(s->o.kind, OUTCOME_OK);
            begun++;
        }
        CHECK_EQ(times_begun(), begun);
        CHECK_EQ(count_cgroups(), 0);
        empty_disk();
        w->x->ops->settled(w->x, t.execution, t.attempt);
    }
    CHECK(returned > 1 && begun > 0);
    worker_free(w);
}

TEST(job_is_returned_to_its_queue_if_the_disk_fills_before_its_command_starts)
{
    check_never_lost(worker_with_late_shims_on_small_disk("1m"), fill_blocks, 4);
}

TEST(job_is_returned_to_its_queue_if_the_disk_runs_out_of_inodes_before_its_command_starts)
{
    check_never_lost(worker_with_late_shims_on_small_disk("1m,nr_inodes=100"), fill_files, 12);
}

/* The shim can write its own record, and neither the files of the task nor the exit record. */
TEST(job_is_returned_to_its_queue_if_its_shim_cannot_write_the_files_of_the_task)
{
    struct worker *w = worker_on_small_disk("1m,nr_inodes=100", "=before-token");
    struct spec spec = {.run = "echo $$ >>begun", .cwd = test_dir()};
    struct job t = task_of(&spec);
    pid_t shim = late_shim(w, &t);
    int at = folder_of(&t);

    CHECK_OK(unlinkat(at, "exit.new", 0));
    close(at);
    fill_files(1);
    CHECK_OK(kill(shim, SIGCONT));
    CHECK_EQ(worker_wait(w, &t)->o.kind, OUTCOME_REFUSED);
    CHECK_EQ(times_begun(), 0);
    worker_free(w);
}

/* Writes the exit record that a shim writes when that step fails: a test can't make a disk fail in
 * exactly these steps. */
static struct seen *adopt_unstarted(struct worker *w, struct job *t, int step, int error)
{
    struct attempt_exit end = {.kind = END_NOT_STARTED, .step = step, .error = error, .code = 126};
    int dir = open(attempts_dir(), O_RDONLY | O_DIRECTORY | O_CLOEXEC), room = -1, at;

    at = attempt_make_folder(dir, t->execution, ++t->attempt);
    CHECK(at >= 0);
    CHECK_OK(record_publish(at, &RECORD_EXIT, &end, &room, NULL));
    close(at);
    close(dir);
    worker_reattach(w, t);
    return worker_wait(w, t);
}

TEST(command_that_cannot_start_for_a_temporary_reason_is_returned_to_its_queue)
{
    struct worker *w = worker_new();
    struct spec spec = {.run = "true"}, limited = {.run = "true", .limits = {.pids = 5}};
    struct job t = task_of(&spec);

    t.attempt = 0;
    CHECK_EQ(adopt_unstarted(w, &t, STEP_FORK, EAGAIN)->o.kind, OUTCOME_REFUSED);
    CHECK_EQ(adopt_unstarted(w, &t, STEP_CWD, ENOMEM)->o.kind, OUTCOME_REFUSED);
    CHECK_EQ(adopt_unstarted(w, &t, STEP_USER, EMFILE)->o.kind, OUTCOME_REFUSED);
    CHECK_EQ(adopt_unstarted(w, &t, STEP_EXEC, EAGAIN)->o.kind, OUTCOME_REFUSED);
    CHECK_EQ(adopt_unstarted(w, &t, STEP_EXEC, EACCES)->o.kind, OUTCOME_FAILED);
    t.spec = &limited; /* its own limit may be the cause */
    CHECK_EQ(adopt_unstarted(w, &t, STEP_FORK, EAGAIN)->o.kind, OUTCOME_REFUSED);
    CHECK_EQ(adopt_unstarted(w, &t, STEP_EXEC, EAGAIN)->o.kind, OUTCOME_FAILED);
    worker_free(w);
}

/* Without spare descriptors the worker could not read the exit record of an attempt, which would
 * then keep its own descriptors. */
TEST(start_with_too_few_descriptors_to_read_the_exit_record_is_refused)
{
    struct worker *w = worker_new();
    struct spec spec = {.run = "echo $$ >>begun; sleep 0.1", .cwd = test_dir()};
    struct job t = task_of(&spec);
    struct err err = ERR_INIT;
    int n = 0;

    allow_files(22);
    while (handles_start(&w->handles, &t, &err) == 0) {
        n++;
        t.attempt++;
    }
    CHECK_EQ(err.code, E_REFUSED);
    CHECK_STR(err.msg,
              "the worker has too few file descriptors left: Too many open files; raise its "
              "limit (ulimit -n)");
    CHECK(n > 0 && n < 8); /* the worker has 8 slots */
    for (t.attempt = 1; t.attempt <= n; t.attempt++)
        CHECK_EQ(worker_wait(w, &t)->o.kind, OUTCOME_OK);
    allow_files(-1);
    CHECK_EQ(times_begun(), n);
    worker_free(w);
}

TEST(adoption_with_too_few_descriptors_to_read_the_exit_record_is_refused)
{
    struct worker *a = worker_new(), *b = worker_new();
    struct spec spec = waiting_spec();
    struct job t = task_of(&spec);
    struct err err = ERR_INIT;
    void *handle = NULL;

    (void)begin(a, &t);
    t.epoch = 2;
    allow_files(4);
    CHECK_EQ(b->x->ops->reattach(b->x, &t, &handle, &err), -E_REFUSED);
    allow_files(-1);
    CHECK(!handle);
    worker_reattach(b, &t);
    let_end("0\n");
    CHECK_EQ(worker_wait(b, &t)->o.kind, OUTCOME_OK);
    worker_free(a);
    worker_free(b);
}
