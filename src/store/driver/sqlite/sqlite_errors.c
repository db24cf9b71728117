/* sqlite_errors.c - translates SQLite's error codes into an error_code, which decides what the
 * caller does, and a message with advice for the user. */
#include "store/driver/sqlite/sqlite_db.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct rule {
    /* An extended code, or a primary code, which matches all of its extended codes. */
    int sqlite_code;
    enum error_code code;
    bool broken;        /* whether the connection must not be used again */
    const char *advice; /* advice for the user, which ends the message */
};

#define LOCKED       E_REDO, false, "another program has locked it and must end its transaction first"
#define NOT_WRITABLE E_UNAVAILABLE, true, "Pawl needs write permission on it and its folder"
#define NO_SHARED_MEMORY \
    E_UNAVAILABLE, true, \
        "its log needs shared memory (the file ending in -shm): keep it on a local file system"

/* How errors are translated. The first rule that matches applies. */
static const struct rule rules[] = {
    {SQLITE_BUSY, LOCKED},
    {SQLITE_LOCKED, LOCKED},
    /* After too many retries to read the header of the log, because other processes write. */
    {SQLITE_PROTOCOL, LOCKED},
    {SQLITE_FULL, E_NO_SPACE, false, "nothing was stored; free some disk space"},
    {SQLITE_IOERR_SHMOPEN, NO_SHARED_MEMORY},
    {SQLITE_IOERR_SHMSIZE, NO_SHARED_MEMORY},
    {SQLITE_IOERR_SHMLOCK, NO_SHARED_MEMORY},
    {SQLITE_IOERR_SHMMAP, NO_SHARED_MEMORY},
    {SQLITE_IOERR, E_UNAVAILABLE, true, "check the kernel's log for disk errors"},
    {SQLITE_READONLY, NOT_WRITABLE},
    {SQLITE_PERM, NOT_WRITABLE},
    {SQLITE_AUTH, NOT_WRITABLE},
    {SQLITE_CANTOPEN, NOT_WRITABLE},
    {SQLITE_CORRUPT, E_UNAVAILABLE, true, "the file is damaged: restore it from a backup"},
    {SQLITE_NOTADB, E_INVALID, true, "name a Pawl database or a new file"},
    {SQLITE_CONSTRAINT, E_INTERNAL, false, "a constraint of the schema refused the change"},
    {0, E_INTERNAL, false, "this is a bug in Pawl"},
};

/* Finds the rule for a code. `error` is the errno, because a full disk may also be reported as an
 * I/O error. */
static const struct rule *find_rule(int code, int error)
{
    const struct rule *r = rules;

    if ((error == ENOSPC || error == EDQUOT) &&
        ((code & 0xff) == SQLITE_IOERR || (code & 0xff) == SQLITE_CANTOPEN))
        code = SQLITE_FULL;
    while (r->sqlite_code && r->sqlite_code != code && r->sqlite_code != (code & 0xff))
        r++;
    return r;
}

int sqlite_set_error(struct sqlite_db *l, const char *what, struct err *err)
{
    static const char no_table[] = "no such table: ";
    /* The start of the message that a trigger of the schema raises in programs of older
     * versions. */
    static const char upgraded[] = "a newer pawl has upgraded the schema";
    int code = sqlite3_extended_errcode(l->sq), error = sqlite3_system_errno(l->sq);
    const char *message = sqlite3_errmsg(l->sq);
    const struct rule *rule = find_rule(code, error);
    bool has_errno = (code & 0xff) == SQLITE_IOERR || (code & 0xff) == SQLITE_CANTOPEN;

    if (code == SQLITE_ERROR && strncmp(message, no_table, strlen(no_table)) == 0)
        return err_set(err, E_SCHEMA,
                       "the database %s has no table %s%s%s%s: run `pawl admin migrate`", l->path,
                       message + strlen(no_table), what ? " (needed by " : "", what ? what : "",
                       what ? ")" : "");

    if (code == SQLITE_CONSTRAINT_TRIGGER && strncmp(message, upgraded, strlen(upgraded)) == 0)
        return err_set(err, E_SCHEMA, "the database %s: %s", l->path, message);

    /* A full disk may also be reported as an I/O error. The connection is reopened, because the log
     * could not grow. */
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
