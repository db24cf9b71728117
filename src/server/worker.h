/* worker.h - a worker inside the server, so that a single command starts a whole system. */
#ifndef SERVER_WORKER_H
#define SERVER_WORKER_H

#include "base/err.h"

struct server;

/* Starts the worker if the server's options ask for one. */
MUST_USE int worker_start(struct server *s, struct err *err);
/* A descriptor that is readable as soon as the worker can't continue: then the server must stop, so
 * that its supervisor starts it again. -1 if there is no worker. */
int worker_failed_fd(const struct server *s);
/* Stops claiming and waits until the functions of the worker have ended; commands continue under
 * their shims. Returns the error if the worker could not continue. */
MUST_USE int worker_stop(struct server *s, struct err *err);

#endif
