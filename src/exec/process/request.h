/* request.h - the protocol between the process executor and pawl-shim. A request is sent as a
 * memfd, together with a descriptor of the attempt folder, over a SOCK_SEQPACKET pair, so that the
 * helper only passes it on and never reads a secret. */
#ifndef EXEC_PROCESS_REQUEST_H
#define EXEC_PROCESS_REQUEST_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

#define REQUEST_NUMBERS(X)                                                                      \
    X(execution)                                                                                \
    X(attempt)                                                                                  \
    X(epoch)                                                                                    \
    X(until)   /* end of the lease, CLOCK_BOOTTIME, µs */                                      \
    X(fence)   /* µs after `until` until the attempt is killed; -1 if never */                 \
    X(timeout) /* µs; 0 if none */                                                             \
    X(grace)   /* µs between TERM and KILL */                                                  \
    X(head)    /* bytes of output to keep from the start */                                     \
    X(tail)    /* bytes of output to keep from the end */                                       \
    X(memory)  /* limits, 0 if none; bytes, µs, descriptors, processes */                      \
    X(cpu)                                                                                      \
    X(files)                                                                                    \
    X(pids)                                                                                     \
    X(in_container) /* 1 if the task runs in a container, see undo_write */                     \
    X(resumed)      /* 1 if a shim started the container and died: argv waits for its end */    \
    X(has_ended)    /* resumed: 1 if the container has ended: no command changes its outcome */ \
    X(skip)         /* resumed: bytes of the masked output that the log has; -1 if unknown */

#define REQUEST_TEXTS(X)                                    \
    X(key)    /* the attempt's key, see ATTEMPT_KEY_NAME */ \
    X(cwd)    /* NULL for `work` in the attempt folder */   \
    X(user)   /* name or number; NULL for the worker's */   \
    X(input)  /* standard input; NULL if none */            \
    X(output) /* path of $PAWL_OUTPUT */

#define REQUEST_LISTS(X)                                                           \
    X(argv)                                                                        \
    X(env)                                                                         \
    X(secrets) /* the values of the secrets, which are masked in the output */     \
    X(rest)    /* resumed: the command that prints all output again, to its end */ \
    X(stop)    /* resumed: the command that sends TERM to the container */

struct request {
#define X(name) int64_t name;
    REQUEST_NUMBERS(X)
#undef X
#define X(name) const char *name;
    REQUEST_TEXTS(X)
#undef X
#define X(name) const char **name; /* NULL-terminated */
    REQUEST_LISTS(X)
#undef X
};

void request_write(const struct request *r, struct buf *out);
/* False if the bytes are not a request. The strings point into `bytes`; the lists are one
 * allocation, freed by request_release. */
MUST_USE bool request_read(const char *bytes, size_t len, struct request *out);
void request_release(struct request *r);

/* The packets. A request carries two descriptors: folder and memfd. An answer carries the pidfd of
 * the shim, unless it is an error. */
struct request_packet {
    int64_t execution, attempt;
};
struct answer_packet {
    int64_t execution, attempt;
    int64_t pid, error; /* error: an errno, and pid is not set; 0 on success */
};

/* Sends one packet with descriptors; 0, or -1 and errno. */
MUST_USE int packet_send(int sock, const void *packet, size_t len, const int *fds, size_t nfds);
/* Receives one packet: 1, 0 at the end of the stream, or -1 and errno (EBADMSG for a packet of
 * another size). Descriptors are close-on-exec; missing ones are -1. */
MUST_USE int packet_receive(int sock, void *packet, size_t len, int *fds, size_t nfds);

/* A memfd with these bytes, to be read from its start; or -1 and errno. */
MUST_USE int memfd_make(const char *name, const void *bytes, size_t len);

#endif
