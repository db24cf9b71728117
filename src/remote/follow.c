/* follow.c - follows events, and listens for changes.
 *
 * A follower asks for what came after its position, which the server makes: nothing is kept there.
 * A listener is a stream of the server, which says that there is something new. */
#include "remote/call.h"

#include <stdlib.h>
#include <string.h>

/* ---- followers ---- */

struct remote_follower {
    struct remote *remote;
    int64_t execution, since, until;
    bool self;
    char *types;
    char *position;     /* NULL before the first answer */
    struct reply first; /* the answer to the request that began to follow */
};

static int ask_new(struct remote_follower *f, struct reply *a, struct err *err)
{
    AUTO_CALL q = {0};

    if (f->execution)
        call_path(&q, "/v1/executions/%lld/events/new", (long long)f->execution);
    else
        call_path(&q, "/v1/events/new");
    call_bool(&q, "self", f->self);
    call_text(&q, "type", f->types);
    call_time(&q, "since", f->since);
    call_time(&q, "until", f->until);
    call_text(&q, "position", f->position);
    return remote_send(f->remote, &q, a, err);
}

int remote_follow(struct remote *r, const struct pawl_event_query *q, struct remote_follower **out,
                  struct err *err)
{
    struct remote_follower *f = mem_zalloc(sizeof(*f));
    int rc;

    f->remote = r;
    f->execution = q->execution;
    f->since = q->since;
    f->until = q->until;
    f->self = q->self;
    f->types = mem_strdup(q->types);
    f->position = mem_strdup(q->position);
    if ((rc = ask_new(f, &f->first, err)))
        remote_follower_close(f);
    else
        *out = f;
    return rc;
}

struct counted_lines {
    pawl_line *each;
    void *arg;
    size_t n;
    bool closed;
};

/* Counts all lines, and passes them on until the caller has had enough. */
static int pass_counted(void *arg, const char *json)
{
    struct counted_lines *c = arg;

    c->n++;
    c->closed = c->closed || c->each(c->arg, json) != 0;
    return 0;
}

int remote_follower_next(struct remote_follower *f, pawl_line *each, void *arg, size_t *n,
                         struct err *err)
{
    struct counted_lines c = {each, arg, 0, false};
    AUTO_REPLY a = f->first;
    char *next;

    f->first = (struct reply){0};
    if (!a.status)
        TRY(ask_new(f, &a, err));
    TRY(remote_items(f->remote, &a, pass_counted, &c, &next, err));
    if (!next)
        return remote_no_server(f->remote, err);
    free(f->position);
    f->position = next;
    *n = c.n;
    return 0;
}

const char *remote_follower_position(const struct remote_follower *f)
{
    return f->position;
}

void remote_follower_close(struct remote_follower *f)
{
    if (!f)
        return;
    reply_release(&f->first);
    free(f->types);
    free(f->position);
    free(f);
}

/* ---- listeners ---- */

#define IDLE_MS     10000 /* a wake-up may be lost */
#define RETRY_US    1000000LL
#define CONNECT_MS  100
#define PROBLEM_MAX 4096 /* bytes kept of an answer, in case it is a problem */

struct remote_listener {
    struct remote *remote;
    unsigned what;
    CURLM *multi;
    CURL *easy; /* NULL while there is no stream */
    struct curl_slist *headers;
    struct call request;
    struct reply answer;
    bool in_line, news;
    int64_t retry_at; /* when to connect again */
};

/* Only a line "event: …" begins with an e; the others are id, data, retry and comments. */
static size_t read_stream(char *bytes, size_t size, size_t n, void *arg)
{
    struct remote_listener *l = arg;

    for (size_t i = 0; i < size * n; i++) {
        l->news |= !l->in_line && bytes[i] == 'e';
        l->in_line = bytes[i] != '\n';
    }
    if (l->answer.body.len < PROBLEM_MAX)
        buf_add(&l->answer.body, bytes, size * n);
    return size * n;
}

static size_t keep_head(char *bytes, size_t size, size_t n, void *arg)
{
    struct remote_listener *l = arg;

    buf_add(&l->answer.head, bytes, size * n);
    return size * n;
}

static void disconnect(struct remote_listener *l)
{
    sigset_t blocked;

    if (!l->easy)
        return;
    remote_block_pipe(&blocked);
    curl.multi_remove_handle(l->multi, l->easy);
    curl.easy_cleanup(l->easy);
    remote_unblock_pipe(&blocked);
    curl.slist_free_all(l->headers);
    reply_release(&l->answer);
    l->answer = (struct reply){0};
    l->easy = NULL;
    l->retry_at = clock_boot_us() + RETRY_US;
}

/* Changes made while there was no stream are not announced, so a new stream counts as a change. */
static bool connect_stream(struct remote_listener *l)
{
    AUTO_FREE char *url = mem_printf("%s/v1/stream?topics=changes", l->remote->base);

    if (!(l->easy = curl.easy_init()))
        return false;
    l->in_line = false;
    l->news = true;
    l->headers = remote_headers(l->remote, &l->request);
    remote_prepare(l->remote, l->easy);
    curl.easy_setopt(l->easy, CURLOPT_URL, url);
    curl.easy_setopt(l->easy, CURLOPT_HTTPHEADER, l->headers);
    curl.easy_setopt(l->easy, CURLOPT_WRITEFUNCTION, read_stream);
    curl.easy_setopt(l->easy, CURLOPT_WRITEDATA, l);
    curl.easy_setopt(l->easy, CURLOPT_HEADERFUNCTION, keep_head);
    curl.easy_setopt(l->easy, CURLOPT_HEADERDATA, l);
    curl.multi_add_handle(l->multi, l->easy);
    return true;
}

/* Moves the transfer on. Returns whether the stream has ended; *code is then its result. */
static bool advance(struct remote_listener *l, CURLcode *code)
{
    int running, left;
    sigset_t blocked;
    CURLMsg *m;

    remote_block_pipe(&blocked);
    curl.multi_perform(l->multi, &running);
    remote_unblock_pipe(&blocked);
    curl.easy_getinfo(l->easy, CURLINFO_RESPONSE_CODE, &l->answer.status);
    while ((m = curl.multi_info_read(l->multi, &left)))
        if (m->msg == CURLMSG_DONE) {
            *code = m->data.result;
            return true;
        }
    return false;
}

int remote_listen(struct remote *r, unsigned what, struct remote_listener **out, struct err *err)
{
    struct remote_listener *l = mem_zalloc(sizeof(*l));
    CURLcode code = CURLE_FAILED_INIT;
    bool over;
    int n, rc = 0;

    l->remote = r;
    l->what = what;
    l->multi = curl.multi_init();
    over = !l->multi || !connect_stream(l);
    while (!over && !(over = advance(l, &code)) && !l->answer.status)
        curl.multi_poll(l->multi, NULL, 0, CONNECT_MS, &n);
    if (l->answer.status && l->answer.status != 200)
        rc = remote_problem(r, &l->answer, err);
    else if (over)
        rc = remote_no_answer(r, "GET", code, err);
    if (rc)
        remote_listener_close(l);
    else
        *out = l;
    return rc;
}

void remote_listener_close(struct remote_listener *l)
{
    disconnect(l);
    if (l->multi)
        curl.multi_cleanup(l->multi);
    free(l);
}

int remote_listener_fd(const struct remote_listener *l)
{
    curl_socket_t fd = CURL_SOCKET_BAD;

    if (l->easy)
        curl.easy_getinfo(l->easy, CURLINFO_ACTIVESOCKET, &fd);
    return (int)fd;
}

int remote_listener_poll_ms(const struct remote_listener *l)
{
    return !l->easy ? RETRY_US / 1000 : l->answer.status == 200 ? IDLE_MS : CONNECT_MS;
}

unsigned remote_listener_wait(struct remote_listener *l, int timeout_ms)
{
    CURLcode code;
    int n;

    if (!l->easy && clock_boot_us() >= l->retry_at)
        (void)connect_stream(l);
    if (l->easy && !l->news && timeout_ms)
        curl.multi_poll(l->multi, NULL, 0, timeout_ms, &n);
    else if (!l->easy && timeout_ms)
        clock_sleep_us(timeout_ms * 1000LL);
    if (l->easy && (advance(l, &code) || (l->answer.status && l->answer.status != 200)))
        disconnect(l);
    n = l->news;
    l->news = false;
    return n ? l->what : 0;
}
