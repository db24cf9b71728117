/* main.c - pawl-shim --helper FD: started by a worker, never by a user. */
#include "base/text.h"
#include "exec/shim/shim.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* From PAWL_SHIM_POINT: NAME kills the shim at that point, =NAME stops it there until SIGCONT. */
static const char *wanted_point;
static int point_signal = SIGKILL;

void test_point(const char *where)
{
    if (wanted_point && strcmp(wanted_point, where) == 0)
        kill(getpid(), point_signal);
}

void test_points_are_resumed(void)
{
    static const char prefix[] = "resumed:";

    if (wanted_point && strncmp(wanted_point, prefix, sizeof(prefix) - 1) == 0)
        wanted_point += sizeof(prefix) - 1;
    else
        wanted_point = NULL;
}

/* Redirects the standard descriptors to /dev/null: shims outlive the worker and must not keep its
 * terminal and pipes open. */
static int redirect_to_null(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0)
        return -1;
    return null > 2 ? close(null) : 0;
}

int main(int argc, char **argv)
{
    int64_t fd;

    if (argc != 3 || strcmp(argv[1], "--helper") != 0 || text_parse_i64(argv[2], &fd) || fd < 3 ||
        fcntl((int)fd, F_GETFD) < 0) {
        fprintf(stderr, "pawl-shim is started by pawl and is not meant to be run by hand\n");
        return 2;
    }
    wanted_point = getenv("PAWL_SHIM_POINT");
    if (wanted_point && *wanted_point == '=') {
        point_signal = SIGSTOP;
        wanted_point++;
    }
    if (redirect_to_null())
        return 1;
    if (fd > 3)
        close_range(3, (unsigned)fd - 1, 0);
    close_range((unsigned)fd + 1, ~0U, 0);
    fcntl((int)fd, F_SETFD, FD_CLOEXEC);
    return helper_run((int)fd);
}
