/* url.c - the URL of a server, and the handle on it. */
#include "base/text.h"
#include "remote/call.h"

#include <stdlib.h>
#include <string.h>

#define UNIX_LONG  "http+unix://"
#define UNIX_SHORT "unix:"
#define TOKEN_MAX  1000

static bool starts_with(const char *s, const char *prefix)
{
    return !strncmp(s, prefix, strlen(prefix));
}

bool remote_is_url(const char *url)
{
    return starts_with(url, "http://") || starts_with(url, "https://") ||
           starts_with(url, UNIX_LONG) || starts_with(url, UNIX_SHORT);
}

static int parse_socket(struct remote *r, const char *path, struct err *err)
{
    if (!*path)
        return err_set(err, E_INVALID, "%s names no socket: write unix:PATH", r->url);
    r->socket = mem_strdup(path);
    r->base = mem_strdup("http://localhost");
    return 0;
}

/* The message must not contain a token or a password that the URL may have. */
static int parse_address(struct remote *r, const char *url, struct err *err)
{
    const char *host = strstr(url, "://") + 3;
    size_t len = strlen(url);

    if (strpbrk(url, "@?#"))
        return err_set(err, E_INVALID,
                       "the URL of a server is http://HOST:PORT or https://HOST, without a user, a "
                       "query and a fragment: a token is given with PAWL_TOKEN or --token-file");
    if (!*host || *host == '/' || *host == ':' || !text_is_utf8(url, len) ||
        strpbrk(url, " \t\r\n"))
        return err_set(err, E_INVALID, "\"%.200s\" has no host: write http://HOST:PORT", url);
    while (len && url[len - 1] == '/')
        len--;
    r->base = mem_printf("%.*s", (int)len, url);
    return 0;
}

static int parse(struct remote *r, struct err *err)
{
    if (starts_with(r->url, UNIX_LONG))
        return parse_socket(r, r->url + strlen(UNIX_LONG), err);
    if (starts_with(r->url, UNIX_SHORT))
        return parse_socket(r, r->url + strlen(UNIX_SHORT), err);
    return parse_address(r, r->url, err);
}

/* A token is one header line. */
static int check_token(const char *token, struct err *err)
{
    for (const char *c = token; c && *c; c++)
        if (*c <= ' ' || *c > '~' || c - token >= TOKEN_MAX)
            return err_set(err, E_INVALID,
                           "the token for the server is not a token: it has a space, a character "
                           "that is not ASCII, or more than %d characters",
                           TOKEN_MAX);
    return 0;
}

static int open_handle(struct remote *r, const struct remote_options *o, struct err *err)
{
    TRY(parse(r, err));
    TRY(check_token(o->token, err));
    TRY(curl_load(err));
    r->token = o->token && *o->token ? mem_strdup(o->token) : NULL;
    if (!(r->easy = curl.easy_init()))
        return err_set(err, E_UNAVAILABLE, "libcurl can't be initialized");
    return 0;
}

int remote_open(const struct remote_options *o, struct remote **out, struct err *err)
{
    struct remote *r = mem_zalloc(sizeof(*r));
    int rc;

    r->url = mem_strdup(o->url);
    r->env = o->env;
    r->patience = o->patience;
    if ((rc = open_handle(r, o, err)))
        remote_close(r);
    else
        *out = r;
    return rc;
}

void remote_close(struct remote *r)
{
    if (!r)
        return;
    if (r->easy)
        curl.easy_cleanup(r->easy);
    free(r->url);
    free(r->base);
    free(r->socket);
    free(r->token);
    free(r);
}

const char *remote_url(const struct remote *r)
{
    return r->url;
}
