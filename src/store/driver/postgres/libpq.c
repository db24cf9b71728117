/* libpq.c - loads libpq at run time; see libpq.h. */
#include "store/driver/postgres/libpq.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

struct pq_functions pq;

static struct err load_error;

static void load_libpq(void)
{
    static const struct {
        const char *name;
        size_t offset;
    } functions[] = {
#define X(name) {"PQ" #name, offsetof(struct pq_functions, name)},
        PQ_FUNCTIONS(X)
#undef X
    };
    /* The library is never closed: OpenSSL, which libpq loads, can't be unloaded safely. */
    void *lib = dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL);

    if (!lib) {
        err_set(&load_error, E_UNAVAILABLE,
                "the client library of PostgreSQL can't be loaded: install libpq5 (%s)", dlerror());
        return;
    }
    for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
        void *symbol = dlsym(lib, functions[i].name);

        if (!symbol) {
            err_set(&load_error, E_UNAVAILABLE,
                    "the installed libpq5 has no %s: install version 14 or newer",
                    functions[i].name);
            return;
        }
        memcpy((char *)&pq + functions[i].offset, &symbol, sizeof(symbol));
    }
}

int pq_load(struct err *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, load_libpq);
    if (!load_error.code)
        return 0;
    return err_set(err, load_error.code, "%s", load_error.msg);
}
