/* test_start_marks.c - start marks in a worker's file: which attempts they prove to have never
 * started. */
#include "function_fixture.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

TEST_NO_DB;

static int new_file(void)
{
    char path[4096];
    int fd;

    snprintf(path, sizeof(path), "%s/worker", test_dir());
    fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    CHECK(fd >= 0);
    return fd;
}

TEST(attempt_with_a_start_mark_counts_as_started_until_its_slot_is_used_again)
{
    int fd = new_file();
    struct start_marks *m = start_marks_new(fd, 7);

    CHECK_OK(start_marks_begin(m));
    CHECK(start_marks_prove_unstarted(fd, 7, 1, 1));
    CHECK(!start_marks_prove_unstarted(fd, 8, 1, 1)); /* the database was restored since */
    for (int i = 1; i <= 1000; i++)
        CHECK_OK(start_marks_add(m, i, 1));
    for (int i = 1; i <= 1000; i++) {
        CHECK(!start_marks_prove_unstarted(fd, 7, i, 1));
        CHECK(start_marks_prove_unstarted(fd, 7, i, 2));
    }
    CHECK(start_marks_has(m, 500, 1));
    CHECK(!start_marks_has(m, 500, 2));
    start_marks_drop(m, 500, 2); /* another attempt */
    CHECK_OK(start_marks_add(m, 1001, 1));
    CHECK(!start_marks_prove_unstarted(fd, 7, 500, 1));
    start_marks_drop(m, 500, 1);
    CHECK(!start_marks_has(m, 500, 1));
    CHECK_OK(start_marks_add(m, 1002, 1));
    CHECK(start_marks_prove_unstarted(fd, 7, 500, 1));
    CHECK(!start_marks_prove_unstarted(fd, 7, 1002, 1));
    CHECK_OK(start_marks_add(m, 1002, 2)); /* the slot of its first attempt is free */
    CHECK_OK(start_marks_add(m, 1003, 1));
    CHECK_EQ(lseek(fd, 0, SEEK_END), START_MARKS_AT + 64 + 1002 * 16);
    start_marks_free(m);
    close(fd);
}

TEST(worker_file_of_an_older_version_or_another_boot_proves_no_attempt_unstarted)
{
    int fd = new_file();
    struct start_marks *m = start_marks_new(fd, 7);

    CHECK(!start_marks_prove_unstarted(fd, 7, 1, 1)); /* an older version writes no table */
    CHECK_OK(start_marks_begin(m));
    CHECK(start_marks_prove_unstarted(fd, 7, 1, 1));
    CHECK_EQ(pwrite(fd, "????", 4, START_MARKS_AT + 12), 4); /* the id of the boot */
    CHECK(!start_marks_prove_unstarted(fd, 7, 1, 1));
    CHECK_OK(start_marks_begin(m));
    CHECK_OK(start_marks_add(m, 2, 1));
    CHECK_OK(ftruncate(fd, START_MARKS_AT + 64 + 7));
    CHECK(!start_marks_prove_unstarted(fd, 7, 1, 1)); /* the table is damaged */
    start_marks_free(m);
    close(fd);
}

TEST(function_whose_start_cannot_be_recorded_is_returned_to_its_queue_and_does_not_run)
{
    int fd = new_file(), full = open("/dev/full", O_RDWR | O_CLOEXEC);
    struct start_marks *m = start_marks_new(fd, 7);
    struct gate g = {.open = 1};
    struct fixture fx;

    CHECK(full >= 0);
    open_with(&fx, (struct function_options){.marks = m});
    add(&fx, "gate", until_open, &g);
    CHECK(dup2(full, fd) == fd);
    start(&fx, 1, "gate");
    wait_ended(&fx, 1);
    CHECK_EQ(ended(&fx, 1)->outcome.kind, OUTCOME_REFUSED);
    CHECK(ended(&fx, 1)->outcome.retry_delay > 0);
    CHECK_STR(ended(&fx, 1)->error, "the start of function gate can't be recorded in the worker's "
                                    "file: No space left on device; free disk space or check "
                                    "the state folder");
    CHECK(!find_seen(&fx, REPORT_STARTED, 1));
    CHECK_EQ(ended(&fx, 1)->outcome.duration, -1);
    end(&fx);
    start_marks_free(m);
    close(full);
    close(fd);
}
