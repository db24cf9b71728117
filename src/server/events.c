/* events.c - the endpoints of the history: events of all executions or of one tree, and the stream
 * of new ones. */
#include "base/text.h"
#include "server/server.h"
#include "server/watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVENTS_DEFAULT 100
#define EVENTS_MAX     10000
#define NEW_TRIES      3 /* the history may be complete only after another look */

/* A page of events. One more event than requested is read, to know whether another page follows. */
struct event_page {
    struct page page;
    size_t limit;
    bool more;
    int64_t last, last_time; /* sequence_num and created_at of the last event */
};

static int add_event(void *arg, const char *json)
{
    struct event_page *p = arg;
    json_auto_t *o = NULL;
    struct err ignored = ERR_INIT;

    if (p->page.n == p->limit) {
        p->more = true;
        return 1;
    }
    o = json_loads(json, 0, NULL);
    p->last = json_integer_value(json_object_get(o, "sequence_num"));
    (void)!text_parse_time(json_string_value(json_object_get(o, "created_at")), &p->last_time,
                           &ignored);
    return page_line(&p->page, json);
}

/* Reads a cursor: the number of an event and its time in µs, such as "17-1767225600000000". The
 * page starts after that event. */
static bool read_cursor(struct request *r, struct pawl_event_query *q)
{
    const char *cursor = value_text(&r->args, "cursor");
    long long last, time;
    int end = 0;

    if (!cursor)
        return true;
    if (sscanf(cursor, "%lld-%lld%n", &last, &time, &end) == 2 && !cursor[end] && last > 0 &&
        time > 0) {
        q->last = last;
        q->last_time = time;
        return true;
    }
    answer_problem(r, 400, "invalid", "'%.60s' is not a cursor: use `next` of the page before",
                   cursor);
    return false;
}

static void read_events(struct request *r, int64_t execution)
{
    int64_t limit = value_int(&r->args, "limit");
    struct event_page p = {.limit = (size_t)(limit ? limit : EVENTS_DEFAULT)};
    struct pawl_event_query q = {.execution = execution,
                                 .self = value_bool(&r->args, "self"),
                                 .types = value_text(&r->args, "type"),
                                 .since = value_int(&r->args, "since"),
                                 .until = value_int(&r->args, "until"),
                                 .limit = (int64_t)p.limit + 1};
    struct pawl_error err = {0};
    char next[48];

    if (!read_cursor(r, &q))
        return;
    if (pawl_events(r->p, &q, add_event, &p, &err)) {
        buf_release(&p.page.out);
        answer_error(r, &err);
        return;
    }
    snprintf(next, sizeof(next), "%lld-%lld", (long long)p.last, (long long)p.last_time);
    answer_page(r, &p.page, p.more ? next : NULL);
}

static void all_events(struct request *r)
{
    read_events(r, 0);
}

static void execution_events(struct request *r)
{
    int64_t id;

    if (path_id(r, &id))
        read_events(r, id);
}

/* ---- new events ---- */

/* Events after a position. The server keeps nothing: the position is that of a follower, which a
 * later request, to any server, continues. */
static void read_new(struct request *r, int64_t execution)
{
    struct pawl_event_query q = {.execution = execution,
                                 .self = value_bool(&r->args, "self"),
                                 .types = value_text(&r->args, "type"),
                                 .since = value_int(&r->args, "since"),
                                 .until = value_int(&r->args, "until"),
                                 .position = value_text(&r->args, "position")};
    struct pawl_follower *f = NULL;
    struct pawl_error err = {0};
    struct page page = {0};
    size_t n = 0;
    int rc = pawl_follow(r->p, &q, &f, &err);

    /* With `self` a part of the history may have no line. */
    for (int i = 0; !rc && !page.n && i < NEW_TRIES; i += !n)
        rc = pawl_follower_next(f, page_line, &page, &n, &err);
    if (rc) {
        buf_release(&page.out);
        answer_error(r, &err);
    } else {
        answer_page(r, &page, pawl_follower_position(f));
    }
    pawl_follower_close(f);
}

static void new_events(struct request *r)
{
    read_new(r, 0);
}

static void new_execution_events(struct request *r)
{
    int64_t id;

    if (path_id(r, &id))
        read_new(r, id);
}

static void stream(struct request *r)
{
    const char *last = MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, "Last-Event-ID");
    const char *topics = value_text(&r->args, "topics");
    int64_t after = -1;

    if (last && (text_parse_i64(last, &after) || after < 0)) {
        answer_problem(r, 400, "invalid", "Last-Event-ID: '%.60s' is not the number of an event",
                       last);
        return;
    }
    watch_stream(r, topics ? topics : "events", after);
}

#define EVENT_ARGS                                                                              \
    RULE("type", TEXT,                                                                          \
         "only events of these types: `task.failed`, or `failed` for tasks and workflows",      \
         .max = 1000),                                                                          \
        RULE("since", TIME, "only events from this time on"),                                   \
        RULE("until", TIME, "only events before this time"),                                    \
        RULE("cursor", TEXT, "the cursor of the page, as `next` of the page before has it",     \
             .max = 100, .pattern = "^[1-9][0-9]{0,17}-[1-9][0-9]{0,17}$"),                     \
    {                                                                                           \
        "limit", VALUE_INT, "the size of a page; 100 if not given", .min = 1, .max = EVENTS_MAX \
    }
static const struct value_rule all_args[] = {EVENT_ARGS, {0}};
static const struct value_rule execution_args[] = {
    RULE("self", BOOL, "without the events of its descendants"), EVENT_ARGS, {0}};
#define NEW_ARGS                                                                               \
    RULE("position", TEXT, "where to continue: `next` of the answer before", .max = 6000),     \
        RULE("type", TEXT,                                                                     \
             "only events of these types: `task.failed`, or `failed` for tasks and workflows", \
             .max = 1000),                                                                     \
        RULE("since", TIME, "only events from this time on"),                                  \
        RULE("until", TIME, "only events before this time")
static const struct value_rule new_args[] = {NEW_ARGS, {0}};
static const struct value_rule new_execution_args[] = {
    RULE("self", BOOL, "without the events of its descendants"), NEW_ARGS, {0}};
static const struct value_rule stream_args[] = {
    RULE("topics", TEXT,
         "what to follow, separated by commas: `runs`, `run:ID`, `events`, or `changes`: "
         "that there are events, without them",
         .max = 400),
    {0}};

#define READ PAWL_SCOPE_READ, PLANE_READ
const struct endpoint event_endpoints[] = {
    {"GET", "/v1/events", "listEvents", "Lists events, newest first.", READ, all_args,
     .answer = "Event", .page = true, .status = 200, .run = all_events},
    {"GET", "/v1/executions/{id}/events", "listExecutionEvents",
     "Lists the events of an execution and its descendants, oldest first.", READ, execution_args,
     .answer = "Event", .page = true, .status = 200, .run = execution_events},
    {"GET", "/v1/events/new", "listNewEvents",
     "Lists events after a position, in the order of their numbers and without gaps; without a position there are none. "
     "`next` is the position to continue at, at once or later; it is never null.",
     READ, new_args, .answer = "Event", .page = true, .status = 200, .run = new_events},
    {"GET", "/v1/executions/{id}/events/new", "listNewExecutionEvents",
     "The same for the events of an execution and its descendants; without a position they begin with the first one.",
     READ, new_execution_args, .answer = "Event", .page = true, .status = 200,
     .run = new_execution_events},
    {"GET", "/v1/stream", "stream", "Streams new events as server-sent events.", READ, stream_args,
     .answer = "", .answer_type = "text/event-stream", .status = 200, .run = stream},
    {0},
};
