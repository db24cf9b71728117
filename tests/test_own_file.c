/* test_own_file.c - files in folders that other programs of the same user can change. */
#include "base/own_file.h"
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

TEST_NO_DB;

static int open_test_dir(void)
{
    int at = open(test_dir(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    CHECK(at >= 0);
    return at;
}

static void put_file(int at, const char *name, const char *text)
{
    int fd = openat(at, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    CHECK_EQ(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

/* Each kind of object that may have replaced one of Pawl's files. Opening it must not block. */
TEST(open_of_anything_but_a_regular_file_of_allowed_size_is_refused_immediately)
{
    static const struct {
        const char *fault;
        int error;
    } cases[] = {{"it is a FIFO", ENOSTR},
                 {"it is a folder", EISDIR},
                 {"it is a symbolic link", ELOOP},
                 {"it is too large", EOVERFLOW}};
    static const int flags[] = {O_RDONLY, O_RDWR, O_WRONLY, O_RDWR | O_CREAT, O_WRONLY | O_CREAT};
    int at = open_test_dir(), fd;

    CHECK_OK(mkfifoat(at, "0", 0600));
    CHECK_OK(mkdirat(at, "1", 0700));
    CHECK_OK(symlinkat("plain", at, "2"));
    put_file(at, "plain", "x");
    fd = openat(at, "3", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    CHECK_OK(ftruncate(fd, INT64_C(50) << 30));
    close(fd);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const char name[] = {(char)('0' + i), 0};

        for (size_t j = 0; j < sizeof(flags) / sizeof(*flags); j++) {
            CHECK_EQ(own_file_open(at, name, flags[j], 1000), -1);
            CHECK_EQ(errno, cases[i].error);
            CHECK(own_file_is_fault(errno));
        }
        CHECK_STR(own_file_fault(at, name, 1000), cases[i].fault);
    }
    CHECK_STR(own_file_fault(at, "plain", 1000), NULL);
    CHECK_STR(own_file_fault(at, "nowhere", 1000), NULL);
    fd = own_file_open(at, "plain", O_RDONLY, 1);
    CHECK(fd >= 0);
    CHECK_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
    close(fd);
    close(at);
}

TEST(open_of_a_file_that_belongs_to_another_user_is_refused)
{
    int at = open_test_dir(), fd;

    put_file(at, "file", "x");
    if (fchownat(at, "file", 12345, (gid_t)-1, AT_SYMLINK_NOFOLLOW))
        SKIP("only root can give files away");
    CHECK_EQ(own_file_open(at, "file", O_RDONLY, 1000), -1);
    CHECK_EQ(errno, EPERM);
    fd = own_file_open_given(at, "file", O_RDONLY, 1000);
    CHECK(fd >= 0);
    close(fd);
    CHECK_OK(
        fchown(at, 12345, (gid_t)-1)); /* root accepts a folder that belongs to that user, too */
    fd = own_file_open(at, "file", O_RDONLY, 1000);
    CHECK(fd >= 0);
    close(fd);
    close(at);
}
