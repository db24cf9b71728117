/* api.h - what the files of the public library share: the handle, and how an error gets out. */
#ifndef API_API_H
#define API_API_H

#include "base/buf.h"
#include "base/json.h"
#include "pawl.h"
#include "store/query.h"
#include "store/url.h"

struct pawl {
    struct store *store;
    struct env env;
};

/* Hands the sentence to the caller, if he wants it; returns rc, so that `return api_end(…)` ends a
 * function with whatever happened. */
int api_end(int rc, const struct err *err, struct pawl_error *out);

/* A turn in which some of n may find their tree locked by others: `body` does them all, then
 * `busy(arg)` keeps those that were locked, and says how many are left to be done again. */
MUST_USE int api_turns(struct pawl *p, int (*body)(struct turn *, void *, struct err *),
                       size_t (*busy)(void *), void *arg, struct err *err);

/* ---- JSON ---- */

/* The nodes of a workflow; a VEC. */
struct nodes {
    const struct execution **at;
    size_t n, cap;
};

/* An execution without the closing bracket, so that a tree can add its children. */
void json_execution(struct json_writer *w, const struct execution *e,
                    const struct execution_past *past, const struct nodes *nodes);
void json_event(struct json_writer *w, const struct event_row *e);

void json_field_text(struct json_writer *w, const char *key, const char *text);
void json_field_i64(struct json_writer *w, const char *key, int64_t n);
void json_field_id(struct json_writer *w, const char *key, int64_t id);     /* 0: null */
void json_field_time(struct json_writer *w, const char *key, int64_t us);   /* 0: null */
void json_field_worker(struct json_writer *w, const char *key, int64_t id); /* 16 hex digits */

#endif
