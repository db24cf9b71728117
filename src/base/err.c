/* err.c - writes error sentences and their prefixes; see err.h. */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void PRINTF_LIKE(4, 0) set_all(struct err *err, enum error_code code,
                                      enum err_missing missing, const char *fmt, va_list ap)
{
    err->code = code;
    err->missing = missing;
    err->name[0] = '\0';
    vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
}

int err_set(struct err *err, enum error_code code, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    set_all(err, code, MISSING_NOTHING, fmt, ap);
    va_end(ap);
    return -(int)code;
}

int err_set_state(struct err *err, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    set_all(err, E_INVALID, MISSING_STATE, fmt, ap);
    va_end(ap);
    return -E_INVALID;
}

int err_missing(struct err *err, enum err_missing missing, const char *name)
{
    err->missing = missing;
    snprintf(err->name, sizeof(err->name), "%s", name);
    return -(int)err->code;
}

int err_prefix(struct err *err, const char *fmt, ...)
{
    char old[sizeof(err->msg)];
    va_list ap;
    int n;

    memcpy(old, err->msg, sizeof(old));
    va_start(ap, fmt);
    n = vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
    va_end(ap);
    if (n >= 0 && (size_t)n < sizeof(err->msg))
        snprintf(err->msg + n, sizeof(err->msg) - (size_t)n, ": %s", old);
    return -(int)err->code;
}

int err_exit_code(enum error_code code)
{
    static const int codes[] = {[E_NONE] = 0,
#define X(name, exit_code) [E_##name] = exit_code,
                                ERROR_CODES(X)
#undef X
    };
    return codes[code];
}
