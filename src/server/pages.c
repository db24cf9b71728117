/* pages.c - the web pages. Every address that a person may open, such as /runs/17, gets the same
 * HTML document, whose scripts then call the API. Scripts and styles lie under /assets/VERSION/:
 * the version changes with their content, so a browser loads each of them once.
 *
 * Only names in the table of built-in files are served, also from the folder of --web. */
#include "server/pages.h"
#include "base/fd.h"
#include "server/server.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define DOCUMENT      "index.html"
#define FILE_MAX      (1 << 20)

/* The pages never turn text into HTML or code: a browser that knows this policy refuses any
 * attempt. This policy is added to the CONTENT_POLICY of every answer. */
#define SCRIPT_POLICY "require-trusted-types-for 'script'; trusted-types 'none'"

static const struct page_file *find_file(const char *name)
{
    const struct page_file *f = page_files;

    while (f->name && strcmp(f->name, name))
        f++;
    return f->name ? f : NULL;
}

static const char *media_type(const char *name)
{
    static const struct {
        const char *ending, *type;
    } types[] = {{".html", "text/html; charset=utf-8"},
                 {".js", "text/javascript; charset=utf-8"},
                 {".css", "text/css; charset=utf-8"},
                 {".svg", "image/svg+xml"}};
    const char *ending = strrchr(name, '.');

    for (size_t i = 0; ending && i < sizeof(types) / sizeof(*types); i++)
        if (!strcmp(types[i].ending, ending))
            return types[i].type;
    return "application/octet-stream";
}

/* Answers with the file in the folder of --web as it is now, for development; never cached. */
static void answer_from_disk(struct request *r, const struct page_file *f)
{
    const char *path = arena_printf(&r->arena, "%s/%s", r->server->options.web, f->name);
    AUTO_FD fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct buf b = BUF_INIT;

    if (fd < 0 || !buf_read(&b, fd, FILE_MAX)) {
        answer_problem(r, 404, "not-found", "%s can't be read: %s", path, strerror(errno));
        buf_release(&b);
        return;
    }
    answer_buf(r, 200, media_type(f->name), &b);
}

/* Whether the parameters of an element of Accept-Encoding have the weight 0, which refuses it. */
static bool has_no_weight(const char *p)
{
    const char *end = p + strcspn(p, ",");

    while ((p = memchr(p, ';', (size_t)(end - p)))) {
        p++;
        p += strspn(p, " \t");
        if (!strncasecmp(p, "q=", 2))
            return p[2] == '0' && strcspn(p + 2, "123456789,") == (size_t)(end - p - 2);
    }
    return false;
}

struct encodings {
    bool names_gzip, gzip, others; /* others: the client accepts those that it does not name */
};

static enum MHD_Result read_encodings(void *arg, enum MHD_ValueKind kind, const char *name,
                                      const char *value)
{
    struct encodings *e = arg;

    (void)kind;
    if (!value || strcasecmp(name, "Accept-Encoding") != 0)
        return MHD_YES;
    for (const char *p = value; *p; p += strcspn(p, ","), p += *p == ',') {
        size_t len;

        p += strspn(p, " \t");
        len = strcspn(p, ",; \t");
        if ((len == 4 && !strncasecmp(p, "gzip", len)) ||
            (len == 6 && !strncasecmp(p, "x-gzip", len))) {
            e->names_gzip = true;
            e->gzip = !has_no_weight(p + len);
        } else if (len == 1 && *p == '*') {
            e->others = !has_no_weight(p + len);
        }
    }
    return MHD_YES;
}

/* A client that does not say what it accepts gets a file as it is, because it may be a person who
 * reads it in a terminal. */
static bool accepts_gzip(struct request *r)
{
    struct encodings e = {0};

    MHD_get_connection_values(r->connection, MHD_HEADER_KIND, read_encodings, &e);
    return e.names_gzip ? e.gzip : e.others;
}

/* With `caching` NULL, the answer is not to be cached. */
static void answer_file(struct request *r, const struct page_file *f, const char *caching)
{
    bool zipped = accepts_gzip(r);
    const char *etag = arena_printf(&r->arena, "\"%s%s\"", page_version, zipped ? "" : "-identity");
    const char *known =
        MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, "If-None-Match");

    if (r->server->options.web) {
        answer_from_disk(r, f);
        return;
    }
    answer_header(r, "Vary", "Accept-Encoding");
    if (caching) {
        answer_header(r, "Cache-Control", "%s", caching);
        answer_header(r, "ETag", "%s", etag);
    }
    if (caching && known && strstr(known, etag)) {
        answer_empty(r, 304);
        return;
    }
    if (zipped) {
        answer_header(r, "Content-Encoding", "gzip");
        answer_shared(r, media_type(f->name), f->zip, f->zip_len);
    } else {
        answer_shared(r, media_type(f->name), f->text, f->len);
    }
}

/* The script that shows a page, as in web/router.js. */
static const struct {
    const char *path, *script;
} page_scripts[] = {{"/", "runs.js"},
                    {"/runs/{id}", "run.js"},
                    {"/workflows", "workflows.js"},
                    {"/workflows/{name}", "workflow.js"},
                    {"/queues", "queues.js"},
                    {"/workers", "workers.js"},
                    {"/schedules", "schedules.js"},
                    {"/events", "events.js"},
                    {"/system", "system.js"}};

/* Without this header, a browser learns which scripts it needs only from the scripts before them.
 */
static void preload_scripts(struct request *r)
{
    for (size_t i = 0; i < sizeof(page_scripts) / sizeof(*page_scripts); i++)
        if (!strcmp(page_scripts[i].path, r->endpoint->path))
            answer_header(r, "Link", "%s", find_file(page_scripts[i].script)->preload);
}

static void document(struct request *r)
{
    if (!r->server->options.web)
        preload_scripts(r);
    answer_header(r, "Content-Security-Policy", SCRIPT_POLICY);
    answer_file(r, find_file(DOCUMENT), "no-cache");
}

/* Answers a browser at an address without a page with the document, whose scripts say so. */
static void missing_document(struct request *r)
{
    answer_header(r, "Content-Security-Policy", SCRIPT_POLICY);
    answer_header(r, "Vary", "Accept");
    answer_file(r, find_file(DOCUMENT), NULL);
    r->status = 404;
}

/* The list of runs has the address /, but those who know /runs/17 look for it at /runs. */
static void redirect_to_runs(struct request *r)
{
    answer_header(r, "Location", "/%s", r->target + strlen(r->path));
    answer_empty(r, 302);
}

/* Answers with a script or style. A document of another version must not get those of this version:
 * it notices the answer 404 and loads itself again. */
static void asset(struct request *r)
{
    const struct page_file *f = find_file(r->path_args[1]);
    bool is_current = r->server->options.web || !strcmp(r->path_args[0], page_version);

    if (f && is_current && strcmp(f->name, DOCUMENT))
        answer_file(r, f, "public, max-age=31536000, immutable");
    else
        answer_problem(r, 404, "not-found", "there is no page or resource at this path");
}

#define PAGE(path)                                                                        \
    {                                                                                     \
        "GET", path, NULL, NULL, 0, PLANE_NONE, .answer = "", .answer_type = "text/html", \
                                                .status = 200, .run = document            \
    }
const struct endpoint page_endpoints[] = {
    PAGE("/"),
    {"GET", "/runs", NULL, NULL, 0, PLANE_NONE, .answer = "", .answer_type = "text/html",
     .status = 302, .run = redirect_to_runs},
    PAGE("/runs/{id}"),
    PAGE("/workflows"),
    PAGE("/workflows/{name}"),
    PAGE("/queues"),
    PAGE("/workers"),
    PAGE("/schedules"),
    PAGE("/events"),
    PAGE("/system"),
    {"GET", "/assets/{version}/{name}", NULL, NULL, 0, PLANE_NONE, .answer = "",
     .answer_type = "text/javascript", .status = 200, .run = asset},
    {0},
};

static const struct endpoint missing_page = {"GET",
                                             "",
                                             NULL,
                                             NULL,
                                             0,
                                             PLANE_NONE,
                                             .answer = "",
                                             .answer_type = "text/html",
                                             .status = 404,
                                             .run = missing_document};

const struct endpoint *page_for_missing(struct request *r)
{
    const char *accept = MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, "Accept");
    bool reads = !strcmp(r->method, "GET") || !strcmp(r->method, "HEAD");
    bool is_page = strncmp(r->path, "/v1/", 4) != 0 && strncmp(r->path, "/assets/", 8) != 0;

    return reads && is_page && accept && strcasestr(accept, "text/html") ? &missing_page : NULL;
}
