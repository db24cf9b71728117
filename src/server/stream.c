/* stream.c - streams of server-sent events. A stream subscribes to topics and gets what happened in
 * them, at most four times a second:
 *
 *     runs       events of executions without a parent
 *     run:ID     events of the tree whose root is ID
 *     events     all events
 *     changes    that there are events, without them: for a client that reads them otherwise
 *
 * A message has the events, or says that there are too many of them and the client should load its
 * data again. The id of a message is the number of the last event that it covers: a client that
 * reconnects continues there.
 *
 * libmicrohttpd asks for bytes. A stream that has none suspends its connection, and the thread of
 * the watch resumes it; both under the mutex of the watch, so that no wake-up is lost and no
 * connection is suspended twice. */
#include "base/env.h"
#include "base/json.h"
#include "base/text.h"
#include "server/watch_internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define TOPICS_MAX 8
#define EVENTS_MAX 200 /* at most this many events in one message */
#define LIFE_US \
    (15 * 60 * 1000000LL) /* µs; a stream ends after that, and the client connects again */
#define BLOCK       512   /* bytes that each stream keeps for what it sends */
#define DIRTY_BYTES 2048  /* a shorter part of a message makes no page dirty that is not in use */

struct topic {
    const char *name;
    int64_t root; /* ID of the topic run:ID */
    bool roots;   /* only events of executions without a parent */
    bool bare;    /* only whether there are events */
};

struct stream {
    struct watch *w;
    struct MHD_Connection *connection;
    struct stream *next, **at; /* in w->streams */
    struct topic topics[TOPICS_MAX];
    size_t ntopics;
    char *names;
    char *token;         /* NULL if the stream does not depend on a token of the database */
    uint64_t sent;       /* index in the ring, as watch.written: all events before it were sent or
                            do not concern this stream */
    int64_t last;        /* number of the last event that the sent messages cover */
    unsigned generation; /* value of watch.generation at the last resync */
    bool suspended, ended;
    bool dirty;      /* pages of libmicrohttpd's buffer were written since release_pages() */
    bool news, tick; /* news: the stream may send events; tick: it must send something */
    int64_t until;
    struct buf out;
    size_t out_at;
};

/* ---- messages ---- */

static bool concerns(const struct topic *t, const struct watched_event *e)
{
    return t->root ? e->root == t->root : !t->roots || e->execution == e->root;
}

static void begin_message(struct stream *s, const char *event)
{
    buf_addf(&s->out, "id: %lld\nevent: %s\ndata: ", (long long)s->last, event);
}

/* Adds a message with the events from `first` on that concern the topic, if there are any. For more
 * than EVENTS_MAX events, or a bare topic, the message says only that there are some. */
static void add_topic(struct stream *s, const struct topic *t, uint64_t first)
{
    const struct watch *w = s->w;
    AUTO_BUF events = BUF_INIT;
    bool whole;
    size_t n = 0;

    for (uint64_t i = first; i < w->written && n <= EVENTS_MAX; i++) {
        const struct watched_event *e = &w->ring[i % RING];

        if (!concerns(t, e))
            continue;
        if (n++ < EVENTS_MAX)
            buf_addf(&events, "%s%s", n > 1 ? "," : "", e->json);
    }
    if (!n)
        return;
    whole = n <= EVENTS_MAX && !t->bare;
    begin_message(s, "events");
    buf_addf(&s->out, "{\"topic\":\"%s\",\"more\":%s,\"events\":[%s]}\n\n", t->name,
             whole ? "false" : "true", whole ? events.ptr : "");
}

static void resynchronize(struct stream *s)
{
    const struct watch *w = s->w;

    s->generation = w->generation;
    s->sent = w->written;
    if (w->written)
        s->last = w->ring[(w->written - 1) % RING].sequence;
    begin_message(s, "resync");
    buf_addstr(&s->out, "{}\n\n");
}

/* Writes the messages that are to be sent. Events wait for the next call of streams_wake, which
 * limits how often they are sent, even if libmicrohttpd asks for data earlier. */
static void compose(struct stream *s)
{
    const struct watch *w = s->w;
    uint64_t first = s->sent;

    buf_reset(&s->out);
    s->out_at = 0;
    if (s->news && (s->generation != w->generation || w->written - s->sent > RING)) {
        resynchronize(s);
    } else if (s->news && w->written > s->sent) {
        s->sent = w->written;
        s->last = w->ring[(w->written - 1) % RING].sequence;
        for (size_t i = 0; i < s->ntopics; i++)
            add_topic(s, &s->topics[i], first);
    }
    if (!s->out.len && s->tick)
        buf_addstr(&s->out, ": alive\n\n");
    s->news = s->tick = false;
}

/* ---- bytes ---- */

/* Returns the whole pages of a buffer to the system: its content is lost, but not its addresses. */
static void release_pages(char *buffer, size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), gap = -(uintptr_t)buffer % page;

    if (size >= gap + page)
        madvise(buffer + gap, (size - gap) / page * page, MADV_DONTNEED);
}

/* Called when nothing is to be sent. libmicrohttpd has written zeros to all of its buffer, and a
 * long message stays in it: an idle stream gives this memory back. */
static void suspend(struct stream *s, char *buffer, size_t size)
{
    buf_release(&s->out);
    s->out_at = 0;
    if (s->dirty)
        release_pages(buffer, size);
    s->dirty = false;
    s->suspended = true;
    MHD_suspend_connection(s->connection);
}

static ssize_t read_stream(void *arg, uint64_t at, char *out, size_t max)
{
    struct stream *s = arg;
    ssize_t n = 0;

    (void)at;
    pthread_mutex_lock(&s->w->mutex);
    if (s->out_at == s->out.len && !s->ended)
        compose(s);
    if (s->out_at < s->out.len) {
        n = (ssize_t)(s->out.len - s->out_at < max ? s->out.len - s->out_at : max);
        memcpy(out, s->out.ptr + s->out_at, (size_t)n);
        s->out_at += (size_t)n;
        s->dirty |= n >= DIRTY_BYTES;
    } else if (s->ended || clock_boot_us() > s->until) {
        n = MHD_CONTENT_READER_END_OF_STREAM;
    } else {
        suspend(s, out, max);
    }
    pthread_mutex_unlock(&s->w->mutex);
    return n;
}

static void free_stream(void *arg)
{
    struct stream *s = arg;

    pthread_mutex_lock(&s->w->mutex);
    *s->at = s->next;
    if (s->next)
        s->next->at = s->at;
    pthread_mutex_unlock(&s->w->mutex);
    buf_release(&s->out);
    free(s->names);
    free(s->token);
    free(s);
}

static void resume(struct stream *s)
{
    if (!s->suspended)
        return;
    s->suspended = false;
    MHD_resume_connection(s->connection);
}

void streams_wake(struct watch *w, bool news, bool tick)
{
    for (struct stream *s = w->streams; s; s = s->next) {
        s->tick |= tick;
        s->news |= news && (s->generation != w->generation || s->sent != w->written);
        if (s->tick || s->news)
            resume(s);
    }
}

static void end_stream(struct stream *s)
{
    s->ended = true;
    resume(s);
}

void streams_end(struct watch *w)
{
    for (struct stream *s = w->streams; s; s = s->next)
        end_stream(s);
}

void streams_add_tokens(const struct watch *w, struct token_list *out)
{
    for (const struct stream *s = w->streams; s; s = s->next)
        if (s->token)
            *vec_add(&out->at) = s->token;
}

void streams_end_revoked(struct watch *w, const struct token_list *revoked)
{
    for (struct stream *s = w->streams; s; s = s->next)
        if (s->token && token_list_has(revoked, s->token))
            end_stream(s);
}

/* ---- start ---- */

static bool add_subscription(struct stream *s, const char *name)
{
    struct topic t = {
        .name = name, .roots = !strcmp(name, "runs"), .bare = !strcmp(name, "changes")};

    if (s->ntopics == TOPICS_MAX)
        return false;
    if (!t.roots && !t.bare && strcmp(name, "events") &&
        (strncmp(name, "run:", 4) || text_parse_i64(name + 4, &t.root) || t.root <= 0))
        return false;
    s->topics[s->ntopics++] = t;
    return true;
}

static bool subscribe(struct request *r, struct stream *s, const char *topics)
{
    char *rest = s->names = mem_strdup(topics), *name;

    while ((name = strsep(&rest, ",")))
        if (!add_subscription(s, name)) {
            answer_problem(
                r, 400, "invalid",
                "topics: '%.60s' is not a topic: write runs, run:ID, events or changes, at most %d of them",
                name, TOPICS_MAX);
            return false;
        }
    return true;
}

/* Continues after an event that the client has, if the ring has all later ones. If not, starts with
 * a resync, so that the client knows that it may have missed events. If the history is not followed
 * now, the resync is sent when it is. */
static void position(struct stream *s, int64_t after)
{
    struct watch *w = s->w;
    uint64_t oldest = w->written > RING ? w->written - RING : 0;

    s->generation = w->generation;
    s->sent = w->written;
    s->last = after > 0 ? after : 0;
    s->news = true;
    if (after < 0 || !w->generation || w->resting)
        return;
    if (oldest < w->start)
        oldest = w->start;
    if (oldest == w->written || after < w->ring[oldest % RING].sequence) {
        s->generation = w->generation - 1;
        return;
    }
    while (s->sent > oldest && w->ring[(s->sent - 1) % RING].sequence > after)
        s->sent--;
}

void watch_stream(struct request *r, const char *topics, int64_t after)
{
    struct watch *w = watch_of(r->server, r->tenant);
    struct stream *s;

    if (!w) {
        answer_problem(r, 503, "unavailable", "the server is stopping");
        return;
    }
    s = mem_zalloc(sizeof(*s));
    s->w = w;
    s->connection = r->connection;
    s->until = clock_boot_us() + LIFE_US;
    s->dirty = true;
    if (!subscribe(r, s, topics)) {
        free(s->names);
        free(s);
        return;
    }
    s->token = r->is_stored ? mem_strdup(r->token) : NULL;
    pthread_mutex_lock(&w->mutex);
    position(s, after);
    buf_addstr(&s->out, "retry: 1000\n\n");
    s->ended = w->stopping;
    s->next = w->streams;
    s->at = &w->streams;
    if (s->next)
        s->next->at = &s->next;
    w->streams = s;
    pthread_mutex_unlock(&w->mutex);
    watch_wake(w);
    r->stream =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, read_stream, s, free_stream);
    r->status = 200;
    r->type = "text/event-stream";
    r->answered = true;
}
