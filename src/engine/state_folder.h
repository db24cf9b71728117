/* state_folder.h - the state folder: which workers share it, and which of them live.
 *
 *   <state>/id                                  what the leases call this folder
 *   <state>/<database>.<generation>/            one world: the attempts' folders
 *   <state>/<database>.<generation>/workers/ID  a file per worker, locked for as long as it lives
 *
 * Alive means that the lock is held, never that a pid exists. The pid in the file serves two ends:
 * to be told at once when that process ends, and to kill one that hangs. */
#ifndef ENGINE_STATE_FOLDER_H
#define ENGINE_STATE_FOLDER_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct state_folder;

#define STATE_FOLDER_ID_SIZE 20

/* What a state folder is called. Where it has no name it is given one, if `make`; else "". */
MUST_USE int state_folder_name(const char *state, bool make, char out[STATE_FOLDER_ID_SIZE],
                               struct err *err);
/* Where a world is in it. The caller frees it. */
char *state_folder_path(const char *state, const char *database, int64_t generation);
/* Calls `each` for those of earlier generations of the same database. */
void state_folder_each_old(const char *dir, void (*each)(void *arg, const char *dir), void *arg);

/* Makes what is missing, and takes the lock of `worker`. `here` is the root of the tree that it
 * works on alone, 0 if it serves queues; whoever finds it dead goes on with that tree. */
MUST_USE int state_folder_open(const char *state, const char *database, int64_t generation,
                               int64_t worker, struct state_folder **out, struct err *err);
/* Gives the lock back; the file goes too if nothing is left to be found by it. */
void state_folder_close(struct state_folder **f, bool nothing_left);

const char *state_folder_id(const struct state_folder *f);
const char *state_folder_dir(
    const struct state_folder *f); /* where the attempts of this world are */
/* Where those of earlier generations of the same database are; ends with NULL. */
const char *const *state_folder_old_dirs(struct state_folder *f);

/* Writes which tree this worker works on alone. */
MUST_USE int state_folder_set_foreground(struct state_folder *f, int64_t root, struct err *err);

/* Readable when a worker came or ended: then scan. */
int state_folder_fd(const struct state_folder *f);
/* Looks at all workers' files again. True: some are dead. */
bool state_folder_scan(struct state_folder *f);

struct dead_worker {
    int64_t id;
    int64_t foreground; /* its own tree; 0: none */
};
const struct dead_worker *state_folder_dead_workers(const struct state_folder *f, size_t *n);
/* Nothing of it is left: its file may go. */
void state_folder_remove_worker(struct state_folder *f, int64_t worker);

int64_t state_folder_worker_age(const struct state_folder *f,
                                int64_t worker); /* µs since its file was written */
bool state_folder_is_alive(const struct state_folder *f, int64_t worker); /* its lock is held */
/* Kills one that holds its lock but does nothing any more. */
void state_folder_kill_worker(const struct state_folder *f, int64_t worker);

#endif
