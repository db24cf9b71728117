/* start_token.c - the start token in the `lock` of an attempt, see attempt.h.
 *
 * The token is the content of the lock file itself: the shim takes it through the descriptor whose
 * lock it holds, and an adopter reads it through the one whose lock it holds. A lock file that a
 * task removed, replaced or linked has no token of this attempt. The shim overwrites all of it, so
 * that the task can't rebuild a token from what it can read. */
#include "exec/attempt/attempt.h"

#include "base/own_file.h"
#include "base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

struct start_token {
    int64_t execution, attempt;
    char boot[BOOT_ID_SIZE]; /* after a crash of the host, a removed token may be back */
};

static const struct record RECORD_TOKEN = {.name = ATTEMPT_LOCK,
                                           .magic = UINT64_C(0x0a6c776170000008),
                                           .size = sizeof(struct start_token)};

static bool make_token(int64_t execution, int attempt, struct start_token *out)
{
    memset(out, 0, sizeof(*out));
    out->execution = execution;
    out->attempt = attempt;
    return proc_boot_id(out->boot);
}

int attempt_write_start_token(int at, int64_t execution, int attempt)
{
    struct start_token token;
    char bytes[RECORD_MAX];
    size_t len;
    ssize_t n;
    int fd;

    if (!make_token(execution, attempt, &token))
        return 0; /* the attempt runs without a token; later nothing can prove that it did not
                     start */
    len = record_encode(&RECORD_TOKEN, &token, bytes);
    fd = own_file_open(at, ATTEMPT_LOCK, O_WRONLY | O_CREAT | O_EXCL, ATTEMPT_LOCK_MAX);
    if (fd < 0)
        return -1;
    n = pwrite(fd, bytes, len, 0);
    if (n >= 0 && n != (ssize_t)len)
        errno = ENOSPC;
    if (close(fd))
        return -1;
    return n == (ssize_t)len ? 0 : -1;
}

bool attempt_has_start_token(int lock, int64_t execution, int attempt)
{
    struct start_token expected, found;
    char bytes[RECORD_MAX];
    ssize_t n = lock < 0 ? -1 : pread(lock, bytes, sizeof(bytes), 0);

    return n > 0 && record_decode(&RECORD_TOKEN, bytes, (size_t)n, &found) &&
           make_token(execution, attempt, &expected) &&
           memcmp(&found, &expected, sizeof(found)) == 0;
}

/* Overwrites in place, so that a disk that fills up prevents neither taking nor returning the
 * token. */
static int overwrite(int lock, const void *bytes, size_t len)
{
    ssize_t n = pwrite(lock, bytes, len, 0);

    if (n >= 0 && n != (ssize_t)len)
        errno = ENOSPC;
    return n == (ssize_t)len ? 0 : -1;
}

int attempt_take_start_token(int lock, struct taken_token *out)
{
    char blank[RECORD_MAX];
    ssize_t n = pread(lock, out->bytes, sizeof(out->bytes), 0);

    out->len = n > 0 ? (size_t)n : 0;
    memset(blank, 0xff, out->len); /* a compressing file system would free blocks of zeroes */
    return n < 0 ? -1 : overwrite(lock, blank, out->len);
}

/* Puts the token back. If this fails, nothing proves that the command did not start. */
void attempt_return_start_token(int lock, const struct taken_token *t)
{
    (void)overwrite(lock, t->bytes, t->len);
}
