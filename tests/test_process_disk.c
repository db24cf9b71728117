/* test_process_disk.c - the disk of the state folder is full, or fails, while a command runs. A
 * known outcome is never recorded as a different one. */
#include "disk_fixture.h"
#include "process_wait_fixture.h"

#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/resource.h>

TEST_NO_DB;

/* Only the attempts are on a small disk, not the other files of the test. */
static struct worker *worker_on_small_disk(struct process_options o)
{
    CHECK_OK(mkdir(attempts_dir(), 0711));
    mount_small_disk(attempts_dir(), "1m");
    return worker_with(o);
}

/* ---- full disks ---- */

TEST(command_that_ends_while_the_disk_is_full_succeeds)
{
    struct worker *w = worker_on_small_disk((struct process_options){0});
    struct spec spec = waiting_spec();
    struct job t = task_of(&spec);
    struct seen *s;
    char *filler;

    (void)begin(w, &t);
    UNTIL(w, seen_of(w, t.execution, t.attempt)->log.len);
    UNTIL(w, *read_text(path_of("attempts/7.1/output")));
    filler = fill_disk(attempts_dir());
    let_end("0\n");
    s = worker_wait(w, &t);
    CHECK_EQ(s->o.kind, OUTCOME_OK);
    CHECK_STR(s->result, "{\"a\":\"1\"}");
    CHECK_STR(buf_cstr(&s->log), "output\n");
    free(filler);
    worker_free(w);
}

TEST(command_that_fails_while_the_disk_is_full_keeps_its_exit_code)
{
    struct worker *w = worker_on_small_disk((struct process_options){0});
    struct spec spec = waiting_spec();
    struct job t = task_of(&spec);
    struct seen *s;
    char *filler;

    (void)begin(w, &t);
    filler = fill_disk(attempts_dir());
    let_end("3\n");
    s = worker_wait(w, &t);
    CHECK_EQ(s->o.kind, OUTCOME_FAILED);
    CHECK_EQ(s->o.exit_code, 3);
    free(filler);
    worker_free(w);
}

TEST(command_that_ends_while_the_disk_is_full_is_adopted_as_a_success)
{
    struct worker *a = worker_on_small_disk((struct process_options){0}), *b;
    struct spec spec = waiting_spec();
    struct job t = task_of(&spec);
    char *filler;

    (void)begin(a, &t);
    filler = fill_disk(attempts_dir());
    b = next_worker(a, &t);
    let_end("0\n");
    CHECK_EQ(worker_wait(b, &t)->o.kind, OUTCOME_OK);
    free(filler);
    worker_free(b);
}

/* Without renewals the fence would kill the command of a healthy worker. */
TEST(lease_renewals_reach_the_shim_while_the_disk_is_full)
{
    const struct process_options o = {.fence = SECOND / 2, .lease = SECOND};
    struct worker *w = worker_on_small_disk(o);
    struct spec spec = waiting_spec();
    struct job t = task_of(&spec);
    int64_t fence;
    char *filler;

    t.lease_until = clock_boot_us() + SECOND;
    fence = t.lease_until + o.fence;
    (void)begin(w, &t);
    filler = fill_disk(attempts_dir());
    while (clock_boot_us() < fence + SECOND / 2) {
        handles_renewed(&w->handles, t.execution, t.attempt, clock_boot_us() + SECOND);
        worker_poll(w, 100000);
    }
    let_end("0\n");
    CHECK_EQ(worker_wait(w, &t)->o.kind, OUTCOME_OK);
    free(filler);
    worker_free(w);
}

TEST(job_is_refused_while_the_disk_is_full)
{
    struct worker *w = worker_on_small_disk((struct process_options){0});
    struct spec spec = {.run = "echo $$ >>begun", .cwd = test_dir()};
    struct job t = task_of(&spec);
    char *filler = fill_disk(attempts_dir()), *text;
    struct err err = ERR_INIT;

    text = mem_printf("the disk of the state folder %s is full", attempts_dir());
    CHECK_EQ(handles_start(&w->handles, &t, &err), -E_REFUSED);
    CHECK_STR(err.msg, text);
    CHECK_EQ(count_files(attempts_dir()), 1); /* the file that fills the disk */
    CHECK_OK(unlink(filler));
    CHECK_EQ(worker_run(w, &t)->o.kind, OUTCOME_OK);
    CHECK_EQ(times_begun(), 1);
    free(filler);
    free(text);
    worker_free(w);
}

TEST(output_lost_to_a_full_disk_is_counted_in_the_log)
{
    struct worker *w = worker_on_small_disk((struct process_options){0});
    struct spec spec = {.run = "echo $$ >begun; echo first; read x <fifo;"
                               "head -c 200000 /dev/zero | tr '\\0' x",
                        .cwd = test_dir()};
    struct job t = task_of(&spec);
    struct seen *s = seen_of(w, t.execution, t.attempt);
    char text[100], *filler;

    CHECK_OK(mkfifo(path_of("fifo"), 0600));
    (void)begin(w, &t);
    UNTIL(w, s->log.len);
    filler = fill_disk(attempts_dir());
    let_end("x\n");
    CHECK_EQ(worker_wait(w, &t)->o.kind, OUTCOME_OK);
    CHECK(s->dropped > 100000 && s->dropped < 200000);
    CHECK(strncmp(buf_cstr(&s->log), "first\nxxx", 9) == 0);
    snprintf(text, sizeof(text),
             "xxxpawl: %lld bytes of the output are missing: the log had no room for them\n",
             (long long)s->dropped);
    CHECK(strstr(buf_cstr(&s->log), text));
    CHECK_EQ((long long)s->log.len + s->dropped - ((long long)strlen(text) - 3), 6 + 200000);
    free(filler);
    worker_free(w);
}

/* ---- writes that fail ---- */

TEST(failed_write_of_an_exit_record_is_retried_until_it_succeeds)
{
    struct worker *w = worker_new();
    struct spec spec = waiting_spec();
    struct job t = task_of(&spec);
    struct seen *s;
    pid_t shim;

    (void)begin(w, &t);
    shim = shim_of(&t);
    let_shim_write(shim, false);
    end_unwritten(w, &t);
    poll_for(w, SECOND / 2);
    CHECK_EQ(seen_of(w, t.execution, t.attempt)->ended, 0);
    let_shim_write(shim, true);
    s = worker_wait(w, &t);
    CHECK_EQ(s->o.kind, OUTCOME_OK);
    CHECK_STR(s->result, "{\"a\":\"1\"}");
    worker_free(w);
}

TEST(failed_rename_of_an_exit_record_is_retried_until_it_succeeds)
{
    struct worker *w = worker_new();
    struct spec spec = waiting_spec();
    struct job t = task_of(&spec);
    int at, flags = FS_IMMUTABLE_FL;

    (void)begin(w, &t);
    UNTIL(w, seen_of(w, t.execution, t.attempt)->log.len);
    at = folder_of(&t);
    if (ioctl(at, FS_IOC_SETFLAGS, &flags)) {
        let_end("0\n");
        SKIP("no folder can be made immutable here");
    }
    end_unwritten(w, &t);
    flags = 0;
    CHECK_OK(ioctl(at, FS_IOC_SETFLAGS, &flags));
    CHECK_EQ(worker_wait(w, &t)->o.kind, OUTCOME_OK);
    close(at);
    worker_free(w);
}

TEST(exit_record_whose_reserved_file_was_removed_is_still_written)
{
    struct worker *w = worker_new();
    struct spec spec = waiting_spec();
    struct job t = task_of(&spec);
    int at;

    (void)begin(w, &t);
    at = folder_of(&t);
    CHECK_OK(unlinkat(at, "exit.new", 0));
    let_end("0\n");
    CHECK_EQ(worker_wait(w, &t)->o.kind, OUTCOME_OK);
    close(at);
    worker_free(w);
}

TEST(adopter_waits_until_the_shim_can_write_its_exit_record)
{
    struct worker *a = worker_new(), *b;
    struct spec spec = waiting_spec();
    struct job t = task_of(&spec);
    pid_t shim;

    (void)begin(a, &t);
    shim = shim_of(&t);
    let_shim_write(shim, false);
    end_unwritten(a, &t);
    b = next_worker(a, &t);
    poll_for(b, SECOND / 4);
    CHECK_EQ(seen_of(b, t.execution, t.attempt)->ended, 0);
    let_shim_write(shim, true);
    CHECK_EQ(worker_wait(b, &t)->o.kind, OUTCOME_OK);
    worker_free(b);
}

static void keep_note(void *arg, const char *sentence)
{
    snprintf(arg, 300, "%s", sentence);
}

/* The command ended in time, so its own outcome counts. */
TEST(timeout_does_not_end_a_shim_that_cannot_write_its_exit_record)
{
    char last_note[300] = "";
    struct env env = {.note = keep_note, .arg = last_note};
    struct worker *w =
        worker_with((struct process_options){.lease = SECOND / 5, .grace = -1, .env = &env});
    struct spec spec = waiting_spec();
    struct job t = task_of(&spec);
    pid_t shim;

    spec.timeout = SECOND;
    (void)begin(w, &t);
    shim = shim_of(&t);
    let_shim_write(shim, false);
    end_unwritten(w, &t);
    UNTIL(w, *last_note);
    CHECK_STR(
        last_note,
        "attempt 1 of execution 7 has ended, but its shim can't write its exit record "
        "or its outputs; the worker keeps trying until that succeeds or the execution is cancelled");
    poll_for(w, SECOND);
    let_shim_write(shim, true);
    CHECK_EQ(worker_wait(w, &t)->o.kind, OUTCOME_OK);
    worker_free(w);
}

TEST(cancel_ends_a_shim_that_cannot_write_its_exit_record)
{
    struct worker *w = worker_with((struct process_options){.lease = SECOND / 5, .grace = -1});
    struct spec spec = waiting_spec();
    struct job t = task_of(&spec);
    pid_t shim;

    (void)begin(w, &t);
    shim = shim_of(&t);
    let_shim_write(shim, false);
    end_unwritten(w, &t);
    handles_cancel(&w->handles, t.execution, t.attempt, OUTCOME_CANCELLED);
    CHECK_EQ(worker_wait(w, &t)->o.kind, OUTCOME_CANCELLED);
    CHECK(is_gone(shim));
    worker_free(w);
}

TEST(outputs_are_kept_until_their_secrets_can_be_masked)
{
    const char *const names[] = {"TOKEN", NULL};
    struct spec spec = waiting_spec();
    struct job t = task_of(&spec);
    struct worker *w;
    struct seen *s;
    pid_t shim;

    setenv("TOKEN", "hunter2hunter2", 1);
    spec.run =
        "echo $$ >begun; echo v=$TOKEN >>$PAWL_OUTPUT; echo w=2 >>$PAWL_OUTPUT; read x <fifo";
    spec.secrets = names;
    spec.nsecrets = 1;
    w = worker_new();
    (void)begin(w, &t);
    shim = shim_of(&t);
    let_shim_write(shim, false);
    end_unwritten(w, &t);
    let_shim_write(shim, true);
    s = worker_wait(w, &t);
    CHECK_EQ(s->o.kind, OUTCOME_OK);
    CHECK_STR(s->result, "{\"v\":\"***\",\"w\":\"2\"}");
    worker_free(w);
}

/* ---- reads that fail ---- */

TEST(exit_record_that_is_temporarily_unreadable_is_read_later)
{
    char last_note[300] = "";
    struct env env = {.note = keep_note, .arg = last_note};
    struct worker *a = worker_new(), *b;
    struct spec spec = {.run = "echo a=1 >>$PAWL_OUTPUT"};
    struct job t = task_of(&spec);
    struct seen *s;

    CHECK_EQ(worker_run(a, &t)->o.kind, OUTCOME_OK);
    worker_free(a);
    b = worker_with((struct process_options){.env = &env});
    t.epoch = 2;
    worker_reattach(b, &t);
    s = seen_of(b, t.execution, t.attempt);
    allow_files(1); /* the lock, but no record */
    poll_for(b, SECOND / 4);
    allow_files(-1);
    CHECK_EQ(s->ended, 0);
    CHECK(strstr(last_note, "its records can't be read: Too many open files"));
    CHECK_EQ(worker_wait(b, &t)->o.kind, OUTCOME_OK);
    CHECK_STR(s->result, "{\"a\":\"1\"}");
    worker_free(b);
}
