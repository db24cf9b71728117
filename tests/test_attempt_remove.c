/* test_attempt_remove.c - the removal of attempt folders, whatever a task left in them. */
#include "attempt_fixture.h"

#include <errno.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

TEST_NO_DB;

TEST(folder_removal_does_not_follow_links_out_of_the_folder)
{
    int dir = open_test_folder(), at = make_attempt_folder(), inner;

    CHECK_OK(mkdirat(dir, "precious", 0700));
    inner = openat(dir, "precious", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    put_file(inner, "file", "x");
    close(inner);
    CHECK_OK(symlinkat("../precious", at, "link"));
    CHECK_OK(mkdirat(at, "a", 0700));
    CHECK_OK(mkdirat(at, "a/b", 0700));
    put_file(at, "a/b/c", "x");
    CHECK_OK(fchmodat(at, "a/b", 0, 0));
    CHECK_OK(mkfifoat(at, "a/fifo", 0600));
    close(at);
    CHECK_OK(attempt_remove_folder(dir, "12.3"));
    CHECK_EQ(faccessat(dir, "12.3", F_OK, 0), -1);
    CHECK_OK(faccessat(dir, "precious/file", F_OK, 0));
    CHECK_EQ(attempt_remove_folder(dir, "12.3"), -1);
    CHECK_EQ(errno, ENOENT);
    CHECK_OK(symlinkat("precious", dir, "12.4"));
    CHECK_OK(attempt_remove_folder(dir, "12.4")); /* removes only the link */
    CHECK_OK(faccessat(dir, "precious/file", F_OK, 0));
    close(dir);
}

TEST(folder_removal_reaches_any_depth_with_few_file_descriptors)
{
    int dir = open_test_folder(), at = make_attempt_folder();
    struct rlimit few = {.rlim_cur = 40, .rlim_max = 40};

    for (int i = 0; i < 3000; i++) {
        int next;

        CHECK_OK(mkdirat(at, "deep", 0700));
        CHECK_OK(mkdirat(at, ".removed-0", 0700)); /* a name that the removal uses itself */
        CHECK_OK(mkfifoat(at, "fifo", 0600));
        put_file(at, ".removed-1", "x");
        CHECK_OK(symlinkat("..", at, "link"));
        next = openat(at, "deep", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        close(at);
        at = next;
    }
    close(at);
    CHECK_OK(setrlimit(RLIMIT_NOFILE, &few));
    CHECK_OK(attempt_remove_folder(dir, "12.3"));
    CHECK_EQ(faccessat(dir, "12.3", F_OK, AT_SYMLINK_NOFOLLOW), -1);
    close(dir);
}

/* The immutable file stands for anything that cannot be removed, such as a mount point or a folder
 * of another user. */
TEST(folder_removal_reports_why_a_file_cannot_be_removed_and_removes_the_rest)
{
    int dir = open_test_folder(), at = make_attempt_folder(), fd;
    int flags = FS_IMMUTABLE_FL;

    put_file(at, "stays", "x");
    put_file(at, "goes", "x");
    fd = openat(at, "stays", O_RDONLY | O_CLOEXEC);
    if (ioctl(fd, FS_IOC_SETFLAGS, &flags))
        SKIP("no file can be made immutable here");
    CHECK_EQ(attempt_remove_folder(dir, "12.3"), -1);
    CHECK_EQ(errno, EPERM);
    CHECK_EQ(faccessat(at, "goes", F_OK, 0), -1);
    flags = 0;
    CHECK_OK(ioctl(fd, FS_IOC_SETFLAGS, &flags));
    CHECK_OK(attempt_remove_folder(dir, "12.3"));
    close(fd);
    close(at);
    close(dir);
}

/* The user namespace of a rootless container leaves such folders behind: the worker's user can
 * neither remove nor move them or their content. */
TEST(folder_removal_fails_on_another_users_subfolder_and_removes_the_rest)
{
    int dir = open_test_folder(), at = make_attempt_folder(), b;

    if (geteuid() != 0)
        SKIP("only root can make a folder of another user");
    CHECK_OK(fchmod(dir, 0777));
    CHECK_OK(mkdirat(at, "a", 0700));
    CHECK_OK(mkdirat(at, "a/theirs", 0755));
    b = openat(at, "a/theirs", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    put_file(b, "stays", "x");
    put_file(at, "goes", "x");
    CHECK_OK(fchownat(at, "a", 65534, 65534, 0));
    CHECK_OK(fchownat(at, "", 65534, 65534, AT_EMPTY_PATH));
    CHECK_OK(seteuid(65534));
    CHECK_EQ(attempt_remove_folder(dir, "12.3"), -1);
    CHECK_OK(seteuid(0));
    CHECK_EQ(faccessat(at, "goes", F_OK, 0), -1);
    CHECK_OK(faccessat(b, "stays", F_OK, 0));
    CHECK_OK(attempt_remove_folder(dir, "12.3"));
    close(b);
    close(at);
    close(dir);
}
