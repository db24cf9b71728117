/* worker.h - a worker inside the server, so that one command is a whole system. */
#ifndef SERVER_WORKER_H
#define SERVER_WORKER_H

#include "base/err.h"

struct server;

/* Does nothing unless the server's options ask for a worker. */
MUST_USE int worker_start(struct server *s, struct err *err);
/* Stops claiming and waits until its functions have ended; commands go on under their shims. */
void worker_stop(struct server *s);

#endif
