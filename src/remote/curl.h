/* curl.h - loads libcurl when the first URL of a server is used, so that programs that use a
 * database need neither libcurl nor what it depends on (docs/adr/0071).
 *
 * Only this folder includes this. Call curl_load first, then curl.easy_perform(…) for
 * curl_easy_perform(…). */
#ifndef REMOTE_CURL_H
#define REMOTE_CURL_H

#include "base/err.h"

/* The checks are macros, which a pointer to a function bypasses. */
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

/* Every libcurl function that Pawl uses, without the prefix curl_. */
#define CURL_FUNCTIONS(X)  \
    X(easy_init)           \
    X(easy_cleanup)        \
    X(easy_perform)        \
    X(easy_strerror)       \
    X(slist_append)        \
    X(slist_free_all)      \
    X(multi_init)          \
    X(multi_cleanup)       \
    X(multi_add_handle)    \
    X(multi_remove_handle) \
    X(multi_perform)       \
    X(multi_poll)          \
    X(multi_info_read)

struct curl_functions {
#define X(name) __typeof__(curl_##name) *name;
    CURL_FUNCTIONS(X)
#undef X
    /* The header replaces the names of these two by macros. */
    CURLcode (*easy_setopt)(CURL *handle, CURLoption option, ...);
    CURLcode (*easy_getinfo)(CURL *handle, CURLINFO info, ...);
    CURLcode (*global_init)(long flags);
};

extern struct curl_functions curl;

/* Loads libcurl once per process; callable from any thread. -E_UNAVAILABLE if it is not installed
 * or too old. */
MUST_USE int curl_load(struct err *err);

#endif
