/* err.h - error reporting. A function returns a negative code and fills the caller's `struct err`
 * with one sentence that says what is wrong, where, and what to do. */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#define MUST_USE          __attribute__((warn_unused_result))
#define PRINTF_LIKE(f, a) __attribute__((format(printf, f, a)))

/* Each error code, and the exit code of the command line for it. */
#define ERROR_CODES(X)                                                                             \
    X(INTERNAL, 1)  /* a bug, or an invariant that does not hold */                                \
    X(INVALID, 2)   /* the caller's input is not valid */                                          \
    X(CONFLICT, 2)  /* an idempotency key was used with another body, or the database is fenced */ \
    X(NOT_FOUND, 5) /* no such execution, tenant, queue … */                                     \
    X(UNAVAILABLE, 6) /* the database can't be reached or denies access */                         \
    X(NO_SPACE, 6)    /* the disk is full; nothing was written */                                  \
    X(SCHEMA, 6)      /* the schema is missing, or newer than this program */                      \
    X(REFUSED, 7)     /* the request was refused, by a limit for example; nothing was started */   \
    X(LEASE_LOST, 1)  /* the worker may no longer own this attempt: leave it alone */              \
    X(BUSY, 6)        /* locked by another turn: retry in the next turn */                         \
    X(REDO, 6)        /* the database rolled the transaction back for an outside reason, such      \
                         as a deadlock: repeat the turn */                                         \
    X(CONN_LOST, 6)   /* the connection to the database was lost: reconnect and repeat the turn */ \
    X(COMMIT_UNKNOWN, 6) /* no reply to COMMIT arrived: find out whether the turn is stored */     \
    X(VIOLATION, 1)      /* verify found an invariant that does not hold */

enum error_code {
    E_NONE,
#define X(name, exit_code) E_##name,
    ERROR_CODES(X)
#undef X
};

/* What an error reports as missing. Front ends use it to add a hint on how to find or supply it, or
 * to wait for it. */
enum err_missing {
    MISSING_NOTHING,
    MISSING_EXECUTION,
    MISSING_PARAM,
    MISSING_SUBMITTED,
    MISSING_STATE
};

struct err {
    enum error_code code;
    char msg[1024];
    enum err_missing missing;
    char name[104]; /* name of the missing object */
};

#define ERR_INIT \
    {            \
        0        \
    }

/* Sets the code and the sentence. Returns -code, so that callers can write `return err_set(…)`. */
int err_set(struct err *err, enum error_code code, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Adds the kind and name of the missing object to an error that was just set; returns -code. */
int err_missing(struct err *err, enum err_missing missing, const char *name);

/* Sets E_INVALID and MISSING_STATE: the call itself is right, but the state of the execution, queue
 * or schedule does not allow it now. */
int err_set_state(struct err *err, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Puts "text: " in front of the error's sentence; returns -code. */
int err_prefix(struct err *err, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Returns the call's error code from the enclosing function if the call fails. */
#define TRY(call)                 \
    do {                          \
        int error_code_ = (call); \
        if (error_code_)          \
            return error_code_;   \
    } while (0)

int err_exit_code(enum error_code code);

#endif
