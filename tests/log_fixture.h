/* log_fixture.h - the output of attempts in a test: written as the holder of a lease writes it, and
 * read in pages of all sizes. */
#ifndef TESTS_LOG_FIXTURE_H
#define TESTS_LOG_FIXTURE_H

#include "base/buf.h"
#include "fixture.h"
#include "store/query/query.h"

#include <string.h>

struct logging {
    int64_t worker;
    struct log_chunk *list;
    size_t n;
};

static inline int log_body(struct turn *t, void *arg, struct err *err)
{
    struct logging *g = arg;

    return op_store_logs(t, g->worker, g->list, g->n, err);
}

static inline struct log_chunk chunk_of(struct held_job j, int64_t offset, const char *bytes,
                                        size_t len)
{
    return (struct log_chunk){.lease = {.execution = j.id, .root = j.root, .epoch = j.epoch},
                              .attempt = j.attempt,
                              .bytes = bytes,
                              .len = len,
                              .offset = offset};
}

static inline void send(struct store *s, int64_t worker, struct log_chunk *list, size_t n)
{
    struct logging g = {worker, list, n};
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, log_body, &g, &err), &err);
}

static inline int send_bytes(struct store *s, struct held_job j, int64_t offset, const char *bytes,
                             size_t len)
{
    struct log_chunk c = chunk_of(j, offset, bytes, len);

    send(s, j.worker, &c, 1);
    return c.lease.rc;
}

static inline int send_text(struct store *s, struct held_job j, int64_t offset, const char *text)
{
    return send_bytes(s, j, offset, text, strlen(text));
}

static inline struct log_page page(struct store *s, int64_t id, int attempt, int64_t from,
                                   size_t max, struct buf *out)
{
    struct log_page p = {0};
    struct err err = ERR_INIT;

    CHECK_OK_ERR(query_log(s, &(struct log_position){id, attempt, from}, max, out, &p, &err), &err);
    return p;
}

/* All output of an attempt, read in pages of `max` bytes; "…" marks a gap. */
static inline struct buf read_all(struct store *s, int64_t id, int attempt, size_t max)
{
    struct buf b = BUF_INIT;
    struct log_page p = {.more = true};

    while (p.more) {
        struct buf one = BUF_INIT;
        int64_t from = p.next;

        p = page(s, id, attempt, from, max, &one);
        CHECK(one.len <= max);
        CHECK_EQ(p.next, p.from + (int64_t)one.len);
        CHECK(p.next > from || !p.more);
        if (p.dropped || p.from > from)
            buf_addstr(&b, "…");
        buf_add(&b, one.ptr, one.len);
        buf_release(&one);
    }
    return b;
}

static inline void check_log(struct store *s, int64_t id, int attempt, const char *expected)
{
    static const size_t sizes[] = {1, 3, 7, 1000000};
    size_t i;

    for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        struct buf b = read_all(s, id, attempt, sizes[i]);

        CHECK_STR(buf_cstr(&b), expected);
        buf_release(&b);
    }
}

static inline struct held_job running(struct store *s)
{
    submit_with(s, (struct submission){.name = "x", .max_attempts = 3});
    return claim_job(s, 1);
}

static inline struct held_job reap_and_adopt(struct store *s, int64_t worker)
{
    struct held_job j = {0};

    clock_advance(LEASE + SECOND);
    CHECK_EQ(reap(s), 1);
    CHECK(adopt_one(s, worker, &j));
    return j;
}

#endif
