/* call.c - makes requests, sends them one after the other over one connection, and collects the
 * answers. */
#include "remote/call.h"

#include "base/text.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- the target ---- */

static void add_escaped(struct buf *b, const char *text)
{
    for (; *text; text++)
        if ((*text >= '0' && *text <= '9') || (*text >= 'a' && *text <= 'z') ||
            (*text >= 'A' && *text <= 'Z') || strchr("-_.~", *text))
            buf_addch(b, *text);
        else
            buf_addf(b, "%%%02X", (unsigned char)*text);
}

void call_path(struct call *q, const char *fmt, ...)
{
    AUTO_FREE char *text = NULL;
    va_list ap;

    va_start(ap, fmt);
    text = mem_vprintf(fmt, ap);
    va_end(ap);
    buf_addstr(&q->target, text);
}

void call_segment(struct call *q, const char *text)
{
    buf_addch(&q->target, '/');
    add_escaped(&q->target, text);
}

void call_text(struct call *q, const char *name, const char *text)
{
    if (!text || !*text)
        return;
    buf_addf(&q->target, "%c%s=", q->queried ? '&' : '?', name);
    add_escaped(&q->target, text);
    q->queried = true;
}

void call_int(struct call *q, const char *name, int64_t n)
{
    char text[24];

    snprintf(text, sizeof(text), "%lld", (long long)n);
    call_text(q, name, n ? text : NULL);
}

void call_time(struct call *q, const char *name, int64_t us)
{
    char text[TIME_TEXT_SIZE];

    if (us)
        call_text(q, name, text_time(us, text));
}

void call_bool(struct call *q, const char *name, bool value)
{
    call_text(q, name, value ? "true" : NULL);
}

void call_release(struct call *q)
{
    buf_release(&q->target);
    buf_release(&q->body);
}

/* ---- the answer ---- */

void reply_release(struct reply *a)
{
    buf_release(&a->head);
    buf_release(&a->body);
}

const char *reply_header(const struct reply *a, const char *header)
{
    size_t len = strlen(header);

    for (const char *line = buf_cstr(&a->head); *line; line += strcspn(line, "\n") + 1)
        if (!strncasecmp(line, header, len) && line[len] == ':')
            return line + len + 1 + strspn(line + len + 1, " ");
        else if (!strchr(line, '\n'))
            break;
    return NULL;
}

int64_t reply_int(const struct reply *a, const char *header)
{
    const char *value = reply_header(a, header);

    return value ? strtoll(value, NULL, 10) : 0;
}

bool reply_bool(const struct reply *a, const char *header)
{
    const char *value = reply_header(a, header);

    return value && !strncmp(value, "true", 4);
}

static size_t add_bytes(char *bytes, size_t size, size_t n, void *buf)
{
    buf_add(buf, bytes, size * n);
    return size * n;
}

/* ---- sending ---- */

/* A TLS library writes to a closed connection in a way that raises SIGPIPE. It is blocked
 * meanwhile, and taken back if it was raised. */
void remote_block_pipe(sigset_t *before)
{
    sigset_t pipe;

    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, before);
}

void remote_unblock_pipe(const sigset_t *before)
{
    static const struct timespec now;
    int saved = errno;
    sigset_t pipe;

    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    if (!sigismember(before, SIGPIPE))
        while (sigtimedwait(&pipe, NULL, &now) < 0 && errno == EINTR)
            ;
    pthread_sigmask(SIG_SETMASK, before, NULL);
    errno = saved;
}

struct curl_slist *remote_headers(const struct remote *r, const struct call *q)
{
    struct curl_slist *list = NULL;
    AUTO_FREE char *token = r->token ? mem_printf("Authorization: Bearer %s", r->token) : NULL;

    if (token)
        list = curl.slist_append(list, token);
    for (size_t i = 0; i < sizeof(q->header) / sizeof(*q->header); i++)
        if (q->header[i])
            list = curl.slist_append(list, q->header[i]);
    if (q->body.len)
        list = curl.slist_append(list, "Content-Type: application/json");
    return curl.slist_append(list, "Expect:"); /* the body is sent at once */
}

/* A server is reached directly, whatever proxy the environment names. A connection whose other end
 * has vanished ends after about a minute, however long the server may take to answer. */
void remote_prepare(struct remote *r, CURL *easy)
{
    curl.easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl.easy_setopt(easy, CURLOPT_PROXY, "");
    curl.easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl.easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, 20L);
    curl.easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, 10L);
    curl.easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)(r->patience / 1000));
    curl.easy_setopt(easy, CURLOPT_USERAGENT, "pawl/" PAWL_VERSION);
    if (r->socket)
        curl.easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, r->socket);
}

static CURLcode perform(struct remote *r, struct call *q, struct reply *a)
{
    AUTO_FREE char *url = mem_printf("%s%s", r->base, buf_cstr(&q->target));
    struct curl_slist *headers = remote_headers(r, q);
    sigset_t blocked;
    CURLcode code;

    remote_prepare(r, r->easy);
    curl.easy_setopt(r->easy, CURLOPT_URL, url);
    curl.easy_setopt(r->easy, CURLOPT_HTTPHEADER, headers);
    curl.easy_setopt(r->easy, CURLOPT_WRITEFUNCTION, add_bytes);
    curl.easy_setopt(r->easy, CURLOPT_WRITEDATA, &a->body);
    curl.easy_setopt(r->easy, CURLOPT_HEADERFUNCTION, add_bytes);
    curl.easy_setopt(r->easy, CURLOPT_HEADERDATA, &a->head);
    curl.easy_setopt(r->easy, CURLOPT_CUSTOMREQUEST, q->method);
    if (q->body.len) {
        curl.easy_setopt(r->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)q->body.len);
        curl.easy_setopt(r->easy, CURLOPT_POSTFIELDS, q->body.ptr);
    } else {
        curl.easy_setopt(r->easy, CURLOPT_HTTPGET, 1L);
    }
    remote_block_pipe(&blocked);
    code = curl.easy_perform(r->easy);
    remote_unblock_pipe(&blocked);
    curl.easy_getinfo(r->easy, CURLINFO_RESPONSE_CODE, &a->status);
    curl.slist_free_all(headers);
    return code;
}

int remote_send(struct remote *r, struct call *q, struct reply *a, struct err *err)
{
    int64_t start = clock_boot_us();
    CURLcode code;

    if (!q->method)
        q->method = "GET";
    code = perform(r, q, a);
    if (r->env->trace) {
        AUTO_FREE char *what = mem_printf("%s %s", q->method, buf_cstr(&q->target));

        r->env->trace(r->env->arg, what, clock_boot_us() - start, 1);
    }
    if (code)
        return remote_no_answer(r, q->method, code, err);
    return a->status / 100 == 2 ? 0 : remote_problem(r, a, err);
}

int remote_ask(struct remote *r, struct call *q, json_t **out, struct err *err)
{
    AUTO_REPLY a = {0};

    TRY(remote_send(r, q, &a, err));
    *out = json_loadb(buf_cstr(&a.body), a.body.len, JSON_ALLOW_NUL, NULL);
    return json_is_object(*out) ? 0 : remote_no_server(r, err);
}
