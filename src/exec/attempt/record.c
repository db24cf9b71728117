/* record.c - small checksummed records in files, see attempt.h. A record is a magic number, the
 * structure, and a checksum over both, so that a torn, truncated or different file is rejected. */
#include "exec/attempt/attempt.h"

#include "base/fd.h"
#include "base/own_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEMPORARY_NAME_SIZE 40 /* bytes in the name of a record's temporary file */

#define RECORD(file, number, type)                                                           \
    {                                                                                        \
        .name = file, .magic = UINT64_C(0x0a6c776170000000) + (number), .size = sizeof(type) \
    }

const struct record RECORD_SHIM = RECORD("shim", 1, struct attempt_shim);
const struct record RECORD_LEASE = RECORD("lease", 2, struct attempt_lease);
const struct record RECORD_CONTROL = RECORD(ATTEMPT_CONTROL, 3, struct attempt_control);
const struct record RECORD_EXIT = RECORD("exit", 4, struct attempt_exit);
const struct record RECORD_ENDING = RECORD("ending", 6, struct attempt_exit);
const struct record RECORD_LOG_POS = RECORD("log.pos", 5, struct attempt_log_pos);
const struct record RECORD_CONTAINER = RECORD("container", 7, struct attempt_container);

_Static_assert(sizeof(struct attempt_shim) + 16 <= RECORD_MAX, "the largest record must fit");

/* FNV-1a: detects torn writes and flipped bits, not forgery. */
static uint64_t checksum(const void *p, size_t len)
{
    const unsigned char *at = p;
    uint64_t h = UINT64_C(0xcbf29ce484222325);

    while (len--)
        h = (h ^ *at++) * UINT64_C(0x100000001b3);
    return h;
}

size_t record_encode(const struct record *kind, const void *from, void *out)
{
    size_t body = sizeof(kind->magic) + kind->size;
    char *at = out;
    uint64_t sum;

    memcpy(at, &kind->magic, sizeof(kind->magic));
    memcpy(at + sizeof(kind->magic), from, kind->size);
    sum = checksum(at, body);
    memcpy(at + body, &sum, sizeof(sum));
    return body + sizeof(sum);
}

bool record_decode(const struct record *kind, const void *bytes, size_t len, void *to)
{
    size_t body = sizeof(kind->magic) + kind->size;
    const char *at = bytes;
    uint64_t sum;

    if (len != body + sizeof(sum) || memcmp(at, &kind->magic, sizeof(kind->magic)) != 0)
        return false;
    memcpy(&sum, at + body, sizeof(sum));
    if (sum != checksum(at, body))
        return false;
    memcpy(to, at + sizeof(kind->magic), kind->size);
    return true;
}

int record_read(int at, const struct record *kind, void *to)
{
    char bytes[RECORD_MAX + 1];
    AUTO_FD fd = own_file_open(at, kind->name, O_RDONLY, RECORD_MAX);
    bool good = false;

    if (fd < 0)
        return errno == ENOENT ? 0 : -1;
    /* The record may be in the middle of being overwritten: read again. */
    for (int i = 0; i < 3 && !good; i++) {
        ssize_t n = pread(fd, bytes, sizeof(bytes), 0);

        good = n > 0 && record_decode(kind, bytes, (size_t)n, to);
        if (n >= 0)
            errno = EBADMSG;
    }
    return good ? 1 : -1;
}

bool error_may_pass(int error)
{
    return error == EIO || error == ENOMEM || error == EMFILE || error == ENFILE ||
           error == ENOSPC || error == EDQUOT || error == EFBIG || error == EINTR ||
           error == EAGAIN; /* a process has a file lease, fcntl(2); the kernel breaks it */
}

/* Writes the whole length in one write, so that all blocks are allocated. */
static int overwrite(int fd, const void *bytes, size_t len)
{
    ssize_t n = pwrite(fd, bytes, len, 0);

    if (n >= 0 && n != (ssize_t)len)
        errno = ENOSPC;
    return n == (ssize_t)len ? 0 : -1;
}

int record_write(int at, const struct record *kind, const void *from)
{
    char bytes[RECORD_MAX];
    size_t len = record_encode(kind, from, bytes);
    int fd = own_file_open(at, kind->name, O_WRONLY | O_CREAT, RECORD_MAX), rc;

    if (fd < 0)
        return -1;
    rc = overwrite(fd, bytes, len);
    return close(fd) ? -1 : rc;
}

/* ---- reserved records ---- */

static const char *temporary_name(const struct record *kind, char out[TEMPORARY_NAME_SIZE])
{
    snprintf(out, TEMPORARY_NAME_SIZE, "%s.new", kind->name);
    return out;
}

/* Opens the file that another process reserved: its blocks may be the last ones of the disk. A file
 * with a second hard link is refused: under its other name it may be any file. */
static int reopen_reserved(int at, const char *name)
{
    int fd = own_file_open(at, name, O_RDWR, RECORD_MAX);
    struct stat st;

    if (fd >= 0 && (fstat(fd, &st) || st.st_nlink != 1))
        fd_close(&fd);
    return fd;
}

int record_reserve(int at, const struct record *kind)
{
    char name[TEMPORARY_NAME_SIZE], bytes[RECORD_MAX];
    size_t len = sizeof(kind->magic) + kind->size + sizeof(uint64_t);
    const int flags = O_RDWR | O_CREAT | O_EXCL;
    int fd = own_file_open(at, temporary_name(kind, name), flags, RECORD_MAX), saved;
    bool reopened = false;

    if (fd < 0 && errno == EEXIST) {
        fd = reopen_reserved(at, name);
        reopened = fd >= 0;
        if (!reopened && unlinkat(at, name, 0) == 0)
            fd = own_file_open(at, name, flags, RECORD_MAX);
    }
    if (fd < 0)
        return -1;
    memset(bytes, 0xff, len); /* a compressing file system would allocate no blocks for zeroes */
    if (overwrite(fd, bytes, len) == 0)
        return fd;
    saved = errno;
    close(fd);
    if (!reopened)
        (void)unlinkat(at, name, 0);
    errno = saved;
    return -1;
}

void record_release(int at, const struct record *kind)
{
    char name[TEMPORARY_NAME_SIZE];

    (void)unlinkat(at, temporary_name(kind, name), 0);
}

/* Whether fd is the file of that name: the task may have removed or replaced it. */
static bool is_named(int at, const char *name, int fd)
{
    struct stat named, open;

    return fd >= 0 && fstat(fd, &open) == 0 &&
           fstatat(at, name, &named, AT_SYMLINK_NOFOLLOW) == 0 && named.st_ino == open.st_ino &&
           named.st_dev == open.st_dev;
}

int record_publish(int at, const struct record *kind, const void *from, int *reserved,
                   void (*step)(const char *where))
{
    char name[TEMPORARY_NAME_SIZE], bytes[RECORD_MAX];
    size_t len = record_encode(kind, from, bytes);

    if (own_file_fault(at, temporary_name(kind, name), OWN_FILE_ANY_SIZE) ||
        own_file_fault(at, kind->name, OWN_FILE_ANY_SIZE)) {
        errno = ENOSTR;
        return -1;
    }
    if (!is_named(at, name, *reserved)) {
        fd_close(reserved);
        *reserved = record_reserve(at, kind);
        if (*reserved < 0)
            return -1;
    }
    /* The task may have appended to the file; a file that is too long is not read as a record. */
    if (overwrite(*reserved, bytes, len) || ftruncate(*reserved, (off_t)len))
        return -1;
    if (step)
        step("written");
    if (renameat(at, name, at, kind->name))
        return -1;
    if (step)
        step("renamed");
    fd_close(reserved);
    return 0;
}

const char *attempt_step_text(int64_t step)
{
    static const char *const texts[] = {[STEP_NONE] = "start",
#define X(name, text) [STEP_##name] = text,
                                        ATTEMPT_STEPS(X)
#undef X
    };
    return step >= 0 && step < (int64_t)(sizeof(texts) / sizeof(*texts)) ? texts[step] : texts[0];
}
