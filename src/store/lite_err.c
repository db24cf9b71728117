/* lite_err.c - SQLite's error codes in our words: the code that says what the caller may do, and a
 * sentence that says what people can. */
#include "store/lite_db.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct rule {
    enum error_code code;
    bool broken;        /* the connection may not be used on */
    const char *advice; /* what to do */
};

static const struct rule unexpected = {.code = E_INTERNAL, .advice = "this is a bug in Pawl"};
static const struct rule constraint = {.code = E_INTERNAL,
                                       .advice = "a rule of the schema refused it"};
static const struct rule locked = {
    .code = E_REDO, .advice = "another program locked it, and has to end its transaction"};
static const struct rule full = {.code = E_NO_SPACE,
                                 .advice = "nothing was stored; make room on the disk"};
static const struct rule failing = {
    .code = E_UNAVAILABLE, .broken = true, .advice = "look for the disk in the kernel's log"};
static const struct rule unshared = {.code = E_UNAVAILABLE,
                                     .broken = true,
                                     .advice = "its log needs shared memory (the file ending in "
                                               "-shm): keep it on a local file system"};
static const struct rule barred = {.code = E_UNAVAILABLE,
                                   .broken = true,
                                   .advice = "Pawl must be allowed to write it and its folder"};
static const struct rule damaged = {.code = E_UNAVAILABLE,
                                    .broken = true,
                                    .advice = "the file is damaged: restore it from a backup"};
static const struct rule alien = {
    .code = E_INVALID, .broken = true, .advice = "name a database of Pawl, or a new file"};

static bool is_out_of_room(int error)
{
    return error == ENOSPC || error == EDQUOT;
}

static const struct rule *io_rule(int code, int error)
{
    if (is_out_of_room(error))
        return &full;
    switch (code) {
    case SQLITE_IOERR_SHMOPEN:
    case SQLITE_IOERR_SHMSIZE:
    case SQLITE_IOERR_SHMLOCK:
    case SQLITE_IOERR_SHMMAP:
        return &unshared;
    default:
        return &failing;
    }
}

static const struct rule *rule_of(int code, int error)
{
    switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL: /* lost the race for the log's header a hundred times */
        return &locked;
    case SQLITE_FULL:
        return &full;
    case SQLITE_IOERR:
        return io_rule(code, error);
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return &barred;
    case SQLITE_CANTOPEN:
        return is_out_of_room(error) ? &full : &barred;
    case SQLITE_CORRUPT:
        return &damaged;
    case SQLITE_NOTADB:
        return &alien;
    case SQLITE_CONSTRAINT:
        return &constraint;
    default:
        return &unexpected;
    }
}

int lite_error(struct lite_db *l, const char *what, struct err *err)
{
    static const char no_table[] = "no such table: ";
    int code = sqlite3_extended_errcode(l->sq), error = sqlite3_system_errno(l->sq);
    const char *said = sqlite3_errmsg(l->sq);
    const struct rule *rule = rule_of(code, error);
    bool of_system = (code & 0xff) == SQLITE_IOERR || (code & 0xff) == SQLITE_CANTOPEN;

    if (code == SQLITE_ERROR && strncmp(said, no_table, strlen(no_table)) == 0)
        return err_set(err, E_SCHEMA,
                       "the database %s has no table %s%s%s: run `pawl admin migrate`", l->path,
                       said + strlen(no_table), what ? " for " : "", what ? what : "");

    /* A full disk may be an I/O error too, and a log that could not grow is best opened afresh. */
    if (rule->broken || (code & 0xff) == SQLITE_IOERR)
        l->broken = true;
    return err_set(err, rule->code, "the database %s%s%s: %s%s%s; %s", l->path, what ? ", " : "",
                   what ? what : "", said, of_system && error ? ": " : "",
                   of_system && error ? strerror(error) : "", rule->advice);
}

void lite_note(struct lite_db *l, const char *fmt, ...)
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
