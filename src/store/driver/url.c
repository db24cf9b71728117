/* url.c - parses database URLs; see url.h. No message may contain the password of a URL. */
#include "store/driver/url.h"

#include "base/buf.h"
#include "store/driver/postgres/libpq.h"

#include <stdlib.h>
#include <string.h>

#define ALLOWED "write sqlite:FILE, or postgres://USER@HOST/DATABASE"
#define HIDDEN  "***"

static bool starts_with(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

/* ---- tenants ---- */

int tenant_check_name(const char *name, struct err *err)
{
    if (tenant_is_name(name))
        return 0;
    return err_set(err, E_INVALID,
                   "\"%.60s\" is not a valid tenant name: use a lowercase letter, then up to %d "
                   "lowercase letters, digits or _",
                   name, TENANT_MAX - 1);
}

char *tenant_file(const char *file, const char *tenant)
{
    const char *slash = strrchr(file, '/');
    const char *base = slash ? slash + 1 : file;
    const char *dot = strrchr(base, '.');

    /* No dot, or a leading one: .pawl is a hidden file, not an extension. */
    if (!dot || dot == base)
        return mem_printf("%s.%s", file, tenant);
    return mem_printf("%.*s.%s%s", (int)(dot - file), file, tenant, dot);
}

/* ---- sqlite:FILE ---- */

/* Parses the part after "sqlite:". The driver parses the options after a "?". */
static int parse_sqlite(struct db_url *u, const char *file, struct err *err)
{
    char *plain;

    if (starts_with(file, "//")) {
        if (file[2] != '/')
            return err_set(err, E_INVALID,
                           "%s names a host: write sqlite:FILE, or sqlite:///FOLDER/FILE", u->text);
        file += 2;
    }
    if (!*file || *file == '?')
        return err_set(err, E_INVALID, "\"%s\" has no file name: write sqlite:FILE", u->text);
    if (starts_with(file, ":memory:"))
        return err_set(err, E_INVALID,
                       "a database in memory would be lost when Pawl exits: write sqlite:FILE");
    u->driver = &db_sqlite;
    u->safe = mem_strdup(u->text);
    plain = mem_printf("%.*s", (int)strcspn(file, "?"), file);
    u->file = u->tenant ? tenant_file(plain, u->tenant) : mem_strdup(plain);
    free(plain);
    return 0;
}

/* ---- postgres://… ---- */

/* Whether a query parameter may be a password. A name that contains % may decode to anything. */
static bool is_secret(const char *param, size_t len)
{
    const char *end = memchr(param, '=', len);
    size_t n = end ? (size_t)(end - param) : len;

    return (n == 8 && memcmp(param, "password", n) == 0) ||
           (n == 11 && memcmp(param, "sslpassword", n) == 0) || memchr(param, '%', n);
}

static void add_safe_query(struct buf *b, const char *query)
{
    while (*query) {
        size_t len = strcspn(query, "&");

        if (is_secret(query, len)) {
            buf_add(b, query, strcspn(query, "=&"));
            buf_addstr(b, "=" HIDDEN);
        } else {
            buf_add(b, query, len);
        }
        query += len;
        if (*query == '&')
            buf_addch(b, *query++);
    }
}

/* The URL with HIDDEN in place of every password. `at` is the @ that ends the part with user and
 * password; NULL if the URL has no such part. */
static char *without_password(const char *text, const char *host, const char *at)
{
    struct buf b = BUF_INIT;
    const char *rest = at ? at : host;
    const char *query = strchr(rest, '?');
    const char *colon = at ? memchr(host, ':', (size_t)(at - host)) : NULL;

    buf_add(&b, text, (size_t)((colon ? colon : rest) - text));
    if (colon)
        buf_addstr(&b, ":" HIDDEN);
    buf_add(&b, rest, query ? (size_t)(query + 1 - rest) : strlen(rest));
    if (query)
        add_safe_query(&b, query + 1);
    return b.ptr;
}

/* Refuses a password with a bare @ or /, before libpq splits the URL: libpq would read a part of
 * the password as the name of a host or database, and messages would show that part. */
static int check_password(const char *host, const char *at, struct err *err)
{
    const char *rest = at ? at + 1 : host;
    const char *query = strchr(rest, '?');
    const char *stray = strchr(rest, '@');

    if (!stray || (query && stray > query))
        return 0;
    return err_set(err, E_INVALID,
                   "the database URL has an unexpected @: in a password, write %%40 for @ and "
                   "%%2F for /");
}

/* Lets libpq check the URL, if it is installed. A missing libpq is reported when connecting. */
static int check_with_libpq(const struct db_url *u, struct err *err)
{
    struct err ignored = ERR_INIT;
    PQconninfoOption *options;
    char *why = NULL;
    int rc = 0;

    if (pq_load(&ignored))
        return 0;
    options = pq.conninfoParse(u->text, &why);
    if (!options) {
        bool quotable = why && strcmp(u->text, u->safe) == 0;

        rc = err_set(err, E_INVALID, "%s is not a valid PostgreSQL URL%s%.*s", u->safe,
                     quotable ? ": " : "", quotable ? (int)strcspn(why, "\n") : 0,
                     quotable ? why : "");
    }
    pq.conninfoFree(options);
    pq.freemem(why);
    return rc;
}

static int parse_postgres(struct db_url *u, struct err *err)
{
    const char *host = strstr(u->text, "://") + 3;
    /* Libpq, too, ends the part with user and password here. */
    const char *at = host + strcspn(host, "@/");

    if (*at != '@')
        at = NULL;
    TRY(check_password(host, at, err));
    u->driver = &db_postgres;
    u->safe = without_password(u->text, host, at);
    u->schema =
        u->tenant ? mem_printf(DEFAULT_SCHEMA "_%s", u->tenant) : mem_strdup(DEFAULT_SCHEMA);
    return check_with_libpq(u, err);
}

/* ---- any URL ---- */

/* Sets the error for a URL of an unknown kind. Quotes only the parts of the URL that can't be a
 * password. */
static int parse_unknown(const char *text, struct err *err)
{
    size_t scheme =
        strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+.-");

    if (!*text)
        return err_set(err, E_INVALID, "the database URL is empty: " ALLOWED);
    if (scheme && text[scheme] == ':')
        return err_set(err, E_INVALID, "\"%.*s\" is not a supported kind of database: " ALLOWED,
                       (int)(scheme < 30 ? scheme : 30), text);
    if (strchr(text, '='))
        return err_set(err, E_INVALID, "the database must be given as a URL: " ALLOWED);
    return err_set(err, E_INVALID, "\"%.200s\" is not a URL; did you mean sqlite:%.200s ?", text,
                   text);
}

int url_parse(const char *text, const char *tenant, struct db_url **out, struct err *err)
{
    struct db_url *u;
    int rc = 0;

    if (tenant)
        TRY(tenant_check_name(tenant, err));
    u = mem_zalloc(sizeof(*u));
    u->text = mem_strdup(text);
    u->tenant = mem_strdup(tenant);
    if (starts_with(text, "sqlite:"))
        rc = parse_sqlite(u, text + strlen("sqlite:"), err);
    else if (starts_with(text, "postgres://") || starts_with(text, "postgresql://"))
        rc = parse_postgres(u, err);
    else
        rc = parse_unknown(text, err);
    if (rc)
        url_free(&u);
    else
        *out = u;
    return rc;
}

void url_free(struct db_url **url)
{
    struct db_url *u = *url;

    if (!u)
        return;
    free(u->text);
    free(u->safe);
    free(u->file);
    free(u->tenant);
    free(u->schema);
    free(u);
    *url = NULL;
}
