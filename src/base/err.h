/* err.h - error reporting. A function returns a negative code and fills the caller's `struct err`
 * with one sentence that says what is wrong, where, and what to do. */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#define MUST_USE          __attribute__((warn_unused_result))
#define PRINTF_LIKE(f, a) __attribute__((format(printf, f, a)))

/* the name of each code, and the exit code of the command line for it */
#define ERROR_CODES(X)                                                                       \
    X(INTERNAL, 1)       /* a bug, or an invariant that does not hold */                     \
    X(INVALID, 2)        /* the caller's input is not acceptable */                          \
    X(CONFLICT, 2)       /* an idempotency key with another body, or a fenced database */    \
    X(NOT_FOUND, 5)      /* no such execution, tenant, queue … */                          \
    X(UNAVAILABLE, 6)    /* the database can't be used: down, or access denied */            \
    X(NO_SPACE, 6)       /* the disk is full: nothing was written */                         \
    X(SCHEMA, 6)         /* the schema is missing, or newer than this program */             \
    X(REFUSED, 7)        /* nothing was started: a limit is reached, for example */          \
    X(LEASE_LOST, 1)     /* another worker may own this attempt: leave it alone */           \
    X(BUSY, 6)           /* locked by another turn: retry in the next turn */                \
    X(REDO, 6)           /* the transaction was rolled back for a reason outside of it, such \
                            as a deadlock: repeat the turn */                                \
    X(CONN_LOST, 6)      /* reconnect, then repeat the turn */                               \
    X(COMMIT_UNKNOWN, 6) /* no reply to COMMIT: find out whether the turn is stored */       \
    X(VIOLATION, 1)      /* verify found an invariant that does not hold */

enum error_code {
    E_NONE,
#define X(name, exit_code) E_##name,
    ERROR_CODES(X)
#undef X
};

/* The kind of the missing object: front ends use it to add a hint on how to find or supply it. */
enum err_missing { MISSING_NOTHING, MISSING_EXECUTION, MISSING_PARAM };

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

/* Sets code and sentence. Returns -code, so that callers can write `return err_set(…)`. */
int err_set(struct err *err, enum error_code code, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Adds the kind and name of the missing object to an error that was just set; returns -code. */
int err_missing(struct err *err, enum err_missing missing, const char *name);

/* Puts "text: " in front of the current sentence; returns -code. */
int err_prefix(struct err *err, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Returns from the calling function if the call returns an error. */
#define TRY(call)                 \
    do {                          \
        int error_code_ = (call); \
        if (error_code_)          \
            return error_code_;   \
    } while (0)

int err_exit_code(enum error_code code);

#endif
