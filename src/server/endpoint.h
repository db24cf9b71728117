/* endpoint.h - the table of endpoints. An endpoint names its method and path, who may use it, what
 * it accepts and what it answers. Routing, the checks of arguments and bodies, the OpenAPI document
 * and docs/API.md all read this table, so they can't disagree.
 *
 * To add an endpoint: write its function in the file of its resource, and add a line to the list
 * there.
 */
#ifndef SERVER_ENDPOINT_H
#define SERVER_ENDPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct request;

enum value_type {
    VALUE_TEXT,
    VALUE_INT,
    VALUE_BOOL,     /* true or false */
    VALUE_TIME,     /* RFC 3339 text; the value is in µs */
    VALUE_DURATION, /* text such as 30s or 5m; the value is in µs */
    VALUE_WORDS,    /* words from a list, separated by commas */
    VALUE_WORD,     /* one word from a list */
    VALUE_TEXTS,    /* as an argument: may be repeated; as a member: an array of strings */
    VALUE_OBJECT,   /* this and the following types are for members of a body only */
    VALUE_ANY,
    VALUE_MEMBERS, /* an object with the members of `of` */
    VALUE_LIST     /* an array of such objects */
};

/* An argument of the query string, or a member of a JSON body. */
struct value_rule {
    const char *name;
    enum value_type type;
    const char *text;    /* its description */
    const char *words;   /* VALUE_WORD and VALUE_WORDS: "ready|running" */
    int64_t min, max;    /* VALUE_INT: its range; VALUE_TEXT: at most `max` bytes */
    bool required;       /* the value must be given */
    bool nullable;       /* null is the same as not given; for members of a body only */
    const char *pattern; /* VALUE_TEXT: a regular expression for the documentation; the endpoint's
                            code checks it */
    const struct value_rule *of; /* the members of VALUE_MEMBERS and VALUE_LIST */
};

/* For example RULE("limit", INT, "the size of a page", .min = 1, .max = 1000). */
#define RULE(named, of_type, described, ...)                                       \
    {                                                                              \
        .name = (named), .type = VALUE_##of_type, .text = (described), __VA_ARGS__ \
    }

/* A kind of threads that carry out requests. Planes do not share threads or database handles, so
 * that slow readers delay neither submissions nor operators. */
enum plane {
    PLANE_NONE, /* the request needs no database: the thread of the connection answers it at once */
    PLANE_READ,
    PLANE_SUBMIT, /* submissions; those of batched endpoints in one transaction */
    PLANE_CONTROL,
    PLANE_HOOK, /* messages of webhooks, which anybody can send: their signature is checked here */
    PLANES
};

struct endpoint {
    const char *method;
    const char *path; /* "/v1/executions/{id}": a segment in braces matches any text */
    const char *id;   /* operationId; NULL for a page, which is not part of the API and whose
                         scripts read the query string */
    const char *text; /* a sentence for the documentation */
    unsigned scope;   /* the scope that a token needs (enum pawl_scope); 0 if open to all */
    enum plane plane;
    const struct value_rule *args; /* ends with a NULL name; NULL if none */
    const struct value_rule *body; /* ends with a NULL name; NULL if no body is accepted */
    const char *any_of;            /* members of which a body must have one: "a|b" */
    bool list_body;                /* the body may also be an array of objects that follow these
                                      rules */
    bool batched;                  /* submit_batch carries out many requests at once */
    const char *body_type;    /* media type of the body, with a * for anything; NULL for JSON, or if
                                 there is no body */
    const char *answer;       /* name of the answer's schema; "" if there is no body */
    bool page;                /* the answer is a page: {items, next} */
    const char *answer_type;  /* media type of the answer; NULL for JSON */
    const char *const *texts; /* further media types, which arguments select; ends with NULL */
    bool slow;       /* may take minutes: such requests never use all threads of their plane */
    unsigned status; /* status of an answer that reports success */
    void (*run)(struct request *r);
};

/* The resources. The endpoints of each one are a list that ends with a NULL method. */
#define RESOURCES(X) \
    X(execution)     \
    X(log)           \
    X(submit)        \
    X(control)       \
    X(event)         \
    X(schedule)      \
    X(workflow)      \
    X(bulk)          \
    X(hook)          \
    X(queue)         \
    X(setting)       \
    X(service)       \
    X(page)
#define X(name) extern const struct endpoint name##_endpoints[];
RESOURCES(X)
#undef X
extern const struct endpoint *const endpoint_lists[]; /* the lists of all resources; ends with
                                                         NULL */

#define PATH_ARGS 2

/* Finds the endpoint of a path. `args` receives copies of the segments in braces, decoded, in the
 * arena. If no endpoint has this method and path, returns NULL and sets *allowed to the methods
 * that the path has ("GET, POST"), "" if none. */
struct arena;
struct buf;
const struct endpoint *endpoint_find(const char *method, const char *path, struct arena *arena,
                                     const char *args[PATH_ARGS], struct buf *allowed);

/* Decodes %XX in place (and, in a query, + to a space). False if the result is not valid UTF-8 or
 * has NUL. */
bool percent_decode(char *s, bool query);

#endif
