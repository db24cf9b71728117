/* watch_internal.h - the state of a watch, shared by watch.c (the thread of the watch), stream.c
 * (the streams that it serves) and revoke.c (clients whose token ends). */
#ifndef SERVER_WATCH_INTERNAL_H
#define SERVER_WATCH_INTERNAL_H

#include "server/server.h"
#include "server/watch.h"

#define RING 8192 /* the newest events; a client that missed more must load all again */

/* An event as the library wrote it, and the fields by which topics select it. */
struct watched_event {
    int64_t sequence, execution, root;
    char *json;
};

struct stream;

/* Texts of tokens. */
struct token_list {
    VEC(const char *) at;
};
bool token_list_has(const struct token_list *l, const char *token); /* the list must be sorted */

struct watch {
    struct server *server;
    char tenant[TENANT_SIZE];
    pthread_t thread;
    int wake; /* eventfd: readable when something was added, or the server stops */
    struct watch *next;

    pthread_mutex_t mutex; /* protects all members below */
    struct request *added; /* requests that the thread has not seen yet */
    struct stream *streams;
    struct watched_event ring[RING];
    uint64_t written;    /* number of events ever put into the ring */
    uint64_t start;      /* number of the first event in the ring after which none is missing */
    unsigned generation; /* raised when events may have been missed: then every stream sends a
                            resync */
    bool resting;        /* nobody waited for a while: the history is not followed */
    bool stopping;
};

/* stream.c. Both are called with the mutex locked. */

/* Lets streams continue. `news`: they send the events that have come since they last sent some.
 * `tick`: they send at least a comment line, so that a connection whose client is gone is
 * noticed. */
void streams_wake(struct watch *w, bool news, bool tick);
/* Ends all streams, after they have sent what is waiting. */
void streams_end(struct watch *w);
/* Adds the tokens of all streams that have one of the database; they stay valid until the mutex is
 * unlocked. */
void streams_add_tokens(const struct watch *w, struct token_list *out);
/* Ends the streams whose token is in the list. */
void streams_end_revoked(struct watch *w, const struct token_list *revoked);

/* revoke.c: ends the streams of the watch, and answers the waiting requests, whose token is no
 * longer active. Reads the database if they have tokens of it. */
void watch_end_revoked(struct watch *w, struct pawl *p, struct request **waiting);

/* watch.c: returns the watch of a tenant; starts it if there is none. NULL if the server stops. */
struct watch *watch_of(struct server *s, const char *tenant);
void watch_wake(struct watch *w);

#endif
