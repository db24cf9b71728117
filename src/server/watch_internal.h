/* watch_internal.h - the state of a watch, shared by watch.c (its thread) and stream.c (its
 * streams). */
#ifndef SERVER_WATCH_INTERNAL_H
#define SERVER_WATCH_INTERNAL_H

#include "server/server.h"
#include "server/watch.h"

#define RING 8192 /* events that a client may miss without having to load everything again */

/* An event as the library wrote it, and what the topics need of it. */
struct watched_event {
    int64_t sequence, execution, root;
    char *json;
};

struct stream;

struct watch {
    struct server *server;
    char tenant[TENANT_SIZE];
    pthread_t thread;
    int wake; /* eventfd: something was added, or the server stops */
    struct watch *next;

    pthread_mutex_t mutex; /* guards everything below */
    struct request *added; /* requests that the thread has not seen yet */
    struct stream *streams;
    struct watched_event ring[RING];
    uint64_t written;    /* number of events ever put into the ring */
    uint64_t start;      /* the first of them after which none is missing */
    unsigned generation; /* raised when events may have been missed: every stream resynchronizes */
    bool stopping;
};

/* stream.c. Both are called with the mutex locked. */

/* Lets streams continue. `news`: they send the events that came since the last time. `tick`: they
 * send at least a comment line, so that a connection whose client is gone is noticed. */
void streams_wake(struct watch *w, bool news, bool tick);
/* Ends all streams, after they have sent what they have. */
void streams_end(struct watch *w);

/* watch.c: the watch of a tenant, which is started if there is none. NULL if the server stops. */
struct watch *watch_of(struct server *s, const char *tenant);
void watch_wake(struct watch *w);

#endif
