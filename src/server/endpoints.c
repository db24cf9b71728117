/* endpoints.c - finds the endpoint of a request by its method and path. */
#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "server/endpoint.h"

#include <string.h>

#define X(name) name##_endpoints,
const struct endpoint *const endpoint_lists[] = {RESOURCES(X) NULL};
#undef X

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

bool percent_decode(char *s, bool query)
{
    char *out = s, *start = s;

    for (; *s; s++) {
        if (*s == '%') {
            int high = hex_digit(s[1]), low = high < 0 ? -1 : hex_digit(s[2]);

            if (low < 0 || (high == 0 && low == 0))
                return false;
            *out++ = (char)(high * 16 + low);
            s += 2;
        } else {
            *out++ = query && *s == '+' ? ' ' : *s;
        }
    }
    *out = '\0';
    return text_is_utf8(start, (size_t)(out - start));
}

/* Compares a path with that of an endpoint. Copies the segments that match segments in braces. */
static bool match(const char *pattern, const char *path, struct arena *arena,
                  const char *args[PATH_ARGS])
{
    size_t n = 0;

    while (*pattern && *path) {
        size_t want = strcspn(pattern + 1, "/") + 1, have = strcspn(path + 1, "/") + 1;

        if (pattern[1] == '{') {
            char *arg = arena_memdup0(arena, path + 1, have - 1);

            if (!*arg || !percent_decode(arg, false))
                return false;
            args[n++] = arg;
        } else if (want != have || memcmp(pattern, path, want)) {
            return false;
        }
        pattern += want;
        path += have;
    }
    return !*pattern && !*path;
}

static bool has_method(const struct endpoint *e, const char *method)
{
    return !strcmp(e->method, method) || (!strcmp(e->method, "GET") && !strcmp(method, "HEAD"));
}

/* Adds a method to those of a path, which several endpoints may match. */
static void allow(struct buf *allowed, const char *method)
{
    size_t len = strlen(method);

    for (const char *p = buf_cstr(allowed); *p; p += strcspn(p, " "), p += *p == ' ')
        if (!strncmp(p, method, len) && (!p[len] || p[len] == ','))
            return;
    buf_addf(allowed, "%s%s", allowed->len ? ", " : "", method);
}

const struct endpoint *endpoint_find(const char *method, const char *path, struct arena *arena,
                                     const char *args[PATH_ARGS], struct buf *allowed)
{
    for (size_t i = 0; endpoint_lists[i]; i++)
        for (const struct endpoint *e = endpoint_lists[i]; e->method; e++) {
            if (!match(e->path, path, arena, args))
                continue;
            if (has_method(e, method))
                return e;
            allow(allowed, e->method);
        }
    return NULL;
}
