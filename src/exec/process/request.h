/* request.h - what the executor asks of pawl-shim, and how they say it. A request travels
 * as a memfd beside the handle of the attempt's folder, over a SOCK_SEQPACKET pair, so that the
 * helper only passes it on and never sees a secret. */
#ifndef EXEC_PROCESS_REQUEST_H
#define EXEC_PROCESS_REQUEST_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define REQUEST_NUMBERS(X)                                                 \
    X(execution)                                                           \
    X(attempt)                                                             \
    X(epoch)                                                               \
    X(until)   /* end of the lease, CLOCK_BOOTTIME, µs */                 \
    X(fence)   /* µs after that it is killed; -1: never */                \
    X(timeout) /* µs; 0: none */                                          \
    X(grace)   /* µs between TERM and KILL */                             \
    X(head)    /* bytes of output that are kept, from the beginning … */ \
    X(tail)    /* … and of the end */                                    \
    X(memory)  /* limits, 0: none; bytes, µs, descriptors, processes */   \
    X(cpu)                                                                 \
    X(files)                                                               \
    X(pids)                                                                \
    X(in_container) /* 1: the work is in a container, see undo_write */

#define REQUEST_TEXTS(X)                                   \
    X(key)    /* of the attempt, see ATTEMPT_KEY_NAME */   \
    X(cwd)    /* NULL: a folder of its own */              \
    X(user)   /* name or number; NULL: the worker's own */ \
    X(input)  /* standard input; NULL: nothing */          \
    X(output) /* path of $PAWL_OUTPUT */

#define REQUEST_LISTS(X) \
    X(argv)              \
    X(env)               \
    X(secrets) /* to be masked in what it says */

struct request {
#define X(name) int64_t name;
    REQUEST_NUMBERS(X)
#undef X
#define X(name) const char *name;
    REQUEST_TEXTS(X)
#undef X
#define X(name) const char **name; /* ends with NULL */
    REQUEST_LISTS(X)
#undef X
};

void request_write(const struct request *r, struct buf *out);
/* The texts point into `bytes`; the lists are one allocation, freed by request_release. False if
 * the bytes are no request. */
MUST_USE bool request_read(const char *bytes, size_t len, struct request *out);
void request_release(struct request *r);

/* The packets. A request has two handles with it: folder, memfd; a good answer one, the pidfd. */
struct request_packet {
    int64_t execution, attempt;
};
struct answer_packet {
    int64_t execution, attempt;
    int64_t pid, error; /* error: an errno, and no pid */
};

/* Sends one packet with handles; 0, or -1 and errno. */
MUST_USE int packet_send(int sock, const void *packet, size_t len, const int *fds, size_t nfds);
/* Receives one: 1, 0 at the end, -1 and errno. Handles are close-on-exec; those that did not come
 * are -1. A packet of another size is EBADMSG. */
MUST_USE int packet_receive(int sock, void *packet, size_t len, int *fds, size_t nfds);

#endif
