/* framing.c - refuses requests whose framing another program may read in a different way. A proxy
 * and this server that disagree about where a request ends can be made to disagree about whose
 * request it is (request smuggling). libmicrohttpd 0.9.75 accepts several such requests even in its
 * strictest mode. */
#include "server/server.h"

#include <string.h>
#include <strings.h>

struct framing {
    unsigned hosts, lengths, encodings;
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

/* Whether a value has a control character other than a tab. */
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

const char *framing_fault(struct MHD_Connection *c, const char *target, const char *version)
{
    struct framing f = {0};

    MHD_get_connection_values_n(c, MHD_HEADER_KIND | MHD_FOOTER_KIND, check_header, &f);
    if (f.fault)
        return f.fault;
    if (strcmp(version, MHD_HTTP_VERSION_1_1) && strcmp(version, MHD_HTTP_VERSION_1_0))
        return "only HTTP/1.1 and HTTP/1.0 are supported";
    if (f.hosts > 1 || (!f.hosts && !strcmp(version, MHD_HTTP_VERSION_1_1)))
        return "a request must have exactly one Host header";
    if (f.lengths > 1)
        return "a request must have at most one Content-Length header";
    if (f.encodings > 1)
        return "a request must have at most one Transfer-Encoding header";
    if (f.encodings && f.lengths)
        return "a request must not have both Content-Length and Transfer-Encoding";
    if (f.encodings && strcmp(version, MHD_HTTP_VERSION_1_1))
        return "Transfer-Encoding needs HTTP/1.1";
    if (!is_plain_target(target))
        return "the request target must be an absolute path of printable ASCII characters";
    return NULL;
}
