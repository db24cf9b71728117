/* sqlite_errors.c - translates SQLite's error codes into an error_code, which decides what the
 * caller does, and a message with advice for the user. */
#include "store/driver/sqlite/sqlite_db.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct rule {
    enum error_code code;
    bool broken;        /* the connection must not be used any more */
    const char *advice; /* for the user */
};

static const struct rule unexpected = {.code = E_INTERNAL, .advice = "this is a bug in Pawl"};
static const struct rule constraint = {.code = E_INTERNAL,
                                       .advice = "a constraint of the schema refused it"};
static const struct rule locked = {
    .code = E_REDO, .advice = "another program has locked it and must end its transaction first"};
static const struct rule disk_full = {.code = E_NO_SPACE,
                                      .advice = "nothing was stored; free some disk space"};
static const struct rule io_failure = {
    .code = E_UNAVAILABLE, .broken = true, .advice = "check the kernel's log for disk errors"};
static const struct rule no_shared_memory = {.code = E_UNAVAILABLE,
                                             .broken = true,
                                             .advice =
                                                 "its log needs shared memory (the file ending in "
                                                 "-shm): keep it on a local file system"};
static const struct rule not_writable = {.code = E_UNAVAILABLE,
                                         .broken = true,
                                         .advice =
                                             "Pawl needs write permission on it and its folder"};
static const struct rule file_damaged = {.code = E_UNAVAILABLE,
                                         .broken = true,
                                         .advice = "the file is damaged: restore it from a backup"};
static const struct rule not_a_database = {
    .code = E_INVALID, .broken = true, .advice = "name a database of Pawl or a new file"};

static bool is_disk_full_error(int error)
{
    return error == ENOSPC || error == EDQUOT;
}

static const struct rule *find_io_rule(int code, int error)
{
    if (is_disk_full_error(error))
        return &disk_full;
    switch (code) {
    case SQLITE_IOERR_SHMOPEN:
    case SQLITE_IOERR_SHMSIZE:
    case SQLITE_IOERR_SHMLOCK:
    case SQLITE_IOERR_SHMMAP:
        return &no_shared_memory;
    default:
        return &io_failure;
    }
}

static const struct rule *find_rule(int code, int error)
{
    switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL: /* too many retries for the log's header, under contention */
        return &locked;
    case SQLITE_FULL:
        return &disk_full;
    case SQLITE_IOERR:
        return find_io_rule(code, error);
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return &not_writable;
    case SQLITE_CANTOPEN:
        return is_disk_full_error(error) ? &disk_full : &not_writable;
    case SQLITE_CORRUPT:
        return &file_damaged;
    case SQLITE_NOTADB:
        return &not_a_database;
    case SQLITE_CONSTRAINT:
        return &constraint;
    default:
        return &unexpected;
    }
}

int sqlite_set_error(struct sqlite_db *l, const char *what, struct err *err)
{
    static const char no_table[] = "no such table: ";
    static const char upgraded[] = "a newer pawl has upgraded the schema"; /* by a trigger */
    int code = sqlite3_extended_errcode(l->sq), error = sqlite3_system_errno(l->sq);
    const char *message = sqlite3_errmsg(l->sq);
    const struct rule *rule = find_rule(code, error);
    bool has_errno = (code & 0xff) == SQLITE_IOERR || (code & 0xff) == SQLITE_CANTOPEN;

    if (code == SQLITE_ERROR && strncmp(message, no_table, strlen(no_table)) == 0)
        return err_set(err, E_SCHEMA,
                       "the database %s has no table %s%s%s: run `pawl admin migrate`", l->path,
                       message + strlen(no_table), what ? " for " : "", what ? what : "");

    if (code == SQLITE_CONSTRAINT_TRIGGER && strncmp(message, upgraded, strlen(upgraded)) == 0)
        return err_set(err, E_SCHEMA, "the database %s: %s", l->path, message);

    /* A full disk may also be reported as an I/O error; reopen a log that could not grow. */
    if (rule->broken || (code & 0xff) == SQLITE_IOERR)
        l->broken = true;
    return err_set(err, rule->code, "the database %s%s%s: %s%s%s; %s", l->path, what ? ", " : "",
                   what ? what : "", message, has_errno && error ? ": " : "",
                   has_errno && error ? strerror(error) : "", rule->advice);
}

void sqlite_note(struct sqlite_db *l, const char *fmt, ...)
{
    char sentence[1024];
    va_list ap;

    if (!l->db.env->note)
        return;
    va_start(ap, fmt);
    vsnprintf(sentence, sizeof(sentence), fmt, ap);
    va_end(ap);
    l->db.env->note(l->db.env->arg, sentence);
}
