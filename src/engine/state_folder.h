/* state_folder.h - the state folder: which workers share it, and which of them are alive.
 *
 *   <state>/id                                  the name by which leases refer to this folder
 *   <state>/<database>.<generation>/            the attempt folders of one database
 *   <state>/<database>.<generation>/workers/ID  a file per worker, locked while the worker lives
 *
 * A worker is alive if its lock is held; a pid proves nothing. The pid in the file has two uses: to
 * be notified at once when that process ends, and to kill a worker that hangs. */
#ifndef ENGINE_STATE_FOLDER_H
#define ENGINE_STATE_FOLDER_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct state_folder;

#define STATE_FOLDER_ID_SIZE 20

/* Reads the folder's name, "" if it has none. With `make`, a folder without a name gets one. */
MUST_USE int state_folder_name(const char *state, bool make, char out[STATE_FOLDER_ID_SIZE],
                               struct err *err);
/* The path <state>/<database>.<generation>. The caller frees it. */
char *state_folder_path(const char *state, const char *database, int64_t generation);
/* Calls `each` for the folders of earlier generations of the same database. `dir` is the path of
 * the current generation's folder. */
void state_folder_each_old(const char *dir, void (*each)(void *arg, const char *dir), void *arg);

/* Sets an error for errno, such as "can't create PATH: …". */
int state_folder_error(struct err *err, const char *what, const char *path);

/* Creates the folders that are missing, and the locked file of `worker`. */
MUST_USE int state_folder_open(const char *state, const char *database, int64_t generation,
                               int64_t worker, struct state_folder **out, struct err *err);
/* Releases the lock. The file is removed if the worker leaves nothing that other workers must
 * find. */
void state_folder_close(struct state_folder **f, bool nothing_left);

const char *state_folder_id(const struct state_folder *f);
const char *state_folder_dir(const struct state_folder *f); /* the parent of the attempt folders */
/* The parents of the attempt folders of earlier generations of the same database; ends with NULL.
 * Foreground trees of these generations become trees of this one. */
const char *const *state_folder_old_dirs(struct state_folder *f);

/* Writes the root of this worker's foreground tree, which others continue if the worker dies. */
MUST_USE int state_folder_set_foreground(struct state_folder *f, int64_t root, struct err *err);

/* Readable when a worker has appeared or ended: call state_folder_scan. */
int state_folder_fd(const struct state_folder *f);
/* Reads all worker files. True if there are dead workers. */
bool state_folder_scan(struct state_folder *f);

struct dead_worker {
    int64_t id;
    int64_t foreground; /* root of the worker's foreground tree; 0 if none */
};
const struct dead_worker *state_folder_dead_workers(const struct state_folder *f, size_t *n);
/* Removes the file of a dead worker that has nothing left. */
void state_folder_remove_worker(struct state_folder *f, int64_t worker);

/* µs since the worker's file was written; INT64_MAX if it does not exist. */
int64_t state_folder_worker_age(const struct state_folder *f, int64_t worker);
/* The file of this worker, for its start marks. */
int state_folder_own_file(const struct state_folder *f);
/* Whether another worker is dead, and its file proves that it never started this attempt. */
bool state_folder_is_unstarted(const struct state_folder *f, int64_t worker, int64_t execution,
                               int attempt);
/* Whether a living worker of this folder runs this foreground tree. */
bool state_folder_runs_tree(const struct state_folder *f, int64_t root);
bool state_folder_is_alive(const struct state_folder *f,
                           int64_t worker); /* it holds its file's lock */
/* Kills a worker that hangs, that is, one that holds its lock but no longer renews its leases. */
void state_folder_kill_worker(const struct state_folder *f, int64_t worker);

#endif
