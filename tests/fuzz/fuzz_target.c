/* fuzz_target.c - the method and target of a request: the path that leads to an endpoint, the
 * segments in braces, and the arguments of the query. What was found is found again when its parts
 * are written as a path. */
#include "endpoints.h"

static void encode(struct buf *b, const char *s)
{
    for (; *s; s++)
        buf_addf(b, "%%%02x", (unsigned char)*s);
}

/* Writes the path of an endpoint with other text in its braces. */
static void write_path(struct buf *b, const struct endpoint *e, const char *const *values)
{
    for (const char *p = e->path; *p; p++) {
        if (*p == '{') {
            encode(b, *values++);
            p = strchr(p, '}');
        } else {
            buf_addch(b, *p);
        }
    }
}

static void check_found(struct request *r)
{
    struct buf path = BUF_INIT, allowed = BUF_INIT;
    const char *again[PATH_ARGS] = {NULL};

    for (size_t i = 0; i < PATH_ARGS && r->path_args[i]; i++)
        MUST_HOLD(*r->path_args[i] && text_is_utf8(r->path_args[i], strlen(r->path_args[i])));
    write_path(&path, r->endpoint, r->path_args);
    MUST_HOLD(endpoint_find(r->endpoint->method, path.ptr, &r->arena, again, &allowed) ==
              r->endpoint);
    for (size_t i = 0; i < PATH_ARGS && strchr(r->endpoint->path, '{') && again[i]; i++)
        MUST_HOLD(!strcmp(again[i], r->path_args[i]));
    buf_release(&path);
    buf_release(&allowed);
}

/* Each method that is said to be allowed leads to an endpoint, and none is said twice. */
static void check_allowed(struct request *r, const char *path, const char *methods)
{
    char *list = arena_strdup(&r->arena, methods), *method;

    while ((method = strsep(&list, ","))) {
        const char *values[PATH_ARGS] = {NULL};
        struct buf rest = BUF_INIT;

        method += strspn(method, " ");
        MUST_HOLD(!list || !strstr(list, method));
        MUST_HOLD(endpoint_find(method, path, &r->arena, values, &rest));
        buf_release(&rest);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size), *query = text, *method = strsep(&query, " "), *path;
    struct request r = {.method = method};
    struct buf allowed = BUF_INIT;

    if (query) {
        path = strsep(&query, "?");
        r.endpoint = endpoint_find(method, path, &r.arena, r.path_args, &allowed);
        if (r.endpoint) {
            check_found(&r);
            if (args_read(&r, query))
                check_values(&r.args);
            else
                check_refused(&r);
        } else if (allowed.len) {
            check_allowed(&r, path, allowed.ptr);
        }
    }
    buf_release(&allowed);
    release_request(&r);
    free(text);
    return 0;
}
