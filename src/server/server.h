/* server.h - the parts of pawl-server and what they share. The server is a client of pawl.h: it
 * includes only that header and base/.
 *
 *     main.c        options, start, drain, stop
 *     listen.c      sockets: TCP, unix, or inherited from systemd
 *     http.c        connections and requests, by libmicrohttpd
 *     slow.c        closes connections whose client is too slow
 *     framing.c     refuses requests whose framing is ambiguous
 *     guard.c       who asks: Host, origin, token, cookie, peer of a unix socket
 *     endpoints.c      finds the endpoint; args.c and body.c check what it is given
 *     planes.c      threads that carry out requests, with their database handles
 *     read_budget.c how much reading one token may cause
 *     watch.c       follows the history for streams and for requests that wait
 *     answer.c      answers and problems
 *     pages.c       the web pages
 *
 * All state is in the database. A server that is killed loses only its open connections. */
#ifndef SERVER_SERVER_H
#define SERVER_SERVER_H

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "pawl.h"
#include "server/endpoint.h"

#include <jansson.h>
#include <microhttpd.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define BODY_MAX    (8 << 20)  /* bytes of a request's body */
#define IN_FLIGHT   (64 << 20) /* bytes of all bodies that are being received or worked on */
#define LIST_MAX    1000       /* executions of a page, and jobs of one request */
#define TENANT_SIZE PAWL_TENANT_SIZE

struct clients;
struct planes;
struct watches;
struct worker;

struct server_options {
    const char *db, *tenant;
    const char *listen; /* ADDRESS:PORT or unix:PATH; NULL: 127.0.0.1:7295 */
    const char *const
        *hosts; /* names that a Host header may have, besides the address; ends with NULL */
    const char *token_file; /* a file with one token that has all scopes; NULL if none */
    const char *web;        /* serve the pages from this folder; NULL: those built in */
    const char *config;
    bool read_only; /* refuse every endpoint that needs more than PAWL_SCOPE_READ */
    int worker;     /* slots of a worker inside the server; 0: none */
};

struct server {
    struct server_options options;
    struct MHD_Daemon *daemon;
    int listener; /* descriptor */
    bool is_unix, is_loopback;
    int port;               /* 0 for a unix socket */
    const char *unlink;     /* the path of the unix socket that this process made; NULL if none */
    char console_token[64]; /* made at the start, for the person who starts it; "" if none */
    char file_token[256];   /* from options.token_file; "" if none */
    struct clients *clients;
    struct planes *planes;
    struct watches *watches;
    struct worker *worker; /* NULL if none */
    char *url;             /* of the database, for messages */
    bool stopping;         /* atomic, like the next two */
    long open_requests;    /* requests that have not been answered */
    size_t in_flight;      /* bytes; atomic */
};

/* The value of an argument or member, as its rule says. */
struct value {
    bool given;
    const char *text;  /* VALUE_TEXT, VALUE_WORD, VALUE_WORDS; VALUE_OBJECT and VALUE_ANY: JSON */
    int64_t n;         /* VALUE_INT, VALUE_TIME, VALUE_DURATION, VALUE_BOOL */
    const char **list; /* VALUE_TEXTS; ends with NULL */
    struct value *of;  /* VALUE_MEMBERS: parallel to the rules */
};

/* The values of a list of rules. */
struct values {
    const struct value_rule *rules; /* may be NULL */
    struct value *at;
};
const struct value *value_of(const struct values *v, const char *name); /* never NULL */
const char *value_text(const struct values *v, const char *name);       /* NULL if not given */
int64_t value_int(const struct values *v, const char *name);            /* 0 if not given */
bool value_bool(const struct values *v, const char *name);

struct header {
    const char *name, *value;
};

struct request {
    struct server *server;
    struct MHD_Connection *connection;
    struct arena arena;
    const char *target; /* as sent: path and query */
    const char *method, *path;
    const struct endpoint *endpoint;
    const char *path_args[PATH_ARGS];
    struct values args;
    struct buf body;
    size_t received; /* bytes of the body */
    size_t counted;  /* those that count in server.in_flight */

    /* Who asks. */
    char tenant[TENANT_SIZE]; /* "" for the server's own */
    const char *token;        /* NULL if none was sent */
    const char *by;           /* for the history */
    unsigned scopes;          /* set at once if no database is needed for it, else by guard_check */
    bool known;               /* by and scopes are set */

    /* While a plane carries it out. */
    struct pawl *p;
    struct request *next;
    int64_t queued_at; /* when it was given to its plane; CLOCK_BOOTTIME, µs */
    int64_t deadline;  /* of a request that waits; CLOCK_BOOTTIME, µs */
    int64_t waits_for; /* the execution */

    /* The answer. */
    bool answered;
    bool close; /* close the connection after it */
    unsigned status;
    struct buf answer;
    const char *type;
    VEC(struct header) headers;
    struct MHD_Response *stream; /* instead of `answer` */
};

/* ---- answer.c ---- */

/* Sets the answer: a JSON document, which is copied. */
void answer_json(struct request *r, unsigned status, const char *json);
/* Likewise; takes over the buffer and leaves it empty. */
void answer_buf(struct request *r, unsigned status, const char *type, struct buf *body);
void answer_empty(struct request *r, unsigned status);
/* name is static; the value is copied. */
void answer_header(struct request *r, const char *name, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* application/problem+json (RFC 9457). `type` is one of the words of docs/API.md. */
void answer_problem(struct request *r, unsigned status, const char *type, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
/* The problem for an error of the library. */
void answer_error(struct request *r, const struct pawl_error *err);
/* A problem for each word, for the documentation. */
struct problem_type {
    const char *word, *title;
    unsigned status;
};
extern const struct problem_type problem_types[]; /* ends with a NULL word */

/* Collects the lines of a list as an array of a JSON document. */
struct page {
    struct buf out;
    size_t n;
};
int page_line(void *page, const char *json); /* a pawl_line */
/* Answers {"items": [...], "next": cursor or null} and the header Link; `next` is NULL if it is the
 * last page. */
void answer_page(struct request *r, struct page *page, const char *next);

/* Answers with the whole list, or with the error if rc is not 0. */
void answer_lines(struct request *r, int rc, struct page *page, const struct pawl_error *err);
/* Answers with a document, which is freed, or with the error if rc is not 0. */
void answer_document(struct request *r, int rc, char *json, const struct pawl_error *err);

/* ---- framing.c ---- */

/* The first line of a request. Method, path and version are where libmicrohttpd has them; the path
 * begins the target. */
struct request_line {
    const char *method, *path, *version;
    const char *target;
};

/* Why the request can't be framed reliably, as a sentence; NULL if it can. */
const char *framing_fault(struct MHD_Connection *c, const struct request_line *l);

/* ---- guard.c ---- */

/* Checks what needs no database: Host, the origin of a browser's request, and finds the token.
 * False if the request was answered. */
bool guard_admit(struct request *r);
/* Checks the token and its scopes; r->p is a handle of its tenant. False if the request was
 * answered. */
bool guard_check(struct request *r);
/* Reads the token file and makes the console token. */
MUST_USE int guard_open(struct server *s, struct err *err);

/* ---- args.c, body.c ---- */

/* Parse the query string and the body as the endpoint's rules say. False if the request was
 * answered.
 */
bool args_read(struct request *r, char *query);
/* `values` are those of one object. *n is 1, or the number of objects of an array. */
bool body_read(struct request *r, struct values **values, size_t *n);
/* Whether `words`, such as "ready|running", has this word. */
bool value_is_listed(const char *words, const char *word, size_t len);
bool path_id(struct request *r, int64_t *id); /* the first segment in braces as an id */

/* ---- planes.c ---- */

MUST_USE int planes_start(struct server *s, struct err *err);
/* Answers all requests that were added, and ends the threads. Later requests are refused. */
void planes_stop(struct server *s);
void planes_free(struct server *s); /* after the last connection was closed */
/* Gives a request, whose connection is suspended, to its plane. */
void planes_add(struct request *r);
/* Ends the work on a request: its connection continues. Any thread. */
void request_done(struct request *r);

/* Opens a handle of a tenant. One that writes wakes others up as soon as it has committed, which on
 * PostgreSQL needs a second connection. */
MUST_USE int server_open(struct server *s, const char *tenant, bool writes, struct pawl **out,
                         struct pawl_error *err);

/* ---- executions.c ---- */

/* The filters of lists, counts and bulk actions, and the query that their values make. */
extern const struct value_rule filter_rules[];
struct pawl_list_query filter_query(const struct values *v);

/* ---- submit.c ---- */

/* Carries out requests of PLANE_SUBMIT, all of one tenant, in one transaction. */
void submit_batch(struct pawl *p, struct request **list, size_t n);

/* ---- http.c ---- */

MUST_USE int http_start(struct server *s, struct err *err);
void http_stop(struct server *s);

/* ---- slow.c ---- */

void clients_open(struct server *s);
void clients_free(struct server *s);
/* libmicrohttpd calls it when a connection begins and ends. A connection begins with the time that
 * the head of a request may take. */
void client_notice(void *server, struct MHD_Connection *connection, void **client,
                   enum MHD_ConnectionNotificationCode code);
/* From now on the client has a time for what it does next, which is longer for more bytes. */
void client_limit(struct request *r, int64_t bytes);
/* From now on the client waits for the server. */
void client_wait(struct request *r);
/* Closes the connections whose time is over. */
void clients_close_slow(struct server *s);

/* ---- listen.c ---- */

MUST_USE int listen_open(struct server *s, struct err *err);

/* ---- openapi.c ---- */

/* The OpenAPI document of all endpoints; the caller frees it. */
char *openapi_text(void);

#endif
