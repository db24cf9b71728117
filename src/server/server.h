/* server.h - the parts of pawl-server and what they share. The server is a client of pawl.h: it
 * includes only that header and base/.
 *
 *     main.c        options, start, drain, stop
 *     listen.c      sockets: TCP, unix, or inherited from systemd
 *     http.c        connections and requests, by libmicrohttpd
 *     slow.c        closes connections whose client is too slow
 *     framing.c     refuses requests whose framing is ambiguous
 *     guard.c       who asks: Host, origin, token, cookie, peer of a unix socket
 *     proxy.c       who asks: users of a trusted proxy
 *     endpoints.c      finds the endpoint; args.c and body.c check what it is given
 *     hooks.c       webhooks, whose messages are signed
 *     planes.c      threads that carry out requests, with their database handles
 *     read_budget.c how much reading one token may cause
 *     watch.c       follows the history for streams and for requests that wait
 *     revoke.c      ends both when their token is revoked or expires
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

#define BODY_MAX     (8 << 20)   /* bytes of the body of a request */
#define IN_FLIGHT    (64 << 20)  /* bytes of all bodies that are being received or worked on */
#define HOOK_BODIES  (16 << 20)  /* bytes of bodies of messages of webhooks, which have no token */
#define LARGE_BODY   (64 << 10)  /* bytes; larger bodies leave a quarter of these to others */
#define WORDS_BYTES  200         /* bytes of a list of words in a body */
#define ANSWER_MAX   (128 << 20) /* bytes of an answer */
#define ANSWERS      (256 << 20) /* bytes of all answers that are being sent */
#define LARGE_ANSWER (64 << 10)  /* bytes; larger answers leave a quarter of ANSWERS to others */
#define TREE_MAX     100000      /* executions of a tree in one answer */
#define LIST_MAX     1000        /* at most this many lines in a page, and jobs in one request */
#define TENANT_SIZE  PAWL_TENANT_SIZE

#define ALL_SCOPES \
    (PAWL_SCOPE_READ | PAWL_SCOPE_SUBMIT | PAWL_SCOPE_OPERATE | PAWL_SCOPE_WORK | PAWL_SCOPE_ADMIN)

struct clients;
struct planes;
struct proxies;
struct watches;
struct worker;

struct server_options {
    const char *db, *tenant;
    const char *listen; /* ADDRESS:PORT or unix:PATH; NULL means 127.0.0.1:7295 */
    const char *const
        *hosts; /* names that a Host header may have, besides the address; ends with NULL */
    const char *token_file; /* a file with one token that has all scopes; NULL if none */
    const char *web;        /* serve the pages from this folder; NULL means the pages built in */
    const char *const *proxies; /* ADDRESS, ADDRESS/BITS or user:NAME; ends with NULL */
    const char *proxy_scopes;   /* the scopes of their users; NULL means read */
    const char *config;
    bool read_only; /* refuse every endpoint that needs more than PAWL_SCOPE_READ */
    int worker;     /* slots of a worker inside the server; 0 if it has no worker */
};

struct server {
    struct server_options options;
    struct MHD_Daemon *daemon;
    int listener; /* descriptor */
    bool is_unix, is_loopback;
    int port;               /* the port that the server listens on; 0 for a unix socket */
    const char *unlink;     /* the path of the unix socket that this process made; NULL if none */
    char console_token[64]; /* a token made at the start for the person who starts the server; "" if
                               none */
    char file_token[256];   /* the token in options.token_file; "" if none */
    struct proxies *proxies; /* NULL if none */
    struct clients *clients;
    struct planes *planes;
    struct watches *watches;
    struct worker *worker; /* NULL if none */
    char *url;             /* location of the database, for messages */
    char *openapi;         /* the OpenAPI document */
    bool stopping;         /* accessed atomically, like open_requests and in_flight */
    long open_requests;    /* requests that have not been answered */
    size_t in_flight;      /* bytes of bodies; atomic, like the next two */
    size_t hook_bodies;    /* bytes of bodies of PLANE_HOOK, which in_flight does not have */
    size_t answers;        /* bytes of answers that have not been sent */
};

/* The value of an argument or member, as its rule says. */
struct value {
    bool given;
    const char *text; /* of VALUE_TEXT, VALUE_WORD, VALUE_WORDS; JSON of VALUE_OBJECT, VALUE_ANY */
    int64_t n; /* of VALUE_INT, VALUE_TIME, VALUE_DURATION, VALUE_BOOL; length of VALUE_LIST */
    const char **list;      /* of VALUE_TEXTS; ends with NULL */
    struct value *of;       /* of VALUE_MEMBERS: one value for each rule, in the same order */
    struct values *objects; /* of VALUE_LIST */
};

/* The values that were given for a list of rules. */
struct values {
    const struct value_rule *rules; /* may be NULL */
    struct value *at;
};
const struct value *value_of(const struct values *v, const char *name); /* never NULL */
const char *value_text(const struct values *v, const char *name);       /* NULL if no value was
                                                                           given */
int64_t value_int(const struct values *v, const char *name); /* 0 if no value was given */
bool value_bool(const struct values *v, const char *name);

struct header {
    const char *name, *value;
};

struct request {
    struct server *server;
    struct MHD_Connection *connection;
    struct arena arena;
    const char *target; /* path and query as the client sent them */
    const char *method, *path;
    const struct endpoint *endpoint;
    const char *path_args[PATH_ARGS];
    struct values args;
    struct buf body;
    size_t received; /* bytes received of the body */
    size_t counted;  /* bytes of the body that are counted in the server */

    /* The user who sent the request. */
    char tenant[TENANT_SIZE]; /* "" for the server's own tenant */
    const char *token;        /* NULL if none was sent */
    bool is_stored;           /* the token is one of the database, which may be revoked */
    bool is_session;          /* the token is that of a cookie */
    const char *by;           /* the user's name for the history */
    unsigned scopes;          /* set by guard_admit if that needs no database, else by
                                 guard_check */
    bool known;               /* `by` and `scopes` are set */

    /* Used while a plane carries the request out: */
    struct pawl *p;
    struct request *next;
    int64_t queued_at; /* when the request was given to its plane; CLOCK_BOOTTIME, µs */
    int64_t deadline;  /* until when the request waits for the end of an execution; CLOCK_BOOTTIME,
                          µs */
    int64_t waits_for; /* the execution whose end the request waits for */

    /* The answer. */
    bool answered;
    bool refused; /* answered before the head was parsed: the request is not carried out */
    bool close;   /* close the connection after the answer */
    unsigned status;
    struct buf answer;
    const void *shared; /* the answer is these bytes, and `answer` is not used; NULL if not */
    size_t shared_len;
    size_t answer_counted; /* bytes of the answer that are counted in server.answers */
    const char *type;
    VEC(struct header) headers;
    struct MHD_Response *stream; /* the answer is this stream, and `answer` is not used */
};

/* ---- answer.c ---- */

/* Sets a JSON document as the answer; the document is copied. */
void answer_json(struct request *r, unsigned status, const char *json);
/* Sets the answer; takes over the buffer and leaves it empty. */
void answer_buf(struct request *r, unsigned status, const char *type, struct buf *body);
void answer_empty(struct request *r, unsigned status);
/* Sets bytes as the answer, which live as long as the server; they are not copied. */
void answer_shared(struct request *r, const char *type, const void *bytes, size_t len);
/* Adds a header to the answer. The name must be static; the value is copied. */
void answer_header(struct request *r, const char *name, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Sets a problem (application/problem+json, RFC 9457) as the answer. `type` is one of the words of
 * docs/API.md. */
void answer_problem(struct request *r, unsigned status, const char *type, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
/* Sets the problem for an error of the library as the answer. */
void answer_error(struct request *r, const struct pawl_error *err);
/* The word for a kind of problems, and its description in the documentation. */
struct problem_type {
    const char *word, *title;
    unsigned status;
};
extern const struct problem_type problem_types[]; /* ends with a NULL word */

/* Counts the bytes of the answer until it was sent. If too many are being sent, an answer that only
 * reads becomes a problem; so clients that take their answers slowly can't fill the memory. */
void answer_count(struct request *r);
void answer_uncount(struct request *r);

/* Collects the lines of a list as an array of a JSON document, up to ANSWER_MAX bytes. */
struct page {
    struct buf out;
    size_t n;
    bool full; /* a line was left out */
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

/* The first line of a request. Method, path and version point into the memory of libmicrohttpd; the
 * target starts with the path. */
struct request_line {
    const char *method, *path, *version;
    const char *target;
};

/* Returns a sentence that says why the end of the request can't be found reliably; NULL if it
 * can. */
const char *framing_fault(struct MHD_Connection *c, const struct request_line *l);

/* ---- guard.c ---- */

/* Set-Cookie of a session that ends. */
#define END_SESSION "pawl=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0"

/* Checks what needs no database: the Host header and the origin of a browser's request. Finds the
 * token. False if the request was refused. */
bool guard_admit(struct request *r);
/* Whether the request has a token, valid or not, or another identity, if its endpoint needs one; so
 * nobody else's body takes memory. False if the request was refused. */
bool guard_has_identity(struct request *r);
/* Answers 401. A token whose tenant does not exist gets the same answer as an unknown token. */
void guard_refuse_token(struct request *r);
/* Checks the token and its scopes; r->p is a handle of the token's tenant. False if the request was
 * refused. */
bool guard_check(struct request *r);
/* Reads the token file if one is given. Else makes the console token if only this host can reach
 * the server over TCP, and refuses a server that other hosts can reach while no token exists. */
MUST_USE int guard_open(struct server *s, struct err *err);

/* ---- proxy.c ---- */

/* Reads the options --trusted-proxy and --proxy-scope. */
MUST_USE int proxies_open(struct server *s, struct err *err);
/* Whether the socket of the server suits them. */
MUST_USE int proxies_check(const struct server *s, struct err *err);
/* Whether a proxy that runs as another user must be able to connect to a unix socket. */
bool proxies_need_socket(const struct server *s);
/* Whether the other end of the connection is a trusted proxy. */
bool proxy_is_peer(const struct request *r);
/* Identifies the user that the proxy names, if any. False if the request was answered. */
bool proxy_identify(struct request *r);

/* ---- args.c, body.c ---- */

/* args_read parses the query string and body_read the body as the endpoint's rules say. False if
 * the request was refused. */
bool args_read(struct request *r, char *query);
/* `values` receives the values of one object, or of each object if the body is an array; *n is
 * their number. */
bool body_read(struct request *r, struct values **values, size_t *n);
/* Whether `words`, such as "ready|running", has this word. */
bool value_is_listed(const char *words, const char *word, size_t len);
bool path_id(struct request *r, int64_t *id); /* reads the first segment in braces as an id */

/* ---- planes.c ---- */

MUST_USE int planes_start(struct server *s, struct err *err);
/* Answers all requests that were added, and ends the threads. Later requests are refused. */
void planes_stop(struct server *s);
void planes_free(struct server *s); /* call it after the last connection was closed */
/* Gives a request, whose connection is suspended, to its plane. */
void planes_add(struct request *r);
/* Ends the work on a request: its connection continues with the answer. Called on any thread. */
void request_done(struct request *r);

/* Opens a handle of a tenant. A handle with `writes` wakes up other processes as soon as it has
 * committed, which on PostgreSQL needs a second connection. */
MUST_USE int server_open(struct server *s, const char *tenant, bool writes, struct pawl **out,
                         struct pawl_error *err);

/* ---- executions.c ---- */

/* The filters of lists, counts and bulk actions, and the function that makes a query of their
 * values. */
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
/* A callback of libmicrohttpd for the begin and the end of a connection. The time that the head of
 * the first request may take starts with the connection. */
void client_notice(void *server, struct MHD_Connection *connection, void **client,
                   enum MHD_ConnectionNotificationCode code);
/* Starts the time that the client has for its next part, the body or taking the answer; it is
 * longer for more bytes. */
void client_limit(struct request *r, int64_t bytes);
/* Stops the client's time, because the client now waits for the server. */
void client_wait(struct request *r);
/* Closes the connections of clients whose time is over. */
void clients_close_slow(struct server *s);

/* ---- listen.c ---- */

MUST_USE int listen_open(struct server *s, struct err *err);

/* ---- openapi.c ---- */

/* The OpenAPI document of all endpoints; the caller frees it. */
char *openapi_text(void);

#endif
