/* check.c - checks that need the whole graph: cycles, and whether a task needs another one,
 * directly or indirectly. */
#include "parse/workflow/reader.h"

#include <string.h>

/* ---- cycles ---- */

#define SHOWN_TASKS 20

static void report_cycle(void *arg, const uint32_t *path, uint32_t n)
{
    struct reader *r = arg;
    const struct workflow_task *tasks = r->w->tasks;
    AUTO_BUF shown = BUF_INIT;
    uint32_t first = 0, i;

    for (i = 1; i < n; i++)
        if (path[i] < path[first])
            first = i;
    for (i = 0; i < n; i++) {
        if (n > SHOWN_TASKS && i == SHOWN_TASKS / 2) {
            buf_addf(&shown, "… %u more … -> ", n - SHOWN_TASKS + 1);
            i = n - SHOWN_TASKS / 2;
        }
        buf_addf(&shown, "%s -> ", tasks[path[(first + i) % n]].name);
    }
    diagnostics_add(r->doc->diagnostics, r->doc->source, tasks[path[first]].line,
                    tasks[path[first]].column, "tasks need each other in a cycle: %s%s",
                    buf_cstr(&shown), tasks[path[first]].name);
}

bool reader_check_graph(struct reader *r)
{
    workflow_link(r->w, r->arena);
    return !workflow_cycles(r->w, report_cycle, r);
}

/* ---- ancestors ---- */

/* Answers many questions "does T need X, directly or indirectly?" at once. Each wanted task X gets
 * a bit. In topological order, the ancestors of a task are the union of its needs and of their
 * ancestors. One pass over the graph thus answers all questions about BITS wanted tasks. */
#define WORDS 8
#define BITS  (WORDS * 64)

struct ancestors {
    uint64_t bits[WORDS];
};

static void collect_ancestors(const struct workflow *w, const uint32_t *order,
                              const uint32_t *bit_of, struct ancestors *ancestors)
{
    for (uint32_t i = 0; i < w->ntasks; i++) {
        const struct workflow_task *t = &w->tasks[order[i]];
        struct ancestors sum = {{0}};

        for (uint32_t k = 0; k < t->nneeds; k++) {
            const struct ancestors *need = &ancestors[t->needs[k]];
            uint32_t bit = bit_of[t->needs[k]];

            for (uint32_t b = 0; b < WORDS; b++)
                sum.bits[b] |= need->bits[b];
            if (bit < BITS)
                sum.bits[bit / 64] |= 1ull << bit % 64;
        }
        ancestors[order[i]] = sum;
    }
}

/* Assigns bits to the wanted tasks of the list, from list[at] on, until all bits are used. Returns
 * the index of the first entry whose task got no bit. */
static size_t assign_bits(const struct far_need *list, size_t n, size_t at, uint32_t *bit_of)
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

static bool is_ancestor(const struct ancestors *ancestors, uint32_t task, uint32_t bit)
{
    return ancestors[task].bits[bit / 64] >> bit % 64 & 1;
}

static void report_far_need(struct reader *r, const struct far_need *f)
{
    const struct workflow_task *tasks = r->w->tasks;

    reader_error(r, f->use, f->offset,
                 "%s refers to the task \"%s\", which \"%s\" does not need: add it to needs",
                 f->use->what, tasks[f->wanted].name, tasks[f->task].name);
}

void reader_check_far(struct reader *r, const struct far_need *list, size_t n)
{
    uint32_t count = r->w->ntasks, placed;
    AUTO_FREE uint32_t *order = mem_alloc((count + 1) * sizeof(*order));
    AUTO_FREE uint32_t *bit_of = mem_alloc((count + 1) * sizeof(*bit_of));
    AUTO_FREE struct ancestors *ancestors = mem_alloc((count + 1) * sizeof(*ancestors));
    size_t from = 0, to, i;

    (void)workflow_order(r->w, order, &placed); /* cannot fail: reader_check_graph found no cycle */
    while (from < n) {
        memset(bit_of, 0xFF, count * sizeof(*bit_of));
        to = assign_bits(list, n, from, bit_of);
        collect_ancestors(r->w, order, bit_of, ancestors);
        for (i = from; i < to; i++)
            if (!is_ancestor(ancestors, list[i].task, bit_of[list[i].wanted]))
                report_far_need(r, &list[i]);
        from = to;
    }
}
