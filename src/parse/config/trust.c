/* trust.c - records, checks and ends the trust in a pawl.yaml file; see trust.h. */
#include "parse/config/trust.h"

#include "base/fd.h"
#include "base/folders.h"
#include "base/own_file.h"
#include "parse/config/config_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define HASH_BYTES  32
#define HASH_TEXT   (2 * HASH_BYTES + 1)
#define RECORD_SIZE 65536 /* bytes; room for the hash, a path, and line ends */

static void hash_text(const char *text, size_t len, char out[HASH_TEXT])
{
    unsigned char hash[HASH_BYTES];

    crypto_generichash(hash, sizeof(hash), (const unsigned char *)text, len, NULL, 0);
    sodium_bin2hex(out, HASH_TEXT, hash, sizeof(hash));
}

/* The absolute path of a file. Only its folder is resolved: if the file is a symbolic link,
 * relative paths in the file start at the folder of the link. The caller frees the path. */
static char *absolute(const char *path)
{
    const char *slash = strrchr(path, '/');
    AUTO_FREE char *folder = config_folder_of(path);

    return mem_printf("%s/%s", strcmp(folder, "/") ? folder : "", slash ? slash + 1 : path);
}

/* The folder that holds the records of trusted files; NULL if the user has no state folder. The
 * caller frees it. */
static char *records_folder(const struct config_host *host)
{
    AUTO_FREE char *state = config_state_folder(host);

    return state ? mem_printf("%s/trusted", state) : NULL;
}

/* The path of the record that says that a file is trusted; NULL if the user has no state folder.
 * The caller frees it. */
static char *record_path(const char *file, const struct config_host *host)
{
    AUTO_FREE char *folder = records_folder(host);
    char name[HASH_TEXT];

    hash_text(file, strlen(file), name);
    return folder ? mem_printf("%s/%s", folder, name) : NULL;
}

static void write_record(struct buf *b, const struct source *source, const char *file)
{
    char hash[HASH_TEXT];

    hash_text(source->text, source->len, hash);
    buf_addf(b, "%s %s\n", hash, file);
}

const char *trust_refusal(const struct source *source, const struct config_host *host)
{
    AUTO_FREE char *file = absolute(source->name), *record = record_path(file, host);
    AUTO_FD fd = record ? own_file_open(AT_FDCWD, record, O_RDONLY, RECORD_SIZE) : -1;
    AUTO_BUF stored = BUF_INIT, expected = BUF_INIT;

    write_record(&expected, source, file);
    if (fd < 0)
        return "you have not said that you trust this file: read it, then run `pawl trust`";
    if (!buf_read(&stored, fd, RECORD_SIZE) || strcmp(buf_cstr(&stored), buf_cstr(&expected)) != 0)
        return "this file has changed since you trusted it: read it, then run `pawl trust` again";
    return NULL;
}

/* ---- changes ---- */

/* A record is replaced as a whole, so that a concurrent reader sees either the old record or the
 * new one. */
static int replace_record(const char *record, const struct buf *text, struct err *err)
{
    AUTO_FREE char *temp = mem_printf("%s.%ld", record, (long)getpid());
    AUTO_FD fd = -1;
    int rc = 0;

    unlink(temp); /* left by a killed process that had the same pid */
    fd = own_file_open(AT_FDCWD, temp, O_WRONLY | O_CREAT | O_EXCL, 0);
    if (fd < 0 || write(fd, text->ptr, text->len) != (ssize_t)text->len || fsync(fd) ||
        rename(temp, record)) {
        rc = err_set(err, errno == ENOSPC || errno == EDQUOT ? E_NO_SPACE : E_UNAVAILABLE,
                     "%s can't be written: %s", record, strerror(errno));
        unlink(temp);
    }
    return rc;
}

static int no_state_folder(struct err *err)
{
    return err_set(
        err, E_INVALID,
        "there is no folder to record your trust in: set the variable XDG_STATE_HOME or HOME");
}

static int add_record(const struct source *source, const char *file, const struct config_host *host,
                      struct err *err)
{
    AUTO_FREE char *folder = records_folder(host), *record = record_path(file, host);
    AUTO_BUF text = BUF_INIT;
    size_t failed;

    if (!folder)
        return no_state_folder(err);
    if (!folders_make(folder, 0711, &failed)) /* the same mode as in engine/state_folder.c */
        return err_set(err, E_UNAVAILABLE, "the folder %.*s can't be created: %s", (int)failed,
                       folder, strerror(errno));
    write_record(&text, source, file);
    return replace_record(record, &text, err);
}

int trust_add(const char *path, const struct config_host *host, char **file, struct err *err)
{
    AUTO(diagnostics_release) struct diagnostics diagnostics = DIAGNOSTICS_INIT;
    AUTO_FREE char *found = absolute(path ? path : CONFIG_FILE_NAME);
    const struct source *source;

    TRY(diagnostics_read_config(&diagnostics, path ? path : CONFIG_FILE_NAME, &source, err));
    TRY(add_record(source, found, host, err));
    *file = found;
    found = NULL;
    return 0;
}

int trust_remove(const char *path, const struct config_host *host, char **file, struct err *err)
{
    AUTO_FREE char *found = absolute(path ? path : CONFIG_FILE_NAME),
                   *record = record_path(found, host);

    if (!record)
        return no_state_folder(err);
    if (unlink(record))
        return errno == ENOENT ? err_set(err, E_NOT_FOUND, "%s was not trusted", found)
                               : err_set(err, E_UNAVAILABLE,
                                         "the trust in %s can't be ended: %s can't be removed: %s",
                                         found, record, strerror(errno));
    *file = found;
    found = NULL;
    return 0;
}
