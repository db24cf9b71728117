/* start_marks.c - the table of started attempts in a worker's file; see start_marks.h. */
#include "base/start_marks.h"

#include "base/idmap.h"
#include "base/proc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEAD_SIZE 64

struct mark {
    int64_t execution, attempt;
};

struct start_marks {
    int fd;
    int64_t generation;
    int nslots;
    VEC(int) unused;   /* slots below nslots that are free */
    struct idmap kept; /* maps the id of an execution to its slot + 1 */
    VEC(int) attempts; /* the number of the attempt in each kept slot */
};

struct start_marks *start_marks_new(int fd, int64_t generation)
{
    struct start_marks *m = mem_zalloc(sizeof(*m));

    m->fd = fd;
    m->generation = generation;
    return m;
}

void start_marks_free(struct start_marks *m)
{
    if (!m)
        return;
    vec_release(&m->unused);
    vec_release(&m->attempts);
    idmap_release(&m->kept);
    free(m);
}

/* Fills in the head of a table that is valid for this boot and generation; false if the id of the
 * boot can't be read. Tables of version 1 have marks of functions only. */
static bool make_head(int64_t generation, char head[HEAD_SIZE])
{
    char id[BOOT_ID_SIZE];
    int n;

    if (!proc_boot_id(id))
        return false;
    memset(head, ' ', HEAD_SIZE);
    n = snprintf(head, HEAD_SIZE, "starts 2 %.36s %llx", id, (unsigned long long)generation);
    head[n] = ' ';
    head[HEAD_SIZE - 1] = '\n';
    return true;
}

int start_marks_begin(struct start_marks *m)
{
    char head[HEAD_SIZE];

    if (!make_head(m->generation, head))
        return 0; /* a table without a head proves nothing */
    return pwrite(m->fd, head, HEAD_SIZE, START_MARKS_AT) == HEAD_SIZE ? 0 : -1;
}

int start_marks_reserve(struct start_marks *m)
{
    return m->unused.n ? m->unused.at[--m->unused.n] : m->nslots++;
}

void start_marks_unreserve(struct start_marks *m, int slot)
{
    *vec_add(&m->unused) = slot;
}

void start_marks_keep(struct start_marks *m, int slot, int64_t execution, int attempt)
{
    uintptr_t before = (uintptr_t)idmap_get(&m->kept, execution);

    if (before)
        start_marks_unreserve(m, (int)before - 1);
    while (m->attempts.n < (size_t)m->nslots)
        *vec_add(&m->attempts) = 0;
    m->attempts.at[slot] = attempt;
    idmap_put(&m->kept, execution, (void *)((uintptr_t)slot + 1));
}

bool start_marks_has(const struct start_marks *m, int64_t execution, int attempt)
{
    uintptr_t slot = (uintptr_t)idmap_get(&m->kept, execution);

    return slot && m->attempts.at[slot - 1] == attempt;
}

void start_marks_drop(struct start_marks *m, int64_t execution, int attempt)
{
    uintptr_t slot = (uintptr_t)idmap_get(&m->kept, execution);

    if (!start_marks_has(m, execution, attempt))
        return;
    idmap_remove(&m->kept, execution);
    start_marks_unreserve(m, (int)slot - 1);
}

int start_marks_write(const struct start_marks *m, int slot, int64_t execution, int attempt)
{
    struct mark mark = {execution, attempt};
    off_t at = START_MARKS_AT + HEAD_SIZE + (off_t)slot * (off_t)sizeof(mark);
    ssize_t n = pwrite(m->fd, &mark, sizeof(mark), at);

    if (n == (ssize_t)sizeof(mark))
        return 0;
    if (n >= 0) /* a short write means that the disk is full */
        errno = ENOSPC;
    return -1;
}

int start_marks_add(struct start_marks *m, int64_t execution, int attempt)
{
    int slot = start_marks_reserve(m);

    if (start_marks_write(m, slot, execution, attempt)) {
        start_marks_unreserve(m, slot);
        return -1;
    }
    start_marks_keep(m, slot, execution, attempt);
    return 0;
}

bool start_marks_prove_unstarted(int fd, int64_t generation, int64_t execution, int attempt)
{
    char expected[HEAD_SIZE], head[HEAD_SIZE];
    struct mark marks[256];
    off_t at = START_MARKS_AT;
    ssize_t n;

    if (!make_head(generation, expected) || pread(fd, head, HEAD_SIZE, at) != HEAD_SIZE ||
        memcmp(head, expected, HEAD_SIZE) != 0)
        return false;
    for (at += HEAD_SIZE; (n = pread(fd, marks, sizeof(marks), at)) > 0; at += n) {
        if (n % (ssize_t)sizeof(*marks)) /* a damaged table proves nothing */
            return false;
        for (size_t i = 0; i < (size_t)n / sizeof(*marks); i++)
            if (marks[i].execution == execution && marks[i].attempt == attempt)
                return false;
    }
    return n == 0;
}
