/* watch.h - follows the history of a tenant while somebody waits for something to happen there:
 * requests with "Prefer: wait", and streams of server-sent events. One thread for each such tenant,
 * which keeps its connections while somebody waits, and a few seconds longer. */
#ifndef SERVER_WATCH_H
#define SERVER_WATCH_H

#include "base/err.h"

#include <stdint.h>

struct request;
struct server;

MUST_USE int watches_start(struct server *s, struct err *err);
/* Answers all requests that wait, ends all streams, and ends the threads. */
void watches_stop(struct server *s);
/* Call it after the last connection was closed. */
void watches_free(struct server *s);

/* Answers the request with its execution r->waits_for when that has ended, or when r->deadline
 * passes. */
void watch_execution(struct request *r);

/* Makes the answer of the request a stream of server-sent events about `topics`. `after` is the
 * number of the last event that the client has received; -1 to send only new events. */
void watch_stream(struct request *r, const char *topics, int64_t after);

#endif
