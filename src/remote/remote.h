/* remote.h - a handle of pawl.h on a server instead of a database: each function asks the server's
 * HTTP interface (docs/API.md), and reports the server's error with the code and the sentence that
 * the library reported there. The library above validates arguments first, as for a database.
 *
 *     url.c      the URL of a server
 *     call.c     a request: its target, body and answer
 *     problem.c  errors
 *     page.c     lists
 *     read.c, control.c, submit.c, follow.c    the functions of pawl.h
 *
 * This layer knows neither the database nor the engine. */
#ifndef REMOTE_REMOTE_H
#define REMOTE_REMOTE_H

#include "base/env.h"
#include "base/err.h"
#include "pawl.h"

struct remote;
struct remote_follower;
struct remote_listener;

/* Whether the URL names a server: http://, https://, http+unix:// or unix: */
bool remote_is_url(const char *url);

struct remote_options {
    const char *url;
    const char *token; /* NULL for none */
    const struct env *env;
    int64_t patience; /* µs to wait for a connection */
};
/* Asks the server nothing yet. */
MUST_USE int remote_open(const struct remote_options *o, struct remote **out, struct err *err);
void remote_close(struct remote *r); /* NULL is ignored */
const char *remote_url(const struct remote *r);

/* Asks for a document of an execution: `what` is "", "/tree", "/why", … */
MUST_USE int remote_show(struct remote *r, int64_t id, const char *what,
                         const struct pawl_moment *at, char **json, struct err *err);
/* Asks for a list of an execution: "/nodes", … */
MUST_USE int remote_list_of(struct remote *r, int64_t id, const char *what, pawl_line *each,
                            void *arg, struct err *err);
MUST_USE int remote_children(struct remote *r, int64_t id, pawl_line *each, void *arg,
                             struct err *err);
MUST_USE int remote_outline(struct remote *r, int64_t id, const struct pawl_moment *at,
                            pawl_line *each, void *arg, int64_t *now, struct err *err);
#define REMOTE_STATUS_SIZE 16
/* Waits until the execution has ended, at most timeout_ms (0: not at all, negative: no limit). */
MUST_USE int remote_status(struct remote *r, int64_t id, int timeout_ms,
                           char status[REMOTE_STATUS_SIZE], struct err *err);
MUST_USE int remote_last(struct remote *r, int64_t *id, struct err *err);
MUST_USE int remote_list(struct remote *r, const struct pawl_list_query *q, pawl_line *each,
                         void *arg, int64_t *next, struct err *err);
MUST_USE int remote_counts(struct remote *r, const struct pawl_list_query *q, char **json,
                           struct err *err);
MUST_USE int remote_diff(struct remote *r, int64_t a, int64_t b, char **json, bool *same,
                         struct err *err);
MUST_USE int remote_graph(struct remote *r, int64_t id, const char *format, int width, char **text,
                          struct err *err);
MUST_USE int remote_log(struct remote *r, const struct pawl_log_place *at, char *out, size_t size,
                        struct pawl_log_page *page, struct err *err);
MUST_USE int remote_events(struct remote *r, const struct pawl_event_query *q, pawl_line *each,
                           void *arg, struct err *err);
MUST_USE int remote_overview(struct remote *r, const char *part, int64_t limit, char **json,
                             struct err *err);
/* Asks for a document that is at this path. */
MUST_USE int remote_get(struct remote *r, const char *path, char **json, struct err *err);
/* Asks for a whole list; `name` and `limit` are its arguments, NULL and -1 for none. */
MUST_USE int remote_lines(struct remote *r, const char *path, const char *argument,
                          const char *name, int64_t limit, pawl_line *each, void *arg,
                          struct err *err);
MUST_USE int remote_submissions(struct remote *r, const struct pawl_submission_query *s,
                                pawl_line *each, void *arg, char **next, struct err *err);
MUST_USE int remote_applied_list(struct remote *r, const struct pawl_applied_query *q,
                                 pawl_line *each, void *arg, bool *more, struct err *err);
MUST_USE int remote_applied_versions(struct remote *r, const char *name, int64_t before,
                                     int64_t limit, pawl_line *each, void *arg, bool *more,
                                     struct err *err);
MUST_USE int remote_applied_show(struct remote *r, const char *name, const char *version,
                                 char **json, struct err *err);

/* Checks the whole database; options that need files or this host are not looked at. */
MUST_USE int remote_verify(struct remote *r, const struct pawl_verify_options *o,
                           struct pawl_verify_result *out, struct err *err);

/* ---- follow ---- */

MUST_USE int remote_follow(struct remote *r, const struct pawl_event_query *q,
                           struct remote_follower **out, struct err *err);
MUST_USE int remote_follower_next(struct remote_follower *f, pawl_line *each, void *arg, size_t *n,
                                  struct err *err);
const char *remote_follower_position(const struct remote_follower *f);
void remote_follower_close(struct remote_follower *f);

/* Listens for changes of any kind, by a stream that the server sends. */
MUST_USE int remote_listen(struct remote *r, unsigned what, struct remote_listener **out,
                           struct err *err);
void remote_listener_close(struct remote_listener *l);
int remote_listener_fd(const struct remote_listener *l);
int remote_listener_poll_ms(const struct remote_listener *l);
unsigned remote_listener_wait(struct remote_listener *l, int timeout_ms); /* 0: only drains */

/* ---- changes; who asks is known from the token ---- */

/* An action on an execution: "pause", "resume", … */
MUST_USE int remote_act(struct remote *r, int64_t id, const char *action, const char *reason,
                        struct err *err);
MUST_USE int remote_cancel(struct remote *r, int64_t id, bool let_finish, const char *reason,
                           char status[REMOTE_STATUS_SIZE], int64_t *left, struct err *err);
/* `document` is that of how->file; NULL if there is none. */
MUST_USE int remote_rerun(struct remote *r, int64_t id, const struct pawl_rerun *how,
                          const char *document, char **json, struct err *err);
MUST_USE int remote_bulk(struct remote *r, const struct pawl_bulk *bulk, pawl_line *each, void *arg,
                         struct pawl_bulk_result *result, struct err *err);
/* `max` is used by the action "limit" only. */
MUST_USE int remote_queue(struct remote *r, const char *queue, const char *action, int max,
                          const char *reason, bool *paused, struct err *err);
MUST_USE int remote_worker_drain(struct remote *r, const char *worker, const char *reason,
                                 struct err *err);
MUST_USE int remote_schedule(struct remote *r, const char *name, const char *action,
                             const char *reason, int64_t *id, struct err *err);
MUST_USE int remote_token_create(struct remote *r, const struct pawl_token *t, const char *scopes,
                                 const char *reason, char **text, struct err *err);
/* `value` is the setting as it is stored: a JSON object. */
MUST_USE int remote_setting(struct remote *r, const char *name, const char *value,
                            const char *reason, struct err *err);
MUST_USE int remote_hook_create(struct remote *r, const struct pawl_hook *h, const char *reason,
                                char **secret, struct err *err);
MUST_USE int remote_hook_revoke(struct remote *r, const char *name, const char *reason,
                                struct err *err);
MUST_USE int remote_token_revoke(struct remote *r, const char *name, const char *reason,
                                 struct err *err);

/* The jobs have no file, yaml or built workflow any more: their workflow is a document. */
MUST_USE int remote_submit(struct remote *r, struct pawl_job *jobs, size_t n, struct err *err);

struct remote_apply {
    const char *document, *source, *name, *if_match; /* NULL for none */
};
MUST_USE int remote_apply(struct remote *r, const struct remote_apply *a, struct pawl_applied *out,
                          struct err *err);
MUST_USE int remote_applied_delete(struct remote *r, const char *name, const char *if_match,
                                   const char *reason, struct pawl_applied_deleted *out,
                                   struct err *err);

#endif
