/* mark.c - the command whose start bench/latency measures: leaves the time in a file. It needs
 * nothing but libc, as what a program loads before it begins is its own affair.
 *
 *   mark FILE */
#include <fcntl.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    struct timespec t;
    int64_t now;
    int fd;

    clock_gettime(CLOCK_BOOTTIME, &t);
    now = (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
    if (argc != 2)
        return 2;
    fd = open(argv[1], O_WRONLY | O_CLOEXEC);
    return fd < 0 || pwrite(fd, &now, sizeof(now), 0) != (ssize_t)sizeof(now);
}
