/* owner_check.c - checks whether other users can change the state folder or the SQLite database of
 * this worker: both decide which commands it runs. */
#include "engine/engine_internal.h"

#include "base/ownership.h"
#include "store/driver/url.h"

#include <sys/stat.h>
#include <unistd.h>

/* Checks that other users can't replace a folder above the state folder. One like /tmp is accepted:
 * its sticky bit keeps others from replacing the folders in it. Root may continue the attempts of
 * another user in that user's folder. */
static int check_folder(const struct engine *e, const char *path, struct err *err)
{
    char text[OWNERSHIP_FAULT_SIZE];
    const char *fault = NULL;
    struct stat st;

    if (!stat(path, &st))
        fault = ownership_fault(&st, text);
    if (!fault || (ownership_is_ours(&st) && st.st_mode & S_ISVTX))
        return 0;
    if (!ownership_is_ours(&st) && geteuid() == 0) {
        env_note(e->env,
                 "the state folder %s is not safe, because %s: that user can make this "
                 "worker run commands as root; choose another one with --state if you "
                 "do not trust that user",
                 path, fault);
        return 0;
    }
    return err_set(err, E_INVALID,
                   "the state folder %s is not safe, because %s: other users could make "
                   "this worker run commands; run chown or chmod go-w on it, or choose "
                   "another one with --state",
                   path, fault);
}

/* Warns about a database that others can change, and does not refuse it: users may share a database
 * on purpose, through a group. */
static void check_database(const struct engine *e)
{
    const char *file = store_url(e->store)->file;
    char text[OWNERSHIP_FAULT_SIZE];
    const char *fault = NULL;
    struct stat st;

    if (file && !stat(file, &st))
        fault = ownership_fault(&st, text);
    if (fault)
        env_note(e->env,
                 "the database %s can be changed by other users, because %s: they can "
                 "make this worker run commands; run chmod go-w on it if you do not "
                 "trust them",
                 file, fault);
}

int engine_check_owners(const struct engine *e, struct err *err)
{
    TRY(check_folder(e, e->o.state, err));
    TRY(check_folder(e, state_folder_dir(e->state_folder), err));
    check_database(e);
    return 0;
}
