/* worker.h - a worker inside the server, so that a single command starts a whole system. */
#ifndef SERVER_WORKER_H
#define SERVER_WORKER_H

#include "base/err.h"

struct server;

/* Starts the worker if the server's options ask for one. */
MUST_USE int worker_start(struct server *s, struct err *err);
/* Stops claiming and waits until the functions of the worker have ended; commands continue under
 * their shims. */
void worker_stop(struct server *s);

#endif
