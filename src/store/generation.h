/* generation.h - the identity of a database, and the generation that a fence raises: after a backup
 * was restored, or a replica was promoted, attempts of the time whose commits are lost belong to an
 * earlier generation. */
#ifndef STORE_GENERATION_H
#define STORE_GENERATION_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct store;
struct turn;

#define STORE_ID_SIZE    33

#define FIRST_GENERATION 1
/* The id distinguishes this database from others; the generation distinguishes attempts started
 * before a backup was restored from those started since. */
MUST_USE int store_identity(struct store *s, char id[STORE_ID_SIZE], int64_t *generation,
                            struct err *err);

struct rows;
/* Reads the roots of the foreground runs that were open at a fence, each with its status; the
 * status is NULL if the tree has been removed since. The process that started such a run can no
 * longer claim, because it belongs to an earlier generation. */
MUST_USE int store_fenced_trees(struct store *s, struct rows *roots, struct err *err);
/* Removes the root of a tree that has ended from the list that store_fenced_trees reads. If the
 * tree is run again, the new foreground run serves it, like any other tree. */
MUST_USE int op_fenced_tree_end(struct turn *t, int64_t root, struct err *err);
/* Queues the query for the generation, so that it costs no extra round trip. After the next query
 * of the turn, turn_read_generation reads the answer. */
MUST_USE int turn_send_generation(struct turn *t, struct rows *answer, struct err *err);
int64_t turn_read_generation(const struct rows *answer);

/* A fence, used after a backup was restored, or after a replica that lacked commits was promoted.
 * It skips the ids that may have been given out in the time whose commits are lost, raises the
 * generation, accepts the server's timeline, and turns all running jobs into orphans. Runs in light
 * turns, because turns of other kinds are refused on a new timeline. */
struct fence {
    size_t slice; /* how many leases this turn examines at most */

    int64_t generation; /* result: the new generation; start with 0, like the members below */
    int64_t after;      /* the last execution that was examined */
    int64_t expired;    /* result: how many leases were cleared, over all slices */
    bool more;
};
/* Handles one slice. *to is the argument for the next slice. */
MUST_USE int op_fence(struct turn *t, const struct fence *from, struct fence *to, struct err *err);
/* Accepts the server's timeline without a fence, in a light turn. *timeline lives as long as the
 * turn; it is NULL if the database has no timelines. */
MUST_USE int op_accept_timeline(struct turn *t, const char **timeline, struct err *err);

#endif
