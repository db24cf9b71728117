/* state_folder_name.c - the name of a state folder, and the paths of its folders per database and
 * generation; see state_folder.h. */
#include "base/env.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/own_file.h"
#include "engine/state_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int state_folder_error(struct err *err, const char *what, const char *path)
{
    return err_set(err, errno == ENOSPC ? E_NO_SPACE : E_UNAVAILABLE, "can't %s %s: %s", what, path,
                   strerror(errno));
}

static int read_name(const char *path, char out[STATE_FOLDER_ID_SIZE], struct err *err)
{
    AUTO_FD fd = own_file_open_given(AT_FDCWD, path, O_RDONLY, OWN_FILE_ANY_SIZE);
    int rc = 0;
    ssize_t n = fd < 0 ? -1 : read(fd, out, 16);

    if (fd < 0 && errno == ENOENT)
        n = 0;
    else if (n < 0)
        rc = err_set(err, E_UNAVAILABLE, "can't read %s: %s", path,
                     own_file_why(AT_FDCWD, path, OWN_FILE_ANY_SIZE));
    else if (n != 16 || strspn(out, "0123456789abcdef") < 16)
        rc = err_set(err, E_UNAVAILABLE,
                     "%s does not contain the name of a state folder: remove the file", path);
    out[n > 0 ? n : 0] = 0;
    return rc;
}

/* Gives the folder a name. If several processes do so at once, the first one to link its file
 * decides the name. */
static int create_name(const char *state, const char *path, struct err *err)
{
    AUTO_FREE char *temp = mem_printf("%s/.id-%016llx", state, (unsigned long long)env_random_id());
    AUTO_FD fd = own_file_open(AT_FDCWD, temp, O_WRONLY | O_CREAT | O_EXCL, 0);
    int rc = 0;

    if (fd < 0 || dprintf(fd, "%016llx\n", (unsigned long long)env_random_id()) < 0)
        rc = state_folder_error(err, "write", temp);
    else if (link(temp, path) && errno != EEXIST)
        rc = state_folder_error(err, "create", path);
    unlink(temp);
    return rc;
}

int state_folder_name(const char *state, bool make, char out[STATE_FOLDER_ID_SIZE], struct err *err)
{
    AUTO_FREE char *path = mem_printf("%s/id", state);
    int rc = read_name(path, out, err);

    if (!rc && !*out && make && !(rc = create_name(state, path, err)))
        rc = read_name(path, out, err);
    return rc;
}

char *state_folder_path(const char *state, const char *database, int64_t generation)
{
    return mem_printf("%s/%s.%lld", state, database, (long long)generation);
}

void state_folder_each_old(const char *dir, void (*each)(void *arg, const char *dir), void *arg)
{
    const char *own = strrchr(dir, '/') + 1;
    size_t state = (size_t)(own - dir), id = (size_t)(strrchr(own, '.') - own) + 1;
    AUTO_FREE char *path = mem_printf("%.*s", (int)state, dir);
    DIR *d = opendir(path);
    struct dirent *entry;

    while (d && (entry = readdir(d)))
        if (!strncmp(entry->d_name, own, id) &&
            strtoll(entry->d_name + id, NULL, 10) < strtoll(own + id, NULL, 10)) {
            AUTO_FREE char *old = mem_printf("%s%s", path, entry->d_name);

            each(arg, old);
        }
    if (d)
        closedir(d);
}
