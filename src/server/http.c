/* http.c - connections and requests, by libmicrohttpd, which has one thread of its own for them.
 * That thread only parses, checks and copies; it suspends a request that needs the database and
 * gives it to a plane. */
#include "base/text.h"
#include "server/pages.h"
#include "server/server.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#define CONNECTIONS 12000
#define HEAD_BYTES  (8 << 10)  /* bytes of a request line and its headers together */
#define POOL_BYTES  (12 << 10) /* bytes for a connection: the heads of a request and its answer */
#define ARGS_MAX    100        /* parameters of a query */
#define DISCARD_MAX \
    (32 << 20)           /* bytes read of an unused body, so that the client gets its answer */
#define IDLE_SECONDS 60u /* without a byte from the client: then the connection is closed */

/* ---- the life of a request ---- */

static bool has_too_many_args(const char *target)
{
    const char *p = strchr(target, '?');
    size_t n = p ? 1 : 0;

    while (p && (p = strchr(p + 1, '&')))
        n++;
    return n > ARGS_MAX;
}

/* Answers on the socket itself, and ends that direction of it. libmicrohttpd 0.9.75 parses the
 * query next: if the parameters do not fit into its memory for a connection, it sends no answer,
 * and the client would wait until the connection is closed as idle. Earlier answers are already
 * sent then. */
static void refuse_args(struct MHD_Connection *c)
{
    static const char body[] =
        "{\"type\":\"urn:pawl:problem:invalid\",\"title\":\"the request is not acceptable\",\"status\":400,"
        "\"detail\":\"the query has more than 100 parameters\"}";
    char answer[512];
    int fd = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    int len = snprintf(answer, sizeof(answer),
                       "HTTP/1.1 400 Bad Request\r\nContent-Type: application/problem+json\r\n"
                       "Content-Length: %zu\r\nConnection: close\r\n\r\n%s",
                       sizeof(body) - 1, body);

    (void)!send(fd, answer, (size_t)len, MSG_DONTWAIT | MSG_NOSIGNAL);
    shutdown(fd, SHUT_WR);
}

/* Called with the request target as it was sent, before anything else of the request is known. */
static void *on_target(void *server, const char *target, struct MHD_Connection *c)
{
    struct request *r = mem_zalloc(sizeof(*r));

    r->server = server;
    r->connection = c;
    r->target = arena_strdup(&r->arena, target);
    r->refused = has_too_many_args(target);
    if (r->refused)
        refuse_args(c); /* not an open request: libmicrohttpd may keep it until it is idle */
    else
        __atomic_add_fetch(&r->server->open_requests, 1, __ATOMIC_ACQ_REL);
    return r;
}

/* Where the bytes of the request's body are counted. Bodies of requests without a token have a
 * count of their own, so that they take no memory from others. */
static size_t *count_of_bodies(const struct request *r)
{
    struct server *s = r->server;

    return r->endpoint && r->endpoint->plane == PLANE_HOOK ? &s->hook_bodies : &s->in_flight;
}

static void on_completed(void *arg, struct MHD_Connection *c, void **state,
                         enum MHD_RequestTerminationCode why)
{
    struct request *r = *state;

    (void)arg, (void)c, (void)why;
    if (!r)
        return;
    client_limit(r, 0); /* the time that the head of the connection's next request may take */
    __atomic_sub_fetch(&r->server->open_requests, !r->refused, __ATOMIC_ACQ_REL);
    __atomic_sub_fetch(count_of_bodies(r), r->counted, __ATOMIC_RELAXED);
    answer_uncount(r);
    if (r->stream) /* the client went away before it was sent */
        MHD_destroy_response(r->stream);
    buf_release(&r->body);
    buf_release(&r->answer);
    vec_release(&r->headers);
    arena_release(&r->arena);
    free(r);
    *state = NULL;
}

void request_done(struct request *r)
{
    MHD_resume_connection(r->connection);
}

/* ---- the answer ---- */

/* Pages may load only what this server serves, and no other page may show them in a frame. */
#define CONTENT_POLICY                                                                                   \
    "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; " \
    "frame-ancestors 'none'"

static void add_headers(struct request *r, struct MHD_Response *m)
{
    static const struct header always[] = {
        {"X-Content-Type-Options", "nosniff"},
        {"Referrer-Policy", "no-referrer"},
        {"Cross-Origin-Resource-Policy", "same-origin"},
        {"Content-Security-Policy", CONTENT_POLICY},
    };
    bool caching = false;

    for (size_t i = 0; i < sizeof(always) / sizeof(*always); i++)
        MHD_add_response_header(m, always[i].name, always[i].value);
    if (r->type)
        MHD_add_response_header(m, "Content-Type", r->type);
    for (size_t i = 0; i < r->headers.n; i++) {
        MHD_add_response_header(m, r->headers.at[i].name, r->headers.at[i].value);
        caching |= !strcmp(r->headers.at[i].name, "Cache-Control");
    }
    if (!caching)
        MHD_add_response_header(m, "Cache-Control", "no-store");
    if (r->close || __atomic_load_n(&r->server->stopping, __ATOMIC_ACQUIRE))
        MHD_add_response_header(m, "Connection", "close");
}

/* The response owns the answer of the request, unless the answer is shared. */
static struct MHD_Response *make_response(struct request *r)
{
    struct buf b = r->answer;

    if (r->shared)
        return MHD_create_response_from_buffer(r->shared_len, (void *)r->shared,
                                               MHD_RESPMEM_PERSISTENT);
    if (!b.len) /* but it may have memory */
        return MHD_create_response_from_buffer(0, (void *)"", MHD_RESPMEM_PERSISTENT);
    r->answer = (struct buf)BUF_INIT;
    return MHD_create_response_from_buffer(b.len, b.ptr, MHD_RESPMEM_MUST_FREE);
}

static enum MHD_Result send_answer(struct request *r)
{
    struct MHD_Response *m = r->stream;
    enum MHD_Result sent;

    if (m) {
        client_wait(r);
    } else {
        client_limit(r, (int64_t)(r->shared ? r->shared_len : r->answer.len));
        m = make_response(r);
    }
    add_headers(r, m);
    sent = MHD_queue_response(r->connection, r->status, m);
    MHD_destroy_response(m);
    if (r->stream) /* a stream may stay open for minutes, and no longer reads its request */
        arena_release(&r->arena);
    r->stream = NULL;
    return sent;
}

/* ---- receiving ---- */

static const char *header_of(struct request *r, const char *name)
{
    return MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, name);
}

/* Whether the body has the media type that the endpoint accepts, or names none; else answers 415.
 */
static bool check_media_type(struct request *r)
{
    const char *want = r->endpoint->body_type ? r->endpoint->body_type : "application/json";
    const char *type = header_of(r, "Content-Type");
    size_t len = type ? strcspn(type, "; \t") : 0;

    if (!type || !strcmp(want, "*/*") || (len == strlen(want) && !strncasecmp(type, want, len)))
        return true;
    answer_problem(r, 415, "media-type", "the body must be %s, not %.100s", want, type);
    return false;
}

static bool check_length(struct request *r)
{
    const char *length = header_of(r, "Content-Length");
    long long n = length ? atoll(length) : 0;
    bool has_body = n > 0 || header_of(r, "Transfer-Encoding");

    if (has_body && !r->endpoint->body && !r->endpoint->body_type) {
        answer_problem(r, 400, "invalid", "%s %s takes no body", r->method, r->endpoint->path);
        return false;
    }
    if (n > BODY_MAX) {
        answer_problem(r, 413, "too-large", "the body has %lld bytes; at most %d are allowed", n,
                       BODY_MAX);
        return false;
    }
    return !has_body || check_media_type(r);
}

static bool find_endpoint(struct request *r)
{
    AUTO_BUF allowed = BUF_INIT;
    char *path = arena_strdup(&r->arena, r->target), *query = path;

    strsep(&query, "?");
    r->path = path;
    r->endpoint = endpoint_find(r->method, path, &r->arena, r->path_args, &allowed);
    if (!r->endpoint && !allowed.len)
        r->endpoint = page_for_missing(r);
    if (r->endpoint)
        return !r->endpoint->id || args_read(r, query);
    if (allowed.len) {
        answer_header(r, "Allow", "%s", allowed.ptr);
        answer_problem(r, 405, "method-not-allowed", "%.20s is not a method of this path: %s",
                       r->method, allowed.ptr);
    } else {
        answer_problem(r, 404, "not-found", "there is no page or resource at this path");
    }
    return false;
}

/* Whether the body of a request that is already refused for its headers is read to its end before
 * the answer is sent. A client that sends its whole body before it reads would otherwise meet a
 * closed connection instead of the answer, and libmicrohttpd closes a connection that is answered
 * before the end of its request. */
static bool should_discard(struct request *r)
{
    const char *length = header_of(r, "Content-Length");
    long long n = length ? atoll(length) : 0;
    bool has_body = n > 0 || header_of(r, "Transfer-Encoding");

    return !has_body || (n <= DISCARD_MAX && !header_of(r, "Expect"));
}

/* How many bytes of a body the client may take its time for. */
static int64_t expected_bytes(struct request *r)
{
    const char *length = header_of(r, "Content-Length");
    long long n = length ? atoll(length) : 0;

    if (header_of(r, "Transfer-Encoding"))
        return BODY_MAX;
    return n < BODY_MAX ? n : BODY_MAX;
}

/* Refuses a head that is too large: libmicrohttpd itself refuses only a head that its pool can't
 * hold. */
static bool check_head(struct request *r)
{
    const union MHD_ConnectionInfo *head =
        MHD_get_connection_info(r->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);

    if (!head || head->header_size <= HEAD_BYTES)
        return true;
    r->close = true;
    answer_problem(r, 431, "head-too-large",
                   "the request line and the headers have more than %d bytes", HEAD_BYTES);
    return false;
}

/* Called first for a request, when its headers are known. */
static enum MHD_Result begin(struct request *r, struct request_line *line)
{
    const char *fault;

    if (r->refused)
        return MHD_NO;
    line->target = r->target;
    fault = framing_fault(r->connection, line);
    r->method = arena_strdup(&r->arena, line->method);
    if (fault) {
        r->close = true;
        answer_problem(r, 400, "invalid", "%s", fault);
    }
    if (fault || !check_head(r))
        return send_answer(r);
    client_limit(r, expected_bytes(r));
    if (find_endpoint(r) && guard_admit(r) && guard_has_identity(r) && check_length(r))
        return MHD_YES;
    if (should_discard(r))
        return MHD_YES;
    r->close = true;
    return send_answer(r);
}

/* Takes a part of the body. A body that is too large is answered with a problem; the rest of it is
 * dropped, up to DISCARD_MAX, then the connection ends. */
static enum MHD_Result receive(struct request *r, const char *data, size_t *size)
{
    size_t total, most;

    r->received += *size;
    if (r->answered) {
        *size = 0;
        return r->received <= DISCARD_MAX ? MHD_YES : MHD_NO;
    }
    most = r->endpoint->plane == PLANE_HOOK ? HOOK_BODIES : IN_FLIGHT;
    if (r->received > LARGE_BODY)
        most -= most / 4;
    total = __atomic_add_fetch(count_of_bodies(r), *size, __ATOMIC_RELAXED);
    r->counted += *size;
    if (r->received > BODY_MAX)
        answer_problem(r, 413, "too-large", "the body has more than %d bytes", BODY_MAX);
    else if (total > most)
        answer_problem(r, 503, "unavailable",
                       "the server is receiving too many large bodies: try again later");
    else
        buf_add(&r->body, data, *size);
    *size = 0;
    return MHD_YES;
}

static enum MHD_Result on_request(void *server, struct MHD_Connection *c, const char *url,
                                  const char *method, const char *version, const char *data,
                                  size_t *size, void **state)
{
    struct request *r = *state;

    (void)server;
    if (!r->method)
        return begin(r, &(struct request_line){method, url, version, NULL});
    if (*size)
        return receive(r, data, size);
    if (!r->answered && r->endpoint->plane == PLANE_NONE)
        r->endpoint->run(r);
    if (r->answered)
        return send_answer(r);
    client_wait(r);
    MHD_suspend_connection(c);
    planes_add(r);
    return MHD_YES;
}

/* ---- the daemon ---- */

static void on_log(void *server, const char *fmt, va_list ap)
{
    (void)server, (void)fmt, (void)ap; /* a client's mistake is not reported to the operator */
}

/* Leaves paths and queries encoded: endpoints.c decodes them after it has split them. */
static size_t keep_escapes(void *server, struct MHD_Connection *c, char *s)
{
    (void)server, (void)c;
    return strlen(s);
}

int http_start(struct server *s, struct err *err)
{
    clients_open(s);
    s->daemon = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0, NULL, NULL,
        on_request, s, MHD_OPTION_LISTEN_SOCKET, s->listener, MHD_OPTION_EXTERNAL_LOGGER, on_log, s,
        MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT, IDLE_SECONDS,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)POOL_BYTES, MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_URI_LOG_CALLBACK, on_target, s, MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, s,
        MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL, MHD_OPTION_NOTIFY_CONNECTION,
        client_notice, s, MHD_OPTION_END);
    if (!s->daemon)
        return err_set(err, E_REFUSED, "the HTTP server can't be started");
    return 0;
}

void http_stop(struct server *s)
{
    MHD_stop_daemon(s->daemon);
    clients_free(s);
    s->daemon = NULL;
}
