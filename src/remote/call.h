/* call.h - requests to the server and their answers. */
#ifndef REMOTE_CALL_H
#define REMOTE_CALL_H

#include "base/buf.h"
#include "base/json.h"
#include "remote/curl.h"
#include "remote/remote.h"

#include <jansson.h>
#include <signal.h>

struct remote {
    char *url;    /* as given: for messages */
    char *base;   /* what the path of a request is appended to */
    char *socket; /* the path of a unix socket; NULL if none */
    char *token;  /* NULL if none */
    const struct env *env;
    int64_t patience;
    CURL *easy; /* for all requests in turn, so that they share a connection */
};

/* A request is made by functions that add to its target and body; remote_send ends it. */
struct call {
    const char *method;    /* NULL for GET */
    struct buf target;     /* path and query */
    bool queried;          /* the target has a query */
    struct buf body;       /* without a body it is empty */
    const char *header[2]; /* further header lines; NULL for none */
};
#define AUTO_CALL AUTO(call_release) struct call

/* Appends to the path; the segment is escaped. */
void call_path(struct call *q, const char *fmt, ...) PRINTF_LIKE(2, 3);
void call_segment(struct call *q, const char *text);
/* Adds an argument; nothing for NULL, "", 0 and false. */
void call_text(struct call *q, const char *name, const char *text);
void call_int(struct call *q, const char *name, int64_t n);
void call_time(struct call *q, const char *name, int64_t us);
void call_bool(struct call *q, const char *name, bool value);
void call_release(struct call *q);

struct reply {
    long status;
    struct buf head; /* header lines, each ended by \r\n */
    struct buf body;
};
#define AUTO_REPLY AUTO(reply_release) struct reply
void reply_release(struct reply *a);
int64_t reply_int(const struct reply *a, const char *header); /* 0 if missing */
bool reply_bool(const struct reply *a, const char *header);
/* The value of a header, up to the end of its line; NULL if missing. */
const char *reply_header(const struct reply *a, const char *header);

/* Sends the request. Any status but 2xx is an error. */
MUST_USE int remote_send(struct remote *r, struct call *q, struct reply *a, struct err *err);
/* Sends the request and parses the answer; the caller releases *out. */
MUST_USE int remote_ask(struct remote *r, struct call *q, json_t **out, struct err *err);
/* libcurl runs between these two. */
void remote_block_pipe(sigset_t *before);
void remote_unblock_pipe(const sigset_t *before);
/* Sets what all connections to the server have in common. */
void remote_prepare(struct remote *r, CURL *easy);
/* The header lines of a request; the caller frees them. */
struct curl_slist *remote_headers(const struct remote *r, const struct call *q);

/* ---- problem.c ---- */

/* The error for an answer that is not a success. */
int remote_problem(struct remote *r, const struct reply *a, struct err *err);
/* The error for a request that got no answer. */
int remote_no_answer(struct remote *r, const char *method, CURLcode code, struct err *err);
/* The error for an answer that no Pawl server gives. */
int remote_no_server(struct remote *r, struct err *err);

/* ---- page.c ---- */

/* Sends a request for one page, and passes on its items. *next (may be NULL) is the cursor of the
 * next page, which the caller frees; NULL if there is none, or if `each` ended the reading. */
MUST_USE int remote_page(struct remote *r, struct call *q, pawl_line *each, void *arg, char **next,
                         struct err *err);
/* Likewise, for all pages from this one on. */
MUST_USE int remote_pages(struct remote *r, struct call *q, pawl_line *each, void *arg,
                          struct err *err);
/* Passes on the items of an answer. *next as for remote_page. */
MUST_USE int remote_items(struct remote *r, struct reply *a, pawl_line *each, void *arg,
                          char **next, struct err *err);

#endif
