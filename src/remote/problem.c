/* problem.c - errors: a problem that the server reports becomes the error that the library reported
 * there, with its code and its sentence. */
#include "remote/call.h"

#include <string.h>

/* The error code for a problem without a code of the library: it came from the server's own checks,
 * or from a proxy. */
static enum error_code code_of_status(long status)
{
    switch (status) {
    case 401:
    case 403:
        return E_UNAVAILABLE;
    case 404:
        return E_NOT_FOUND;
    case 429:
        return E_REFUSED;
    default:
        return status / 100 == 4 ? E_INVALID : E_UNAVAILABLE;
    }
}

static enum error_code code_named(const char *name)
{
    static const char *const names[] = {
#define X(name, exit_code) [E_##name] = #name,
        ERROR_CODES(X)
#undef X
    };

    for (size_t i = 1; name && i < sizeof(names) / sizeof(*names); i++)
        if (!strcmp(names[i], name))
            return (enum error_code)i;
    return E_NONE;
}

static void set_missing(const json_t *problem, long status, struct err *err)
{
    static const char *const words[] = {[MISSING_EXECUTION] = "execution",
                                        [MISSING_PARAM] = "param",
                                        [MISSING_SUBMITTED] = "submitted",
                                        NULL};
    const char *kind = json_string_value(json_object_get(problem, "missing"));
    const char *name = json_string_value(json_object_get(problem, "name"));

    for (int i = MISSING_EXECUTION; kind && name && words[i]; i++)
        if (!strcmp(words[i], kind))
            err_missing(err, (enum err_missing)i, name);
    if (status == 409 && err->code == E_INVALID)
        err_missing(err, MISSING_STATE, "");
}

int remote_no_server(struct remote *r, struct err *err)
{
    return err_set(err, E_UNAVAILABLE, "%s does not answer like a Pawl server: check its URL",
                   r->url);
}

int remote_problem(struct remote *r, const struct reply *a, struct err *err)
{
    json_auto_t *problem = json_loadb(buf_cstr(&a->body), a->body.len, 0, NULL);
    const char *detail = json_string_value(json_object_get(problem, "detail"));
    enum error_code code = code_named(json_string_value(json_object_get(problem, "code")));

    if (a->status == 401 && !r->token)
        return err_set(
            err, E_UNAVAILABLE,
            "the server %s requires a token: set PAWL_TOKEN, or give --token-file (`pawl "
            "admin token create` makes one)",
            r->url);
    if (!detail)
        return a->status >= 500
                   ? err_set(err, E_UNAVAILABLE, "the server %s can't be used now: status %ld",
                             r->url, a->status)
                   : remote_no_server(r, err);
    if (code) {
        err_set(err, code, "%s", detail);
        set_missing(problem, a->status, err);
    } else {
        err_set(err, code_of_status(a->status), "the server %s refused this: %s", r->url, detail);
    }
    return -(int)err->code;
}

/* Whether the request can have reached the server. */
static bool is_sent(CURLcode code)
{
    switch (code) {
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
    case CURLE_OPERATION_TIMEDOUT:
        return true;
    default:
        return false;
    }
}

int remote_no_answer(struct remote *r, const char *method, CURLcode code, struct err *err)
{
    if (is_sent(code) && strcmp(method, "GET"))
        return err_set(err, E_COMMIT_UNKNOWN,
                       "the server %s did not answer to the end: the change may or may not have "
                       "been made; look before you repeat it",
                       r->url);
    return err_set(err, E_UNAVAILABLE, "the server %s can't be reached: %s", r->url,
                   curl.easy_strerror(code));
}
