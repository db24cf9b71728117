/* overview.c - queues, workers, running jobs and recent outcomes as one JSON object, for a view
 * that is redrawn often. */
#include "api/api.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_COUNT 100
#define MAX_COUNT     1000

/* ---- ended attempts ---- */

struct ended {
    const char *queue;
    int64_t done, failed;
};
struct ended_list {
    VEC(struct ended) rows;
    struct arena *arena; /* holds their strings */
};

#define ROW struct ended
static const struct column ended_columns[] = {
    {"queue", TEXT(queue), NULL},
    {"done", INT(done), "attempts that succeeded"},
    {"failed", INT(failed), "attempts that failed, timed out or were lost"},
};
const struct noun ended_noun = {"### ended", NOUN_COLUMNS(ended_columns)};
#undef ROW

static struct ended *ended_of(struct ended_list *l, const char *queue)
{
    for (size_t i = 0; i < l->rows.n; i++)
        if (!strcmp(l->rows.at[i].queue, queue))
            return &l->rows.at[i];
    *vec_add(&l->rows) = (struct ended){.queue = arena_strdup(l->arena, queue)};
    return &l->rows.at[l->rows.n - 1];
}

/* Adds the counts of ended attempts. Cancelled, deferred and refused attempts count as neither done
 * nor failed. */
static void add_attempts(struct ended_list *l, const struct queue_attempts *q)
{
    struct ended *e = ended_of(l, q->queue);
    const int64_t *n = q->counts.outcomes;

    e->done += n[OUTCOME_OK];
    e->failed += n[OUTCOME_FAILED] + n[OUTCOME_TIMED_OUT] + n[OUTCOME_LOST];
}

/* ---- running jobs, and the overview ---- */

struct running {
    struct running_row row;
    int64_t elapsed;
};

#define ROW struct running
static const struct column running_columns[] = {
    {"id", INT(row.id), NULL},
    {"root", INT(row.root), "the top of its tree"},
    {"name", TEXT(row.name), NULL},
    {"queue", TEXT(row.queue), NULL},
    {"executor", LANE(row.lane, "text"), NULL},
    {"attempt", INT(row.attempts), NULL},
    {"max_attempts", INT(row.max_attempts), NULL},
    {"worker", OPT_WORKER(row.worker), "null if the worker is gone and the job waits for adoption"},
    {"since", TIME(row.since), "when its attempt was claimed"},
    {"elapsed_us", INT(elapsed), "the time since then"},
    {"last_line", OPT_TEXT(row.last_line),
     "the last stored line of its output, unmodified, including escape sequences"},
};
const struct noun running_noun = {"### running", NOUN_COLUMNS(running_columns)};
#undef ROW

struct answer {
    int64_t now;
    struct noun_rows queues, workers, running, ended;
};

#define ROW struct answer
static const struct column columns[] = {
    {"at", TIME(now), "the database's time"},
    {"queues", LIST(queues, queue_noun),
     "of queues, as above; the queues of foreground runs are combined as `here`"},
    {"workers", LIST(workers, worker_noun), "of workers, as above"},
    {"running", LIST(running, running_noun),
     "running jobs, the oldest first, at most as many as requested"},
    {"ended", LIST(ended, ended_noun), "for each queue, how many attempts have ended so far"},
};
const struct noun overview_noun = {"## An overview", NOUN_COLUMNS(columns)};

static char *overview_text(const struct overview *o)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct queue_answer *queues = arena_alloc(&arena, (o->queues.n + 1) * sizeof(*queues));
    struct worker_answer *workers = arena_alloc(&arena, (o->workers.n + 1) * sizeof(*workers));
    struct running *running = arena_alloc(&arena, (o->nrunning + 1) * sizeof(*running));
    struct ended_list ended = {.arena = &arena};
    struct answer a = {.now = o->now};
    char *text;

    for (size_t i = 0; i < o->queues.n; i++)
        queue_answer(&queues[i], &o->queues.at[i], o->now);
    for (size_t i = 0; i < o->workers.n; i++)
        worker_answer(&workers[i], &o->workers.at[i], o->now);
    for (size_t i = 0; i < o->nrunning; i++)
        running[i] = (struct running){
            .row = o->running[i],
            .elapsed = o->now > o->running[i].since ? o->now - o->running[i].since : 0};
    for (size_t i = 0; i < o->attempts.n; i++)
        add_attempts(&ended, &o->attempts.at[i]);
    a.queues = (struct noun_rows){queues, o->queues.n, sizeof(*queues)};
    a.workers = (struct noun_rows){workers, o->workers.n, sizeof(*workers)};
    a.running = (struct noun_rows){running, o->nrunning, sizeof(*running)};
    a.ended = (struct noun_rows){ended.rows.at, ended.rows.n, sizeof(*ended.rows.at)};
    text = noun_text(&overview_noun, &a);
    vec_release(&ended.rows);
    return text;
}

int pawl_overview(struct pawl *p, const struct pawl_overview_query *q, char **json,
                  struct pawl_error *e)
{
    AUTO(overview_release) struct overview o = {0};
    int64_t limit = q && q->limit > 0 ? q->limit : DEFAULT_COUNT;
    const char *part = q && q->part && *q->part ? q->part : NULL;
    API_ERR(e);

    if (part && !text_is_utf8(part, strlen(part)))
        return err_set(err, E_INVALID, "the text to search for is not valid UTF-8");
    if (p->remote)
        return remote_overview(p->remote, part, limit < MAX_COUNT ? limit : MAX_COUNT, json, err);
    TRY(query_overview(p->store, part, (size_t)(limit < MAX_COUNT ? limit : MAX_COUNT), &o, err));
    queues_merge_foreground(&o.queues);
    *json = overview_text(&o);
    return 0;
}
