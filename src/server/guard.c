/* guard.c - finds out which user sends a request, and checks whether that user may do so. A user is
 * identified by a token (in Authorization, or in the cookie of a browser session), by a trusted
 * proxy, or as the peer of a unix socket. All other requests can use only the endpoints that need
 * no scope.
 *
 * A browser sends cookies with requests that other sites cause. Three checks refuse such requests:
 * the Host header must be a name of this server (DNS rebinding), Sec-Fetch-Site and Origin must be
 * its own, and a cookie counts only together with the header X-Pawl-Request, which other sites
 * can't send without asking first. */
#include "base/text.h"
#include "server/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#define COOKIE "pawl="

static const char *header_of(const struct request *r, const char *name)
{
    return MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, name);
}

/* ---- Host and origin ---- */

/* Copies a host without its port: "[::1]:80" becomes "::1". False if it is malformed or too long.
 */
static bool host_name(const char *host, char out[256])
{
    const char *port;
    bool brackets = *host == '[';
    size_t len = strcspn(host += brackets, brackets ? "]" : ":");

    if (!len || len >= 256 || (brackets && !host[len]))
        return false;
    port = host + len + brackets;
    if (*port && (*port != ':' || port[1 + strspn(port + 1, "0123456789")]))
        return false;
    memcpy(out, host, len);
    out[len] = '\0';
    return true;
}

/* Whether a host is written as an address. Attackers can make a name of their own point to this
 * server, but not an address. */
static bool is_address(const char *host)
{
    unsigned char out[16];

    return inet_pton(AF_INET, host, out) == 1 || inet_pton(AF_INET6, host, out) == 1;
}

static bool is_our_name(const struct server *s, const char *host)
{
    for (const char *const *h = s->options.hosts; h && *h; h++)
        if (!strcasecmp(*h, host))
            return true;
    return !strcasecmp(host, "localhost") || is_address(host);
}

static bool check_host(struct request *r)
{
    const char *host = header_of(r, "Host");
    char name[256];

    if (!host || (host_name(host, name) && is_our_name(r->server, name)))
        return true;
    answer_problem(
        r, 421, "misdirected",
        "this server does not answer for the host %.100s: start it with --host %.100s if it should",
        host, host);
    return false;
}

static bool refuse_origin(struct request *r)
{
    answer_problem(r, 403, "forbidden", "a page of another site made this request");
    return false;
}

/* Checks which site made the request. A link on another site may open a page of this server,
 * because the page then requests its data itself. */
static bool check_origin(struct request *r)
{
    const char *site = header_of(r, "Sec-Fetch-Site"), *mode = header_of(r, "Sec-Fetch-Mode");
    const char *origin = header_of(r, "Origin"), *host = header_of(r, "Host");
    bool page = r->endpoint && !r->endpoint->scope && !strcmp(r->method, "GET");

    if (site && strcmp(site, "same-origin") && strcmp(site, "none"))
        return (page && mode && !strcmp(mode, "navigate")) || refuse_origin(r);
    if (!origin || !host)
        return true;
    origin = strstr(origin, "://");
    return (origin && !strcasecmp(origin + 3, host)) || refuse_origin(r);
}

/* ---- who ---- */

static void identify(struct request *r, const char *by)
{
    r->by = by;
    r->scopes = ALL_SCOPES;
    r->known = true;
}

/* Identifies the peer of a unix socket: root, and the user who runs the server, need no token. */
static void identify_peer(struct request *r)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(r->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct passwd user, *found = NULL;
    struct ucred peer;
    socklen_t len = sizeof(peer);
    char text[1024];

    if (!info || getsockopt(info->connect_fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) ||
        (peer.uid != geteuid() && peer.uid != 0))
        return;
    if (!getpwuid_r(peer.uid, &user, text, sizeof(text), &found) && found)
        identify(r, arena_printf(&r->arena, "%s (unix socket)", found->pw_name));
    else
        identify(r, arena_printf(&r->arena, "uid %u (unix socket)", (unsigned)peer.uid));
}

/* The token in the cookie of a session; NULL if the request has none. */
static const char *cookie_token(const struct request *r)
{
    const char *cookie = header_of(r, "Cookie");

    while (cookie) {
        cookie += strspn(cookie, " ");
        if (!strncmp(cookie, COOKIE, strlen(COOKIE))) {
            cookie += strlen(COOKIE);
            return arena_memdup0((struct arena *)&r->arena, cookie, strcspn(cookie, ";"));
        }
        cookie = strchr(cookie, ';');
        cookie = cookie ? cookie + 1 : NULL;
    }
    return NULL;
}

static bool is_equal(const char *secret, const char *given)
{
    size_t len = strlen(secret);

    return len && len == strlen(given) && !sodium_memcmp(secret, given, len);
}

static void identify_token(struct request *r)
{
    const char *own = r->server->options.tenant;

    if (is_equal(r->server->console_token, r->token))
        identify(r, "console");
    else if (is_equal(r->server->file_token, r->token))
        identify(r, "token file");
    else if (pawl_token_tenant(r->token, r->tenant, NULL) || (own && strcmp(own, r->tenant)))
        r->token = "", r->tenant[0] = '\0'; /* an empty token, which guard_has_identity refuses */
}

/* The message of a webhook has no token that says which tenant it is for. */
static bool choose_tenant(struct request *r)
{
    const char *own = r->server->options.tenant;
    const char *tenant = r->endpoint->scope ? NULL : value_text(&r->args, "tenant");

    if (!tenant)
        return true;
    if (own && strcmp(own, tenant)) {
        answer_problem(r, 401, "unauthorized", "the signature is not valid");
        return false;
    }
    snprintf(r->tenant, sizeof(r->tenant), "%s", tenant);
    return true;
}

bool guard_admit(struct request *r)
{
    const char *given = header_of(r, "Authorization");

    if (!check_host(r) || !check_origin(r) || !choose_tenant(r))
        return false;
    if (given && !strncasecmp(given, "Bearer ", 7))
        r->token = arena_strdup(&r->arena, given + 7 + strspn(given + 7, " "));
    else if (header_of(r, "X-Pawl-Request"))
        r->is_session = (r->token = cookie_token(r)) != NULL;
    if (r->token)
        identify_token(r);
    else if (proxy_is_peer(r)) /* it never acts as itself, even if it is the server's own user */
        return proxy_identify(r);
    else if (r->server->is_unix)
        identify_peer(r);
    return true;
}

/* ---- may they? ---- */

static bool refuse_token(struct request *r)
{
    answer_header(r, "WWW-Authenticate", "Bearer realm=\"pawl\"");
    if (r->is_session) /* the next request may be identified in another way */
        answer_header(r, "Set-Cookie", "%s", END_SESSION);
    answer_problem(r, 401, "unauthorized",
                   r->token ? "the token is not valid: it is unknown, expired or revoked"
                            : "a token is required: send Authorization: Bearer TOKEN "
                              "(`pawl admin token create` makes one)");
    return false;
}

void guard_refuse_token(struct request *r)
{
    (void)refuse_token(r);
}

bool guard_has_identity(struct request *r)
{
    return !r->endpoint->scope || r->known || (r->token && *r->token) || refuse_token(r);
}

static bool check_token(struct request *r)
{
    struct pawl_rights *rights;
    struct pawl_error err = {0};
    int rc;

    rc = pawl_token_check(r->p, r->token, &rights, &err);
    if (rc == -PAWL_E_NOT_FOUND || rc == -PAWL_E_INVALID)
        return refuse_token(r);
    if (rc) {
        answer_error(r, &err);
        return false;
    }
    r->by = arena_printf(&r->arena, "token %s", rights->name);
    r->scopes = rights->scopes;
    pawl_rights_free(rights);
    r->known = r->is_stored = true;
    return true;
}

bool guard_check(struct request *r)
{
    unsigned needed = r->endpoint->scope;

    if (!needed)
        return true;
    if (!r->known && !check_token(r))
        return false;
    if (r->server->options.read_only && needed != PAWL_SCOPE_READ) {
        answer_problem(r, 403, "forbidden", "this server was started with --read-only");
        return false;
    }
    if (!(r->scopes & (needed | PAWL_SCOPE_ADMIN))) {
        answer_problem(r, 403, "forbidden", "the token lacks the scope %s",
                       pawl_scope_text(needed));
        return false;
    }
    return true;
}

/* ---- start ---- */

static int read_token_file(struct server *s, struct err *err)
{
    AUTO_BUF text = BUF_INIT;
    int fd = open(s->options.token_file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool ok = fd >= 0 && buf_read(&text, fd, sizeof(s->file_token));
    size_t len;

    if (fd >= 0)
        close(fd);
    if (!ok)
        return err_set(err, E_INVALID, "the token file %s can't be read: %s", s->options.token_file,
                       strerror(errno));
    len = strcspn(buf_cstr(&text), "\r\n \t");
    if (len < 32 || len >= sizeof(s->file_token))
        return err_set(err, E_INVALID,
                       "the first line of the token file %s must have from 32 to %zu characters",
                       s->options.token_file, sizeof(s->file_token) - 1);
    memcpy(s->file_token, text.ptr, len);
    return 0;
}

static int count_active(void *n, const char *json)
{
    *(size_t *)n += strstr(json, "\"state\":\"active\"") != NULL;
    return 0;
}

static int check_exposed(struct server *s, struct err *err)
{
    struct pawl_error e = {0};
    struct pawl *p;
    size_t n = 0;
    int rc;

    if ((rc = server_open(s, "", false, &p, &e)))
        return err_set(err, (enum error_code) - rc, "%s", e.message);
    rc = pawl_tokens(p, count_active, &n, &e);
    pawl_close(p);
    if (rc)
        return err_set(err, (enum error_code) - rc, "%s", e.message);
    if (!n)
        return err_set(
            err, E_INVALID,
            "other hosts could reach this address, but there is no token: create one with "
            "`pawl admin token create`, give --token-file, or listen on 127.0.0.1");
    return 0;
}

int guard_open(struct server *s, struct err *err)
{
    unsigned char random[24];

    if (sodium_init() < 0)
        return err_set(err, E_INTERNAL, "libsodium can't be initialized");
    TRY(proxies_check(s, err));
    if (s->options.token_file)
        return read_token_file(s, err);
    if (s->is_unix)
        return 0;
    if (!s->is_loopback)
        return s->proxies ? 0 : check_exposed(s, err);
    randombytes_buf(random, sizeof(random));
    sodium_bin2base64(s->console_token, sizeof(s->console_token), random, sizeof(random),
                      sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    return 0;
}
