/* request.c - encodes requests and sends packets, see request.h. The bytes of a request: all
 * numbers, then each string as a mark and its characters, then each list as its strings and an end
 * mark. */
#include "exec/process/request.h"

#include "base/fd.h"
#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MARK_NONE, MARK_TEXT };

static void put_text(struct buf *out, const char *s)
{
    buf_addch(out, s ? MARK_TEXT : MARK_NONE);
    if (s)
        buf_add(out, s, strlen(s) + 1);
}

static void put_list(struct buf *out, const char **list)
{
    for (; list && *list; list++)
        put_text(out, *list);
    put_text(out, NULL);
}

void request_write(const struct request *r, struct buf *out)
{
#define X(name) buf_add(out, &r->name, sizeof(r->name));
    REQUEST_NUMBERS(X)
#undef X
#define X(name) put_text(out, r->name);
    REQUEST_TEXTS(X)
#undef X
#define X(name) put_list(out, r->name);
    REQUEST_LISTS(X)
#undef X
}

struct reader {
    const char *at;
    size_t left;
    bool bad;
};

static void get_number(struct reader *r, int64_t *n)
{
    if (r->left < sizeof(*n)) {
        r->bad = true;
        return;
    }
    memcpy(n, r->at, sizeof(*n));
    r->at += sizeof(*n);
    r->left -= sizeof(*n);
}

static const char *get_text(struct reader *r)
{
    const char *s, *end;

    if (r->bad || !r->left) {
        r->bad = true;
        return NULL;
    }
    r->left--;
    if (*r->at++ == MARK_NONE)
        return NULL;
    s = r->at;
    end = memchr(s, '\0', r->left);
    if (!end) {
        r->bad = true;
        return NULL;
    }
    r->left -= (size_t)(end - s) + 1;
    r->at = end + 1;
    return s;
}

static const char **get_list(struct reader *r)
{
    VEC(const char *) list = {0};
    const char *s;

    do {
        s = get_text(r);
        *vec_add(&list) = s;
    } while (s);
    return list.at;
}

bool request_read(const char *bytes, size_t len, struct request *out)
{
    struct reader r = {.at = bytes, .left = len};

    memset(out, 0, sizeof(*out));
#define X(name) get_number(&r, &out->name);
    REQUEST_NUMBERS(X)
#undef X
#define X(name) out->name = get_text(&r);
    REQUEST_TEXTS(X)
#undef X
#define X(name) out->name = get_list(&r);
    REQUEST_LISTS(X)
#undef X
    if (!r.bad && !r.left && out->key && out->output && out->argv[0])
        return true;
    request_release(out);
    return false;
}

void request_release(struct request *r)
{
#define X(name) free(r->name);
    REQUEST_LISTS(X)
#undef X
    memset(r, 0, sizeof(*r));
}

/* ---- packets ---- */

#define FDS_MAX 2

union control {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(FDS_MAX * sizeof(int))];
};

int packet_send(int sock, const void *packet, size_t len, const int *fds, size_t nfds)
{
    union control c = {0};
    struct iovec v = {.iov_base = (void *)(uintptr_t)packet, .iov_len = len};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
    ssize_t n;

    if (nfds) {
        m.msg_control = c.bytes;
        m.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
        c.align.cmsg_level = SOL_SOCKET;
        c.align.cmsg_type = SCM_RIGHTS;
        c.align.cmsg_len = CMSG_LEN(nfds * sizeof(int));
        memcpy(CMSG_DATA(&c.align), fds, nfds * sizeof(int));
    }
    do {
        n = sendmsg(sock, &m, MSG_NOSIGNAL);
    } while (n < 0 && errno == EINTR);
    return n < 0 ? -1 : 0;
}

static void receive_fds(struct msghdr *m, int *fds, size_t nfds)
{
    for (struct cmsghdr *h = CMSG_FIRSTHDR(m); h; h = CMSG_NXTHDR(m, h)) {
        size_t n = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);

        if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS)
            continue;
        for (size_t i = 0; i < n; i++) {
            int fd;

            memcpy(&fd, CMSG_DATA(h) + i * sizeof(int), sizeof(int));
            if (i < nfds)
                fds[i] = fd;
            else
                close(fd);
        }
    }
}

int packet_receive(int sock, void *packet, size_t len, int *fds, size_t nfds)
{
    union control c;
    struct iovec v = {.iov_base = packet, .iov_len = len};
    struct msghdr m = {
        .msg_iov = &v, .msg_iovlen = 1, .msg_control = c.bytes, .msg_controllen = sizeof(c.bytes)};
    ssize_t n = recvmsg(sock, &m, MSG_CMSG_CLOEXEC);

    for (size_t i = 0; i < nfds; i++)
        fds[i] = -1;
    if (n <= 0)
        return (int)n;
    receive_fds(&m, fds, nfds);
    if ((size_t)n == len && !(m.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
        return 1;
    for (size_t i = 0; i < nfds; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    errno = EBADMSG;
    return -1;
}

int memfd_make(const char *name, const void *bytes, size_t len)
{
    int fd = memfd_create(name, MFD_CLOEXEC);
    size_t done = 0;

    while (fd >= 0 && done < len) {
        ssize_t n = pwrite(fd, (const char *)bytes + done, len - done, (off_t)done);

        if (n > 0)
            done += (size_t)n;
        else if (errno != EINTR)
            fd_close(&fd);
    }
    return fd;
}
