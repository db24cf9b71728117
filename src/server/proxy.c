/* proxy.c - users whom a reverse proxy has authenticated (--trusted-proxy). The proxy names the
 * user in the header X-Forwarded-User. Anyone can send that header, so it counts only if the other
 * end of the connection is a trusted proxy: by its address, or on a unix socket by its user, whom
 * the kernel vouches for.
 *
 * A browser authenticates to the proxy with requests that other sites cause, too. So, as with a
 * cookie, the user counts only together with the header X-Pawl-Request. */
#include "base/text.h"
#include "server/server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#define HEADER   "X-Forwarded-User"
#define USER_MAX 200

/* A trusted proxy, as an option names it. IPv4 addresses are kept as ::ffff:a.b.c.d. */
struct proxy {
    bool is_user;
    uid_t uid;
    struct in6_addr address;
    unsigned bits; /* of the address that count */
};

struct proxies {
    size_t n;
    unsigned scopes;
    struct proxy at[];
};

/* ---- options ---- */

static int read_user(const char *name, struct proxy *p, struct err *err)
{
    struct passwd user, *found = NULL;
    char text[4096];
    int64_t uid;

    p->is_user = true;
    if (!text_parse_i64(name, &uid) && uid >= 0 && uid < UINT32_MAX) {
        p->uid = (uid_t)uid;
        return 0;
    }
    if (getpwnam_r(name, &user, text, sizeof(text), &found) || !found)
        return err_set(err, E_INVALID, "--trusted-proxy: there is no user '%.60s' on this host",
                       name);
    p->uid = user.pw_uid;
    return 0;
}

static void map_ipv4(const struct in_addr *in, struct in6_addr *out)
{
    *out = (struct in6_addr){.s6_addr = {[10] = 0xff, [11] = 0xff}};
    memcpy(out->s6_addr + 12, in, sizeof(*in));
}

static int read_address(const char *text, struct proxy *p, struct err *err)
{
    size_t len = strcspn(text, "/");
    AUTO_FREE char *address = mem_printf("%.*s", (int)len, text);
    bool is_ipv4 = !strchr(address, ':');
    int64_t bits = is_ipv4 ? 32 : 128;
    struct in_addr in;
    bool ok =
        inet_pton(is_ipv4 ? AF_INET : AF_INET6, address, is_ipv4 ? (void *)&in : &p->address) == 1;

    if (ok && text[len])
        ok = !text_parse_i64(text + len + 1, &bits) && bits >= 0 && bits <= (is_ipv4 ? 32 : 128);
    if (!ok)
        return err_set(
            err, E_INVALID,
            "--trusted-proxy: '%.100s' is neither ADDRESS, such as 10.0.0.5 or 10.0.0.0/8, nor user:NAME",
            text);
    if (is_ipv4)
        map_ipv4(&in, &p->address);
    p->bits = (unsigned)bits + (is_ipv4 ? 96 : 0);
    return 0;
}

int proxies_open(struct server *s, struct err *err)
{
    const char *const *given = s->options.proxies;
    const char *scopes = s->options.proxy_scopes ? s->options.proxy_scopes : "read";
    struct pawl_error e = {0};
    size_t n = 0;

    while (given && given[n])
        n++;
    if (!n)
        return s->options.proxy_scopes
                   ? err_set(err, E_INVALID, "--proxy-scope needs --trusted-proxy")
                   : 0;
    s->proxies = mem_zalloc(sizeof(*s->proxies) + n * sizeof(*s->proxies->at));
    if (pawl_scopes_parse(scopes, &s->proxies->scopes, &e))
        return err_set(err, E_INVALID, "--proxy-scope: %s", e.message);
    if (s->proxies->scopes & PAWL_SCOPE_ADMIN)
        s->proxies->scopes = ALL_SCOPES;
    for (; s->proxies->n < n; s->proxies->n++) {
        const char *text = given[s->proxies->n];
        struct proxy *p = &s->proxies->at[s->proxies->n];

        TRY(!strncmp(text, "user:", 5) ? read_user(text + 5, p, err) : read_address(text, p, err));
    }
    return 0;
}

int proxies_check(const struct server *s, struct err *err)
{
    for (size_t i = 0; s->proxies && i < s->proxies->n; i++) {
        if (s->proxies->at[i].is_user == s->is_unix)
            continue;
        return err_set(err, E_INVALID, "--trusted-proxy: %s",
                       s->is_unix ? "on a unix socket a proxy is named by its user, user:NAME"
                                  : "user:NAME needs a unix socket; name the proxy by its address");
    }
    return 0;
}

bool proxies_need_socket(const struct server *s)
{
    return s->proxies && s->proxies->at[0].is_user;
}

/* ---- the other end of a connection ---- */

static bool has_address(const struct proxy *p, const struct in6_addr *a)
{
    unsigned bytes = p->bits / 8, rest = p->bits % 8;

    return !memcmp(p->address.s6_addr, a->s6_addr, bytes) &&
           (!rest || (p->address.s6_addr[bytes] ^ a->s6_addr[bytes]) >> (8 - rest) == 0);
}

static bool is_trusted_address(const struct proxies *all, const struct sockaddr *peer)
{
    struct in6_addr a;

    if (peer->sa_family == AF_INET)
        map_ipv4(&((const struct sockaddr_in *)(const void *)peer)->sin_addr, &a);
    else if (peer->sa_family == AF_INET6)
        a = ((const struct sockaddr_in6 *)(const void *)peer)->sin6_addr;
    else
        return false;
    for (size_t i = 0; i < all->n; i++)
        if (!all->at[i].is_user && has_address(&all->at[i], &a))
            return true;
    return false;
}

static bool is_trusted_user(const struct proxies *all, int fd)
{
    struct ucred peer;
    socklen_t len = sizeof(peer);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len))
        return false;
    for (size_t i = 0; i < all->n; i++)
        if (all->at[i].is_user && all->at[i].uid == peer.uid)
            return true;
    return false;
}

bool proxy_is_peer(const struct request *r)
{
    const struct proxies *all = r->server->proxies;
    const union MHD_ConnectionInfo *info;

    if (!all)
        return false;
    info = MHD_get_connection_info(r->connection, r->server->is_unix
                                                      ? MHD_CONNECTION_INFO_CONNECTION_FD
                                                      : MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    if (!info)
        return false;
    return r->server->is_unix ? is_trusted_user(all, info->connect_fd)
                              : is_trusted_address(all, info->client_addr);
}

/* ---- the user ---- */

struct named {
    const char *user;
    unsigned times;
};

static enum MHD_Result note_user(void *arg, enum MHD_ValueKind kind, const char *name,
                                 const char *value)
{
    struct named *named = arg;

    (void)kind;
    if (!strcasecmp(name, HEADER)) {
        named->user = value ? value : "";
        named->times++;
    }
    return MHD_YES;
}

static bool refuse(struct request *r, const char *sentence)
{
    answer_problem(r, 401, "unauthorized", "%s", sentence);
    return false;
}

bool proxy_identify(struct request *r)
{
    struct named named = {0};
    struct err err = ERR_INIT;

    MHD_get_connection_values(r->connection, MHD_HEADER_KIND, note_user, &named);
    if (!named.times || !r->endpoint || !r->endpoint->scope)
        return true;
    if (named.times > 1)
        return refuse(r, "the proxy sent the header " HEADER
                         " twice: it must replace the one that a client sends");
    if (text_check_name(HEADER, named.user, USER_MAX, &err))
        return refuse(r, err.msg);
    if (!MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, "X-Pawl-Request"))
        return refuse(
            r,
            "a request for a user of the proxy needs the header X-Pawl-Request: 1, so that other "
            "sites can't cause it");
    r->by = arena_printf(&r->arena, "%s (proxy)", named.user);
    r->scopes = r->server->proxies->scopes;
    r->known = true;
    return true;
}
