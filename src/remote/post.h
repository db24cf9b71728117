/* curl.h - sends one HTTP request by libcurl, which is loaded at run time: only workers that
 * deliver messages of webhooks need it. */
#ifndef REMOTE_POST_H
#define REMOTE_POST_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct post {
    const char *url;
    const char *const *headers; /* "Name: value"; ends with NULL */
    const char *body;
    size_t size;
    long connect_ms, total_ms; /* limits of time */
    /* Called at least once a second; true ends the request. */
    bool (*stop)(void *arg);
    void *arg;

    /* out */
    long status; /* of the answer; 0 if there was none */
};
/* Only http and https; redirects are not followed. The body of the answer is read, up to a limit,
 * and dropped. -E_UNAVAILABLE: there was no answer, or libcurl can't be loaded. */
MUST_USE int post_send(struct post *p, struct err *err);
/* -E_UNAVAILABLE if libcurl can't be loaded. */
MUST_USE int post_load(struct err *err);

#endif
