/* page.c - lists: {"items":[…],"next":…}. Items are passed on as the server wrote them. */
#include "remote/call.h"

#include <stdlib.h>
#include <string.h>

/* Finds the end of a string that begins at s; NULL if it has none. */
static char *string_end(char *s)
{
    for (s++; *s && *s != '"'; s++)
        if (*s == '\\' && s[1])
            s++;
    return *s ? s : NULL;
}

/* Finds what follows an item: a comma, or the end of the list. NULL if there is neither. */
static char *item_end(char *s)
{
    size_t depth = 0;

    for (; s && *s; s++) {
        if (!depth && (*s == ',' || *s == ']'))
            return s;
        if (*s == '{' || *s == '[')
            depth++;
        else if (*s == '}' || *s == ']')
            depth -= depth > 0;
        else if (*s == '"' && !(s = string_end(s)))
            return NULL;
    }
    return NULL;
}

/* Returns what follows the list, or NULL if it has no end. Sets *closed if `each` ended the
 * reading. */
static char *pass_items(char *s, pawl_line *each, void *arg, bool *closed)
{
    while (s) {
        char *end, mark;

        s += strspn(s, " \n");
        if (*s == ']')
            return s + 1;
        if (!(end = item_end(s)))
            return NULL;
        mark = *end;
        *end = '\0';
        *closed = *closed || each(arg, s) != 0;
        *end = mark;
        s = mark == ',' ? end + 1 : end;
    }
    return NULL;
}

int remote_items(struct remote *r, struct reply *a, pawl_line *each, void *arg, char **next,
                 struct err *err)
{
    static const char begin[] = "{\"items\":[", middle[] = ",\"next\":";
    char *rest = a->body.ptr, *end;
    bool closed = false;

    if (next)
        *next = NULL;
    if (!rest || strncmp(rest, begin, strlen(begin)))
        return remote_no_server(r, err);
    rest = pass_items(rest + strlen(begin), each, arg, &closed);
    if (!rest || strncmp(rest, middle, strlen(middle)))
        return remote_no_server(r, err);
    rest += strlen(middle);
    if (next && !closed && *rest == '"' && (end = strchr(rest + 1, '"')))
        *next = mem_printf("%.*s", (int)(end - rest - 1), rest + 1);
    return 0;
}

int remote_page(struct remote *r, struct call *q, pawl_line *each, void *arg, char **next,
                struct err *err)
{
    AUTO_REPLY a = {0};

    TRY(remote_send(r, q, &a, err));
    return remote_items(r, &a, each, arg, next, err);
}

int remote_pages(struct remote *r, struct call *q, pawl_line *each, void *arg, struct err *err)
{
    size_t first = q->target.len;
    bool queried = q->queried;
    int rc;

    for (;;) {
        AUTO_FREE char *next = NULL;

        if ((rc = remote_page(r, q, each, arg, &next, err)) || !next)
            return rc;
        q->target.len = first;
        q->target.ptr[first] = '\0';
        q->queried = queried;
        call_text(q, "cursor", next);
    }
}
