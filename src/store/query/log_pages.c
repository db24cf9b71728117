/* log_pages.c - reads the stored output of an attempt in pages. Only chunks of the attempt's
 * highest epoch are shown, not those of an earlier lease. */
#include "base/buf.h"
#include "store/query/query_internal.h"

#include <zstd.h>

#define PAGE_ROWS 1000 /* maximum number of chunks that are read for a page */

struct log_query {
    int64_t execution, from;
    int attempt; /* number of the attempt; 0 for the last attempt */
    size_t max;
    struct buf *out;
    size_t length_before; /* length of `out` before this page was appended */
    int64_t end, gap;     /* length of the stored output; offset in it where bytes were dropped */
    int64_t lost;         /* number of bytes dropped at the gap */
    struct buf chunk;
    struct log_page page;
};

static int set_damaged_error(const struct log_query *g, int64_t start, struct err *err)
{
    return err_set(
        err, E_INTERNAL,
        "the log of execution %lld, attempt %d, is damaged at byte %lld: run `pawl verify`",
        (long long)g->execution, g->page.attempt, (long long)start);
}

/* Finds the attempt and the epoch to read. *epoch becomes 0 if the attempt has no output. */
static int find_log(struct db *db, struct log_query *g, int *epoch, struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;

    TRY(ask(db, &r, err, Q_QUERY_LOG_OF, g->execution, g->attempt));
    if (!r.n)
        return query_set_not_found(g->execution, err);
    g->page.attempt = (int)rows_int(&r, 0, 0);
    *epoch = (int)rows_int(&r, 0, 1);
    return 0;
}

/* Converts a reader's offset to an offset in the stored output. Offsets of readers count every byte
 * that the attempt wrote, so that they stay valid for a reader that follows the log while further
 * bytes are dropped. Offsets of chunks do not count dropped bytes. */
static int64_t kept_offset(const struct log_query *g, int64_t offset)
{
    return offset <= g->gap ? offset : offset < g->gap + g->lost ? g->gap : offset - g->lost;
}

/* Converts the offsets of the page, which do not count dropped bytes, to those of readers. */
static void convert_page_offsets(struct log_query *g)
{
    struct log_page *page = &g->page;

    if (g->out->len == g->length_before) { /* the page is empty */
        page->from = page->next = g->from;
        return;
    }
    if (page->dropped && g->from > g->gap && g->from < g->gap + g->lost)
        page->dropped = g->gap + g->lost - g->from;
    page->from += page->from >= g->gap ? g->lost : 0;
    page->next += page->next > g->gap ? g->lost : 0;
}

/* Reads the chunks that the page may need, and the present length of the output. */
static int fetch_chunks(struct db *db, struct log_query *g, int epoch, struct rows *chunks,
                        struct err *err)
{
    AUTO_ROWS last = ROWS_INIT;

    TRY(ask(db, &last, err, Q_QUERY_LOG_END, g->execution, g->page.attempt, epoch));
    g->end = last.n ? rows_int(&last, 0, 0) : 0;
    g->lost = last.n ? rows_int(&last, 0, 1) : 0;
    g->gap = last.n && g->lost ? rows_int(&last, 0, 2) : INT64_MAX;
    g->page.from = g->page.next = kept_offset(g, g->from);
    return ask(db, chunks, err, Q_QUERY_LOG, g->execution, g->page.attempt, epoch, g->page.next,
               (int64_t)g->max + STORE_MAX_LOG_CHUNK, PAGE_ROWS);
}

bool log_unpack(const struct val *data, int64_t raw, bool packed, struct buf *out)
{
    size_t got = data->len;

    if (raw < 0 || raw > STORE_MAX_LOG_CHUNK)
        return false;
    buf_reserve(out, (size_t)raw);
    if (packed) {
        got = ZSTD_decompress(out->ptr + out->len, (size_t)raw, data->s, data->len);
        out->len += got == (size_t)raw ? got : 0;
    } else {
        buf_add(out, data->s, data->len);
    }
    return got == (size_t)raw;
}

static int unpack_row(struct log_query *g, const struct val *row, struct err *err)
{
    buf_reset(&g->chunk);
    return log_unpack(&row[4], row[1].i, row[3].i != 0, &g->chunk)
               ? 0
               : set_damaged_error(g, row[0].i, err);
}

/* Joins chunks until a gap or the end of the page. Chunks that end before the page are used only to
 * count the bytes that were dropped before it. */
static int join_chunks(struct log_query *g, const struct rows *r, struct err *err)
{
    struct log_page *page = &g->page;
    int64_t dropped = 0;

    for (size_t i = 0; i < r->n && g->out->len - g->length_before < g->max; i++) {
        const struct val *row = &r->cells[i * r->ncols];
        int64_t start = row[0].i, end = start + row[1].i;
        size_t skip = start < page->next ? (size_t)(page->next - start) : 0, take;

        if (end > page->next) {
            if (g->out->len == g->length_before) {
                page->from = start + (int64_t)skip;
                page->dropped = skip ? 0 : row[2].i - dropped;
            } else if (start > page->next || row[2].i != dropped) {
                break;
            }
            TRY(unpack_row(g, row, err));
            take = (size_t)(end - start) - skip;
            if (take > g->max - (g->out->len - g->length_before))
                take = g->max - (g->out->len - g->length_before);
            buf_add(g->out, g->chunk.ptr + skip, take);
            page->next = start + (int64_t)(skip + take);
        }
        dropped = row[2].i;
    }
    return 0;
}

static int read_page(struct db *db, void *arg, struct err *err)
{
    struct log_query *g = arg;
    AUTO_ROWS chunks = ROWS_INIT;
    int epoch = 0, rc;

    g->out->len = g->length_before; /* start anew: the body may run more than once */
    g->page = (struct log_page){.from = g->from, .next = g->from};
    TRY(find_log(db, g, &epoch, err));
    if (!epoch)
        return 0;
    if (!(rc = fetch_chunks(db, g, epoch, &chunks, err)))
        rc = join_chunks(g, &chunks, err);
    g->page.more = g->page.next < g->end;
    convert_page_offsets(g);
    return rc;
}

int query_log(struct store *s, const struct log_position *at, size_t max, struct buf *out,
              struct log_page *page, struct err *err)
{
    struct log_query g = {.execution = at->execution,
                          .attempt = at->attempt,
                          .from = at->from,
                          .max = max,
                          .out = out,
                          .length_before = out->len};
    int rc = query_read(s, read_page, &g, err);

    if (!rc)
        *page = g.page;
    else
        out->len = g.length_before;
    buf_release(&g.chunk);
    return rc;
}
