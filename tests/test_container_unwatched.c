/* test_container_unwatched.c - containers whose shim was killed, while the next one can't be
 * started or the records can't be read for a while: they are left alone until that is over. */
#include "container_fixture.h"
#include "disk_fixture.h"

TEST_NO_DB;

/* A command that writes its pid to the file `main` and waits for the file `go`. */
static struct spec waiting_command(void)
{
    static char run[2 * PATH_MAX + 100];

    snprintf(run, sizeof(run), "echo $$ >>%s/main; until [ -e %s/go ]; do sleep 0.02; done",
             test_dir(), test_dir());
    return (struct spec){.run = run};
}

static void lose_worker_and_shim(struct stage *g)
{
    pid_t shim = shim_of(&g->t);

    stage_lose_worker(g);
    CHECK_OK(kill(shim, SIGKILL));
    while (!is_gone(shim))
        clock_sleep_us(1000);
}

/* While this descriptor is open, opening the file fails with EAGAIN, which passes. */
static int hide_file(const struct stage *g, const char *name)
{
    int at = folder_of(&g->t), fd = openat(at, name, O_RDWR | O_CLOEXEC);

    CHECK(fd >= 0);
    signal(SIGIO, SIG_IGN);
    CHECK_OK(fcntl(fd, F_SETLEASE, F_WRLCK));
    close(at);
    return fd;
}

static void check_left_alone(struct stage *g, int polls)
{
    for (int i = 0; i < polls; i++)
        worker_poll(g->w, 10000);
    CHECK(!is_gone(g->main));
    CHECK_EQ(stage_seen(g)->ended, 0);
}

static void check_succeeds(struct stage *g)
{
    write_text(path_of("go"), "");
    CHECK_EQ(stage_wait(g)->o.kind, OUTCOME_OK);
    CHECK_EQ(containers(), 0);
}

TEST(container_is_left_alone_while_its_record_cannot_be_read)
{
    struct spec spec = waiting_command();
    struct stage g = stage_of(&spec);
    int hidden;

    stage_begin(&g);
    lose_worker_and_shim(&g);
    hidden = hide_file(&g, RECORD_CONTAINER.name);
    stage_adopt(&g, (struct process_options){0});
    check_left_alone(&g, 50);
    close(hidden);
    check_succeeds(&g);
    stage_end(&g);
}

TEST(adoption_is_refused_while_the_command_that_removes_the_container_cannot_be_read)
{
    struct spec spec = waiting_command();
    struct stage g = stage_of(&spec);
    struct err err = ERR_INIT;
    void *handle = NULL;
    int hidden;

    stage_begin(&g);
    lose_worker_and_shim(&g);
    hidden = hide_file(&g, ATTEMPT_UNDO);
    g.w = container_worker((struct process_options){0});
    g.t.epoch++;
    CHECK_EQ(g.w->x->ops->reattach(g.w->x, &g.t, &handle, &err), -E_REFUSED);
    CHECK(handle == NULL);
    close(hidden);
    worker_reattach(g.w, &g.t);
    check_succeeds(&g);
    stage_end(&g);
}

TEST(container_is_left_alone_while_the_disk_is_full)
{
    struct spec spec = waiting_command();
    struct stage g;
    char *filler;

    CHECK_OK(mkdir(attempts_dir(), 0711));
    mount_small_disk(attempts_dir(), "1m");
    g = stage_of(&spec);
    stage_begin(&g);
    lose_worker_and_shim(&g);
    filler = fill_disk(attempts_dir());
    stage_adopt(&g, (struct process_options){0});
    check_left_alone(&g, 100);
    CHECK_OK(unlink(filler));
    free(filler);
    check_succeeds(&g);
    stage_end(&g);
}

/* Without the cancel, the container would run on. */
TEST(container_that_no_shim_can_watch_is_ended_by_a_cancel)
{
    struct spec spec = waiting_command();
    struct stage g;
    char *filler;

    CHECK_OK(mkdir(attempts_dir(), 0711));
    mount_small_disk(attempts_dir(), "1m");
    g = stage_of(&spec);
    stage_begin(&g);
    lose_worker_and_shim(&g);
    filler = fill_disk(attempts_dir());
    g.t.cancel = true;
    stage_adopt(&g, (struct process_options){0});
    CHECK_EQ(stage_wait(&g)->o.kind, OUTCOME_CANCELLED);
    CHECK(is_gone(g.main));
    CHECK_EQ(containers(), 0);
    CHECK_OK(unlink(filler));
    free(filler);
    stage_end(&g);
}

TEST(reserved_record_of_a_dead_shim_is_used_by_the_next_shim)
{
    int at = open(test_dir(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int first = record_reserve(at, &RECORD_EXIT), second;
    struct attempt_exit end = {.kind = END_EXITED}, read = {0};
    struct stat a, b;

    second = record_reserve(at, &RECORD_EXIT);
    CHECK(first >= 0 && second >= 0);
    CHECK_OK(fstat(first, &a));
    CHECK_OK(fstat(second, &b));
    CHECK_EQ(a.st_ino, b.st_ino);
    CHECK_OK(record_publish(at, &RECORD_EXIT, &end, &second, NULL));
    CHECK_EQ(record_read(at, &RECORD_EXIT, &read), 1);
    CHECK_EQ(read.kind, END_EXITED);
    close(first);
    close(at);
}
