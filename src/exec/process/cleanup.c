/* cleanup.c - removes the folders of settled attempts, a few in each poll. A folder in which a
 * process still runs is kept. */
#include "exec/process/process_internal.h"

#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CLEANUP_EVERY 20000 /* µs until the next removals if nothing else causes a poll earlier */

static struct removal *pop_removal(struct removals *l)
{
    struct removal *r = STAILQ_FIRST(l);

    STAILQ_REMOVE_HEAD(l, next);
    return r;
}

void removals_release(struct removals *l)
{
    while (!STAILQ_EMPTY(l))
        free(pop_removal(l));
}

/* Whether the folder can't be removed yet. A late shim must find the tombstone, but could arrive
 * after the tombstone is removed and before the folder is. After the length of a lease, a shim
 * starts nothing in any case. */
static bool must_delay(const struct process *p, struct removal *r, int at)
{
    if (r->due || !attempt_has_tombstone(at))
        return false;
    r->due = clock_boot_us() + p->lease;
    return true;
}

static void requeue_delayed(struct process *p)
{
    int64_t now = clock_boot_us();
    struct removal *r;

    while ((r = STAILQ_FIRST(&p->delayed_removals)) && r->due <= now) {
        STAILQ_REMOVE_HEAD(&p->delayed_removals, next);
        STAILQ_INSERT_TAIL(&p->removals, r, next);
    }
    if (r)
        wakeup_at(&p->wakeup, r->due);
}

void process_cleanup(struct process *p, int most)
{
    requeue_delayed(p);
    for (int i = 0; i < most && !STAILQ_EMPTY(&p->removals); i++) {
        struct removal *r = pop_removal(&p->removals);
        char name[ATTEMPT_NAME_SIZE];
        int at = attempt_open_folder(p->dir, r->execution, r->attempt);
        bool replaced = at < 0 && (errno == ENOTDIR || errno == ELOOP);
        bool free_now = replaced || (at >= 0 && !attempt_is_locked(at, ATTEMPT_LOCK) &&
                                     !attempt_is_locked(at, ATTEMPT_TREE));
        bool wait = free_now && !replaced && must_delay(p, r, at);

        fd_close(&at);
        env_point(p->x.env, "process:before-removal");
        if (wait) {
            STAILQ_INSERT_TAIL(&p->delayed_removals, r, next);
            wakeup_at(&p->wakeup, r->due);
            continue;
        }
        if (free_now &&
            attempt_remove_folder(p->dir, attempt_name(r->execution, r->attempt, name)) &&
            errno != ENOENT)
            env_note(p->x.env, "the folder %s/%s of an attempt that has ended can't be removed: %s",
                     p->dir_path, name, strerror(errno)); /* a later cleanup of leftovers tries
                                                             again */
        free(r);
    }
    if (!STAILQ_EMPTY(&p->removals))
        wakeup_at(&p->wakeup, clock_boot_us() + CLEANUP_EVERY);
}

void process_settled(struct executor *x, int64_t execution, int attempt)
{
    struct process *p = (struct process *)x;
    struct removal *r = mem_zalloc(sizeof(*r));

    r->execution = execution;
    r->attempt = attempt;
    STAILQ_INSERT_TAIL(&p->removals, r, next);
    wakeup_at(&p->wakeup, clock_boot_us() + CLEANUP_EVERY);
}

struct leftovers {
    struct process *p;
    void (*each)(void *arg, int64_t execution, int attempt);
    void *arg;
};

static int check_leftover(void *arg, int64_t execution, int attempt, bool locked)
{
    struct leftovers *l = arg;
    AUTO_FD at = locked ? -1 : attempt_open_folder(l->p->dir, execution, attempt);

    if (at >= 0 && !attempt_is_locked(at, ATTEMPT_TREE))
        l->each(l->arg, execution, attempt);
    return 0;
}

/* Finds folders left behind by workers that were killed after they settled an attempt. */
void process_leftovers(struct executor *x, void (*each)(void *arg, int64_t execution, int attempt),
                       void *arg)
{
    struct leftovers l = {(struct process *)x, each, arg};
    struct err err = ERR_INIT;

    if (attempt_each(l.p->dir_path, check_leftover, &l, &err))
        env_note(x->env, "%s", err.msg);
}
