/* framing.c - refuses requests of which another program may find the end at a different place. If a
 * proxy and this server disagree about where a request ends, an attacker can make one client's
 * request part of another's (request smuggling). libmicrohttpd 0.9.75 accepts several such requests
 * even in its strictest mode. */
#include "server/server.h"

#include <string.h>
#include <strings.h>

#define BROKEN "a line of the request has a NUL, is folded, or does not end with CR and LF"

struct framing {
    unsigned hosts, lengths, encodings;
    const char *next; /* where the next header must begin; NULL if that can't be checked */
    const char *fault;
};

static bool is_token_char(unsigned char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c && strchr("!#$%&'*+-.^_`|~", c));
}

static bool is_token(const char *s, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!is_token_char((unsigned char)s[i]))
            return false;
    return len > 0;
}

/* Whether a header's value has a control character other than a tab. */
static bool has_control(const char *s, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)s[i];

        if ((c < 0x20 && c != '\t') || c == 0x7f)
            return true;
    }
    return false;
}

static bool is_length(const char *s, size_t len)
{
    return len > 0 && len <= 18 && strspn(s, "0123456789") == len;
}

/* Whether libmicrohttpd parses the head of a request in place, as its version 0 does: it ends each
 * part with a NUL instead of the space, colon or line break that was there. So the parts of a
 * well-formed head follow each other, and where they do not, something was skipped that another
 * program may read in a different way: a NUL, which hides the rest of its line; the second line of
 * a folded header, which becomes a part of the *name* ("Transfer-Encodin: chunked" folded with
 * "g"); a line that ends with LF only; a line that begins with NUL, which ends the head. Version 1
 * refuses all of them by itself. */
static bool parses_in_place(void)
{
    return !strncmp(MHD_get_version(), "0.", 2);
}

/* Whether the header begins where the part before it ended, with nothing but blanks between its
 * name and value. */
static bool is_in_place(struct framing *f, const char *name, size_t name_len, const char *value,
                        size_t value_len)
{
    const char *gap = name + name_len + 1;

    if (!f->next)
        return true;
    if (name != f->next || value < gap || strspn(gap, " \t") < (size_t)(value - gap))
        return false;
    f->next = value + value_len + 2;
    return true;
}

static enum MHD_Result check_header(void *arg, enum MHD_ValueKind kind, const char *name,
                                    size_t name_len, const char *value, size_t value_len)
{
    struct framing *f = arg;

    (void)kind;
    if (!value)
        value = "", value_len = 0;
    if (strlen(name) != name_len || !is_token(name, name_len))
        f->fault = "the name of a header has a character that is not allowed there";
    else if (strlen(value) != value_len || has_control(value, value_len))
        f->fault = "the value of a header has a control character";
    else if (!is_in_place(f, name, name_len, value, value_len))
        f->fault = BROKEN;
    else if (!strcasecmp(name, "Host"))
        f->hosts++;
    else if (!strcasecmp(name, "Content-Length")) {
        f->lengths++;
        if (!is_length(value, value_len))
            f->fault = "Content-Length must be one decimal number";
    } else if (!strcasecmp(name, "Transfer-Encoding")) {
        f->encodings++;
        if (strcasecmp(value, "chunked"))
            f->fault = "Transfer-Encoding must be chunked";
    }
    return f->fault ? MHD_NO : MHD_YES;
}

/* Whether the target is an absolute path of printable ASCII characters. */
static bool is_plain_target(const char *s)
{
    if (*s != '/')
        return false;
    for (; *s; s++)
        if (*s <= 0x20 || *s >= 0x7f || *s == '"' || *s == '<' || *s == '>' || *s == '\\')
            return false;
    return true;
}

/* Whether the request line has one space between its parts and no NUL. Sets where the first header
 * must begin. */
static bool check_line(struct framing *f, const struct request_line *l)
{
    if (!parses_in_place())
        return true;
    f->next = l->version + strlen(l->version) + 2;
    return l->path == l->method + strlen(l->method) + 1 &&
           l->version == l->path + strlen(l->target) + 1;
}

/* Whether the head ends after its last header. */
static bool check_end(struct MHD_Connection *c, const struct framing *f, const char *start)
{
    const union MHD_ConnectionInfo *size =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);

    return !f->next || (size && f->next + 2 == start + size->header_size);
}

static const char *headers_fault(const struct framing *f, bool is_1_1)
{
    if (f->hosts > 1 || (!f->hosts && is_1_1))
        return "a request must have exactly one Host header";
    if (f->lengths > 1)
        return "a request must have at most one Content-Length header";
    if (f->encodings > 1)
        return "a request must have at most one Transfer-Encoding header";
    if (f->encodings && f->lengths)
        return "a request must not have both Content-Length and Transfer-Encoding";
    if (f->encodings && !is_1_1)
        return "Transfer-Encoding needs HTTP/1.1";
    return NULL;
}

const char *framing_fault(struct MHD_Connection *c, const struct request_line *l)
{
    bool is_1_1 = !strcmp(l->version, MHD_HTTP_VERSION_1_1);
    struct framing f = {0};

    if (!is_1_1 && strcmp(l->version, MHD_HTTP_VERSION_1_0))
        return "only HTTP/1.1 and HTTP/1.0 are supported";
    if (!is_plain_target(l->target))
        return "the request target must be an absolute path of printable ASCII characters";
    if (!check_line(&f, l))
        return BROKEN;
    MHD_get_connection_values_n(c, MHD_HEADER_KIND, check_header, &f);
    if (f.fault)
        return f.fault;
    if (!check_end(c, &f, l->method))
        return BROKEN;
    return headers_fault(&f, is_1_1);
}
