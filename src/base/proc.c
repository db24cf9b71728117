/* proc.c - reads the state of a process from /proc; see proc.h. */
#include "base/proc.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool proc_read(int at, const char *name, size_t max, struct buf *out)
{
    int fd = openat(at, name, O_RDONLY | O_CLOEXEC);
    bool done;

    buf_reset(out);
    if (fd < 0)
        return false;
    done = buf_read(out, fd, max);
    close(fd);
    return done;
}

/* In /proc/PID/stat, the program's name is in parentheses and may itself contain parentheses, so
 * search for the last one. */
bool proc_parse_stat(const char *text, struct proc_stat *out)
{
    const char *p = strrchr(text, ')');
    int session;
    unsigned long long start;

    if (!p ||
        sscanf(p + 1,
               " %c %*d %*d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
               &out->state, &session, &start) != 3)
        return false;
    out->session = session;
    out->start_time = (int64_t)start;
    return true;
}

bool proc_stat(pid_t pid, struct proc_stat *out)
{
    char path[40], text[1024];
    ssize_t n;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    n = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (n <= 0)
        return false;
    text[n] = 0;
    return proc_parse_stat(text, out);
}

int64_t proc_start_time(pid_t pid)
{
    struct proc_stat s;

    return proc_stat(pid, &s) ? s.start_time : -1;
}

bool proc_is_shortage(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOMEM;
}

uint64_t proc_pid_namespace(void)
{
    struct stat st;

    return stat("/proc/self/ns/pid", &st) ? 0 : (uint64_t)st.st_ino;
}

uint64_t proc_place(void)
{
    uint64_t h = proc_pid_namespace();
    char boot[BOOT_ID_SIZE];

    if (!h || !proc_boot_id(boot))
        return 0;
    for (const char *at = boot; *at; at++)
        h = (h ^ (unsigned char)*at) * UINT64_C(0x100000001b3);
    return h ? h : 1;
}

bool proc_boot_id(char out[BOOT_ID_SIZE])
{
    AUTO_FD fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, out, BOOT_ID_SIZE - 1);

    memset(out + (n > 0 ? n : 0), 0, BOOT_ID_SIZE - (size_t)(n > 0 ? n : 0));
    out[strcspn(out, "\n")] = '\0';
    return n > 0;
}
