/* history.c - walks once through all events, ordered by (root, execution, seq), to write a
 * checkpoint and to compare the executions with an earlier checkpoint, which has this order, too.
 * Events are read in pages; only a hash of them is kept. */
#include "store/verify/verify_internal.h"

#include <sodium.h>
#include <string.h>

/* Columns of the statement verify_history. */
enum { ROOT, EXECUTION, SEQ, TYPE, DATA = 10, NOW_STATUS, NOW_MAX_ATTEMPTS = 15, NOW_ERROR = 20 };

#define PAGE 1000 /* rows per page; the LIMIT of verify_history */

/* Executions of the old checkpoint that no longer exist. They are kept until it is known whether
 * the rest of their tree exists. */
struct vanished {
    int64_t root; /* root of the tree; 0 if none */
    bool tree_exists;
    VEC(int64_t) ids; /* ids of at most verify.max executions, because no more are reported */
};

struct history_walk {
    struct verify *v;
    struct checkpoint_writer *save;
    struct checkpoint_reader *since;
    struct vanished vanished;

    /* the next execution in the old checkpoint */
    struct mark next;
    bool has_next;

    /* `now` is the current execution; now.id is 0 if there is none yet */
    struct mark now, was;
    int64_t root_before; /* the root of the previous execution */
    /* Whether `was` is the mark of the current execution in the old checkpoint. */
    bool is_known;
    bool rerun;       /* whether the execution was rerun since the old checkpoint */
    bool prefix_seen; /* whether the last event that the old checkpoint covers was found */
    bool prefix_same; /* whether the events up to that event are unchanged */
    crypto_generichash_state history;
};

/* ---- hashes ---- */

static void hash_init(crypto_generichash_state *h)
{
    crypto_generichash_init(h, NULL, 0, crypto_generichash_BYTES_MIN);
}

static void hash_final(crypto_generichash_state *h, char out[MARK_HASH_TEXT])
{
    unsigned char bytes[crypto_generichash_BYTES_MIN];

    crypto_generichash_final(h, bytes, sizeof(bytes));
    sodium_bin2hex(out, MARK_HASH_TEXT, bytes, (MARK_HASH_TEXT - 1) / 2);
}

/* Adds the columns from..to of a row to a hash: first the numbers and the lengths of the texts,
 * then the texts. */
static void hash_columns(crypto_generichash_state *h, const struct rows *r, size_t row, size_t from,
                         size_t to)
{
    const struct val *cells = &r->cells[row * r->ncols];
    int64_t numbers[NOW_ERROR + 1] = {0};
    size_t i, n = 0;

    for (i = from; i <= to; i++)
        numbers[n++] = cells[i].null ? INT64_MIN : cells[i].s ? (int64_t)cells[i].len : cells[i].i;
    crypto_generichash_update(h, (const unsigned char *)numbers, n * sizeof(*numbers));
    for (i = from; i <= to; i++)
        if (!cells[i].null && cells[i].s)
            crypto_generichash_update(h, (const unsigned char *)cells[i].s, cells[i].len);
}

/* ---- vanished executions ---- */

/* Reports executions that have vanished. Retention deletes whole trees. If part of a tree exists,
 * something other than retention deleted the rest. */
static void report_vanished(struct history_walk *w)
{
    struct vanished *x = &w->vanished;

    for (size_t i = 0; i < x->ids.n && x->tree_exists; i++)
        verify_violation(w->v, "S04", x->ids.at[i], "it no longer exists, but its tree %lld does",
                         (long long)x->root);
    x->ids.n = 0;
    x->root = 0;
    x->tree_exists = false;
}

static void note_vanished(struct history_walk *w, const struct mark *m)
{
    struct vanished *x = &w->vanished;

    if (m->root != x->root) {
        report_vanished(w);
        x->root = m->root;
        x->tree_exists = m->root == w->now.root || m->root == w->root_before;
    }
    if (x->ids.n < w->v->max)
        *vec_add(&x->ids) = m->id;
}

/* ---- comparison ---- */

static int fetch_next(struct history_walk *w, struct err *err)
{
    w->has_next = false;
    return w->since ? checkpoint_next(w->since, &w->next, &w->has_next, err) : 0;
}

/* Advances in the old checkpoint to the mark of the current execution. Marks that are skipped
 * belong to vanished executions. */
static int find_old_mark(struct history_walk *w, struct err *err)
{
    if (w->vanished.root && w->now.root == w->vanished.root)
        w->vanished.tree_exists = true;
    w->is_known = false;
    while (w->has_next && (w->next.root < w->now.root ||
                           (w->next.root == w->now.root && w->next.id < w->now.id))) {
        note_vanished(w, &w->next);
        TRY(fetch_next(w, err));
    }
    if (!w->has_next || w->next.root != w->now.root || w->next.id != w->now.id)
        return 0;
    w->is_known = true;
    w->was = w->next;
    return fetch_next(w, err);
}

static void compare_counter(struct history_walk *w, const char *name, int was, int now)
{
    if (now < was)
        verify_violation(w->v, "S02", w->now.id, "its %s decreased from %d to %d", name, was, now);
}

static void compare_marks(struct history_walk *w)
{
    const struct mark *was = &w->was, *now = &w->now;

    compare_counter(w, "seq", was->seq, now->seq);
    compare_counter(w, "attempts", was->attempts, now->attempts);
    compare_counter(w, "epoch", was->epoch, now->epoch);
    if (!w->prefix_seen)
        verify_violation(w->v, "S03", now->id, "its event %d is gone", was->seq);
    else if (!w->prefix_same)
        verify_violation(w->v, "S03", now->id, "its first %d events have changed", was->seq);
    if (!status_is_terminal(was->status) || w->rerun)
        return;
    if (now->status != was->status || now->seq != was->seq)
        verify_violation(w->v, "S01", now->id, "it was %s at event %d, now it is %s at event %d",
                         status_text(was->status), was->seq, status_text(now->status), now->seq);
    else if (strcmp(now->ending, was->ending))
        verify_violation(w->v, "S01", now->id,
                         "it is still %s, but its result, error or times have changed",
                         status_text(was->status));
}

/* ---- the walk ---- */

static int start_execution(struct history_walk *w, const struct rows *r, size_t row,
                           struct err *err)
{
    w->root_before = w->now.root;
    w->now = (struct mark){.ending = "-"};
    rows_read(r, row, ROOT, NULL, &w->now.root, &w->now.id);
    rows_read(r, row, NOW_STATUS, NULL, &w->now.status, &w->now.seq, &w->now.attempts,
              &w->now.epoch);
    w->rerun = w->prefix_seen = w->prefix_same = false;
    hash_init(&w->history);
    return find_old_mark(w, err);
}

static void add_event(struct history_walk *w, const struct rows *r, size_t row)
{
    int seq = (int)rows_int(r, row, SEQ), action = (int)rows_int(r, row, TYPE) % WORKFLOW_EVENT;

    hash_columns(&w->history, r, row, SEQ, DATA);
    if (w->is_known && seq == w->was.seq) {
        crypto_generichash_state copy = w->history;
        char prefix[MARK_HASH_TEXT];

        hash_final(&copy, prefix);
        w->prefix_seen = true;
        w->prefix_same = !strcmp(prefix, w->was.history);
    }
    if (w->is_known && seq > w->was.seq && action == EV_RERUN)
        w->rerun = true;
    if (seq == w->now.seq && status_is_terminal(w->now.status)) {
        crypto_generichash_state h;

        hash_init(&h);
        hash_columns(&h, r, row, NOW_MAX_ATTEMPTS, NOW_ERROR);
        hash_final(&h, w->now.ending);
    }
}

static int end_execution(struct history_walk *w, struct err *err)
{
    if (!w->now.id)
        return 0;
    hash_final(&w->history, w->now.history);
    if (w->is_known)
        compare_marks(w);
    return w->save ? checkpoint_add(w->save, &w->now, err) : 0;
}

/* Whether the event's execution does not exist, which I41 reports. */
static bool is_stray(const struct rows *r, size_t row)
{
    return rows_null(r, row, NOW_STATUS);
}

static int walk_page(struct history_walk *w, const struct rows *r, struct err *err)
{
    for (size_t i = 0; i < r->n; i++) {
        if (is_stray(r, i))
            continue;
        if (rows_int(r, i, ROOT) != w->now.root || rows_int(r, i, EXECUTION) != w->now.id) {
            TRY(end_execution(w, err));
            TRY(start_execution(w, r, i, err));
        }
        add_event(w, r, i);
    }
    return 0;
}

static int walk_pages(struct history_walk *w, struct err *err)
{
    int64_t root = 0, execution = 0, seq = 0;
    AUTO_ROWS r = ROWS_INIT;

    TRY(verify_set_planner(w->v, "off", err));
    do {
        TRY(ask(w->v->db, &r, err, Q_VERIFY_HISTORY, root, execution, seq));
        TRY(walk_page(w, &r, err));
        if (r.n)
            rows_read(&r, r.n - 1, ROOT, NULL, &root, &execution, &seq);
    } while (r.n == PAGE);
    return 0;
}

int verify_walk(struct verify *v, struct checkpoint_writer *save, struct checkpoint_reader *since,
                struct err *err)
{
    struct history_walk w = {.v = v, .save = save, .since = since};
    int rc;

    if (sodium_init() < 0)
        return err_set(err, E_INTERNAL, "libsodium can't be initialized");
    if ((rc = fetch_next(&w, err)) || (rc = walk_pages(&w, err)) || (rc = end_execution(&w, err)))
        goto done;
    while (w.has_next) {
        note_vanished(&w, &w.next);
        if ((rc = fetch_next(&w, err)))
            goto done;
    }
    report_vanished(&w);
done:
    vec_release(&w.vanished.ids);
    return rc;
}
