/* secrets.c - resolves secrets from the worker's environment, else from the executor's
 * secrets_file, which has NAME=VALUE lines. They are resolved when an attempt starts, and are never
 * stored. */
#include "api/api.h"
#include "base/fd.h"
#include "base/own_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECRETS_MAX (1 << 20) /* bytes of a secrets file */

/* Refuses a file that others can read, and anything that is not a plain file: opening a FIFO would
 * block the worker. */
static int open_private(const char *path, FILE **out, struct err *err)
{
    AUTO_FD fd = own_file_open_given(AT_FDCWD, path, O_RDONLY, SECRETS_MAX);
    struct stat st;

    if (fd < 0 || fstat(fd, &st))
        return err_set(err, E_INVALID, "the secrets file %s can't be read: %s", path,
                       own_file_why(AT_FDCWD, path, SECRETS_MAX));
    if (st.st_mode & 077)
        return err_set(err, E_INVALID,
                       "the secrets file %s can be read by others: run chmod 600 on it", path);
    *out = fdopen(fd, "r");
    fd = -1;
    return 0;
}

static int read_secret(const char *path, const char *name, struct buf *out, struct err *err)
{
    size_t len = strlen(name), size = 0;
    char *line = NULL;
    FILE *f = NULL;
    bool found = false;
    ssize_t n;

    TRY(open_private(path, &f, err));
    while (!found && (n = getline(&line, &size, f)) > 0)
        if (!strncmp(line, name, len) && line[len] == '=') {
            line[strcspn(line, "\n")] = 0;
            buf_addstr(out, line + len + 1);
            found = true;
        }
    if (line)
        sodium_memzero(line, size);
    free(line);
    fclose(f);
    if (found)
        return 0;
    return err_set(err, E_INVALID,
                   "the secret %s is neither in the worker's environment nor in %s: add the line "
                   "%s=VALUE to that file",
                   name, path, name);
}

int api_secret(void *executor, const char *name, struct buf *out, struct err *err)
{
    const struct config_executor *x = executor;
    const char *value = getenv(name);

    if (value) {
        buf_addstr(out, value);
        return 0;
    }
    if (!x->secrets_file)
        return err_set(err, E_INVALID,
                       "the secret %s is not in the worker's environment, and the executor has no "
                       "secrets_file: set the variable, or name a file with the line %s=VALUE as "
                       "secrets_file in pawl.yaml",
                       name, name);
    return read_secret(x->secrets_file, name, out, err);
}
