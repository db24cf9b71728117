/* mark.c - the command whose start bench/latency measures: writes the time into a file. It needs
 * only libc, because the time that a program takes to load its libraries is not Pawl's.
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
