/* curl.c - loads libcurl at run time; see curl.h. */
#include "remote/curl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

struct curl_functions curl;

static struct err load_error;

/* Debian builds libcurl with OpenSSL and with GnuTLS; either will do. */
static void *open_library(void)
{
    static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
    void *lib = NULL;

    for (size_t i = 0; i < sizeof(names) / sizeof(*names) && !lib; i++)
        lib = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    return lib;
}

static void load_libcurl(void)
{
    static const struct {
        const char *name;
        size_t offset;
    } functions[] = {
#define X(name) {"curl_" #name, offsetof(struct curl_functions, name)},
        CURL_FUNCTIONS(X) X(easy_setopt) X(easy_getinfo) X(global_init)
#undef X
    };
    void *lib = open_library(); /* never closed: its TLS library can't be unloaded safely */

    if (!lib) {
        err_set(&load_error, E_UNAVAILABLE,
                "the HTTP library can't be loaded: install libcurl4 (%s)", dlerror());
        return;
    }
    for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
        void *symbol = dlsym(lib, functions[i].name);

        if (!symbol) {
            err_set(&load_error, E_UNAVAILABLE,
                    "the installed libcurl has no %s: install version 7.68 or newer",
                    functions[i].name);
            return;
        }
        memcpy((char *)&curl + functions[i].offset, &symbol, sizeof(symbol));
    }
    if (curl.global_init(CURL_GLOBAL_DEFAULT))
        err_set(&load_error, E_UNAVAILABLE, "libcurl can't be initialized");
}

int curl_load(struct err *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, load_libcurl);
    if (!load_error.code)
        return 0;
    return err_set(err, load_error.code, "%s", load_error.msg);
}
