/* check.c - what only the whole graph tells: circles, and who needs whom, directly or not.
 */
#include "parse/workflow/reader.h"

#include <stdlib.h>
#include <string.h>

/* ---- circles ---- */

#define SHOWN_TASKS 20

static void report_cycle(void *arg, const uint32_t *path, uint32_t n)
{
    struct reader *r = arg;
    const struct workflow_task *tasks = r->w->tasks;
    struct buf said = BUF_INIT;
    uint32_t first = 0, i;

    for (i = 1; i < n; i++)
        if (path[i] < path[first])
            first = i;
    for (i = 0; i < n; i++) {
        if (n > SHOWN_TASKS && i == SHOWN_TASKS / 2) {
            buf_addf(&said, "… %u more … -> ", n - SHOWN_TASKS + 1);
            i = n - SHOWN_TASKS / 2;
        }
        buf_addf(&said, "%s -> ", tasks[path[(first + i) % n]].name);
    }
    diagnostics_add(r->doc->diagnostics, r->doc->source, tasks[path[first]].line,
                    tasks[path[first]].column, "tasks need each other in a circle: %s%s",
                    buf_cstr(&said), tasks[path[first]].name);
    buf_release(&said);
}

bool reader_check_graph(struct reader *r)
{
    workflow_link(r->w, r->arena);
    return !workflow_cycles(r->w, report_cycle, r);
}

/* ---- who needs whom ---- */

/* Many questions "is X before T?" at once. Each task that is asked for gets a bit; what a task has
 * behind it is the sum of what its needs have, in the order of the graph. So a pass over the graph
 * answers all questions about BITS tasks. */
#define WORDS 8
#define BITS  (WORDS * 64)

struct behind {
    uint64_t bits[WORDS];
};

static void spread(const struct workflow *w, const uint32_t *order, const uint32_t *bit_of,
                   struct behind *behind)
{
    uint32_t i, k, b;

    for (i = 0; i < w->ntasks; i++) {
        const struct workflow_task *t = &w->tasks[order[i]];
        struct behind sum = {{0}};

        for (k = 0; k < t->nneeds; k++) {
            const struct behind *need = &behind[t->needs[k]];
            uint32_t bit = bit_of[t->needs[k]];

            for (b = 0; b < WORDS; b++)
                sum.bits[b] |= need->bits[b];
            if (bit < BITS)
                sum.bits[bit / 64] |= 1ull << bit % 64;
        }
        behind[order[i]] = sum;
    }
}

/* Gives bits to as many wanted tasks as there are; returns where it stopped. */
static size_t give_bits(const struct far_need *list, size_t n, size_t at, uint32_t *bit_of)
{
    uint32_t bits = 0;

    for (; at < n; at++) {
        if (bit_of[list[at].wanted] != UINT32_MAX)
            continue;
        if (bits == BITS)
            break;
        bit_of[list[at].wanted] = bits++;
    }
    return at;
}

static bool is_behind(const struct behind *behind, uint32_t task, uint32_t bit)
{
    return behind[task].bits[bit / 64] >> bit % 64 & 1;
}

static void report_far_need(struct reader *r, const struct far_need *f)
{
    const struct workflow_task *tasks = r->w->tasks;

    reader_error(r, f->use, f->offset,
                 "%s speaks of the task \"%s\", which \"%s\" does not need: add it to needs",
                 f->use->what, tasks[f->wanted].name, tasks[f->task].name);
}

void reader_check_far(struct reader *r, const struct far_need *list, size_t n)
{
    uint32_t count = r->w->ntasks, placed;
    uint32_t *order = mem_alloc((count + 1) * sizeof(*order));
    uint32_t *bit_of = mem_alloc((count + 1) * sizeof(*bit_of));
    struct behind *behind = mem_alloc((count + 1) * sizeof(*behind));
    size_t from = 0, to, i;

    (void)workflow_order(r->w, order, &placed); /* there is no circle */
    while (from < n) {
        memset(bit_of, 0xFF, count * sizeof(*bit_of));
        to = give_bits(list, n, from, bit_of);
        spread(r->w, order, bit_of, behind);
        for (i = from; i < to; i++)
            if (!is_behind(behind, list[i].task, bit_of[list[i].wanted]))
                report_far_need(r, &list[i]);
        from = to;
    }
    free(behind);
    free(bit_of);
    free(order);
}
