/* attempt_fixture.h - an attempt folder in the test's folder. */
#ifndef TESTS_ATTEMPT_FIXTURE_H
#define TESTS_ATTEMPT_FIXTURE_H

#include "exec/attempt/attempt.h"
#include "harness.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static inline int open_test_folder(void)
{
    int dir = open(test_dir(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    CHECK(dir >= 0);
    return dir;
}

/* The folder of attempt 3 of execution 12. */
static inline int make_attempt_folder(void)
{
    int dir = open_test_folder(), at;

    at = attempt_make_folder(dir, 12, 3);
    CHECK(at >= 0);
    close(dir);
    return at;
}

static inline void put_file(int at, const char *name, const char *text)
{
    int fd = openat(at, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    CHECK_EQ(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

#endif
