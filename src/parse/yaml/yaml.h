/* yaml.h - a strict YAML reader: it turns a source into an immutable tree whose nodes have
 * locations, and reads typed values from it. Errors are added to the diagnostics, and reading
 * continues where possible.
 *
 * Scalars follow the core schema of YAML 1.2: `on`, `no` and `yes` are strings, as is everything in
 * quotes. Keys are strings. Aliases are expanded, within YAML_MAX_NODES. Not allowed: duplicate
 * keys, tags other than those of the core schema, merge keys (<<), a second document, NUL. */
#ifndef PARSE_YAML_YAML_H
#define PARSE_YAML_YAML_H

#include "parse/diagnostics.h"

#define YAML_MAX_DEPTH 64
#define YAML_MAX_NODES 2000000

enum yaml_kind { YAML_NULL, YAML_BOOL, YAML_INT, YAML_FLOAT, YAML_TEXT, YAML_LIST, YAML_MAP };

/* A node of the tree. It is kept small, because a large file has millions of nodes. */
struct yaml {
    uint8_t kind;
    /* Location, from 1; a node inserted by an alias has the location of the alias. */
    uint32_t line, column;
    uint32_t n; /* length of a scalar's text, otherwise the number of items or pairs */
    union {
        const char *text;         /* a scalar as written, without quotes; ends with NUL */
        const struct yaml *items; /* a list */
        const struct yaml_map *map;
    };
};

struct yaml_pair {
    struct yaml key, value; /* the key is always a scalar */
};

struct yaml_map {
    /* Indexes of the pairs, sorted by key; NULL if the mapping has few pairs. */
    const uint32_t *order;
    struct yaml_pair pairs[]; /* in the order of the file */
};

struct yaml_doc {
    const struct source *source; /* belongs to the diagnostics */
    struct diagnostics *diagnostics;
    struct arena arena;
    struct yaml root; /* null, on line 1 in column 1, if the file is empty */
};

/* Reads a document. Returns 0 with a tree, possibly with diagnostics, or -E_INVALID with
 * diagnostics and no tree. The caller releases the document in both cases. */
MUST_USE int yaml_read(const struct source *source, struct diagnostics *diagnostics,
                       struct yaml_doc *out);
void yaml_release(struct yaml_doc *doc);

/* The value of a key, in O(log n); NULL if the key is not found, or if `map` is NULL or not a
 * mapping. */
const struct yaml *yaml_get(const struct yaml *map, const char *key);
/* The i-th pair of a mapping, in the order of the file. */
const struct yaml_pair *yaml_pair(const struct yaml *map, size_t i);

/* Adds a diagnostic at the node. Returns false, so that callers can return it. */
bool yaml_error(const struct yaml_doc *doc, const struct yaml *node, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
/* Adds a diagnostic such as "what: a duration is expected, not 5". The format describes the
 * expected value. */
bool yaml_expected(const struct yaml_doc *doc, const struct yaml *node, const char *what,
                   const char *fmt, ...) PRINTF_LIKE(4, 5);
/* Describes a node for messages: "a mapping", "3.5", "'x'". `out` has YAML_MESSAGE_SIZE bytes. */
#define YAML_MESSAGE_SIZE 96
const char *yaml_report(const struct yaml *node, char *out);

/* The functions below read a value of a certain type. `what` names the value in messages. Each
 * function sets *out and returns true, or adds a diagnostic and returns false with *out
 * unchanged. */

/* Reads any scalar except null as it is written: 1.10 stays 1.10. */
bool yaml_text(const struct yaml_doc *doc, const struct yaml *node, const char *what,
               const char **out);
bool yaml_bool(const struct yaml_doc *doc, const struct yaml *node, const char *what, bool *out);
bool yaml_int(const struct yaml_doc *doc, const struct yaml *node, const char *what, int64_t min,
              int64_t max, int64_t *out);
bool yaml_number(const struct yaml_doc *doc, const struct yaml *node, const char *what, double min,
                 double max, double *out);
/* Reads a duration, such as 250ms, 30s, 5m, 2h or 90d, in µs. */
bool yaml_duration(const struct yaml_doc *doc, const struct yaml *node, const char *what,
                   int64_t min, int64_t max, int64_t *us);
/* Reads a size in bytes: 4096, 64kB, 1MB, 2GB (powers of 1000), 64KiB, 1MiB, 2GiB (powers of
 * 1024). */
bool yaml_size(const struct yaml_doc *doc, const struct yaml *node, const char *what, int64_t min,
               int64_t max, int64_t *bytes);
/* Reads a word; *out is its index in a list of words that ends with NULL. */
bool yaml_word(const struct yaml_doc *doc, const struct yaml *node, const char *what,
               const char *const *words, int *out);

/* Reads the items of a list. A scalar or a mapping is read as a list with one item. */
bool yaml_list(const struct yaml_doc *doc, const struct yaml *node, const char *what,
               const struct yaml **items, size_t *n);

/* Checks that the node is a mapping. */
bool yaml_is_map(const struct yaml_doc *doc, const struct yaml *node, const char *what);

/* The value of a scalar whose kind has been checked. */
int64_t yaml_int_value(const struct yaml *node);
double yaml_float_value(const struct yaml *node); /* also for a node of kind YAML_INT */
bool yaml_bool_value(const struct yaml *node);

#endif
