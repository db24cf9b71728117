/* yaml.h - strict YAML: text -> an immutable tree in which every node knows its place, and typed
 * ways to read it. What is wrong goes to the problems, and reading goes on where it can.
 *
 * Scalars are those of YAML 1.2's core schema: `on`, `no` and `yes` are texts, as everything in
 * quotes is. Keys are texts. Aliases are expanded, within the bound on nodes. Refused: duplicate
 * keys, tags other than the core schema's, merge keys (<<), a second document, NUL. */
#ifndef PARSE_YAML_YAML_H
#define PARSE_YAML_YAML_H

#include "parse/diagnostics.h"

#define YAML_MAX_DEPTH 64
#define YAML_MAX_NODES 2000000

enum yaml_kind { YAML_NULL, YAML_BOOL, YAML_INT, YAML_FLOAT, YAML_TEXT, YAML_LIST, YAML_MAP };

/* Large files make millions of these. */
struct yaml {
    uint8_t kind;
    uint32_t line, column; /* from 1; of what an alias stands for: the alias's own */
    uint32_t n;            /* length of a scalar's text; else how many items or pairs */
    union {
        const char *text;         /* a scalar as it was written, without quotes; ends with NUL */
        const struct yaml *items; /* a list */
        const struct yaml_map *map;
    };
};

struct yaml_pair {
    struct yaml key, value; /* a key is a scalar */
};

struct yaml_map {
    const uint32_t *order;    /* the pairs sorted by key; NULL if there are few */
    struct yaml_pair pairs[]; /* as written */
};

struct yaml_doc {
    const struct source *source; /* lives in the problems */
    struct diagnostics *diagnostics;
    struct arena arena;
    struct yaml root; /* null at 1:1 where the file is empty */
};

/* 0: there is a tree, which may have problems; -E_INVALID: there are only problems. Release it
 * either way. */
MUST_USE int yaml_read(const struct source *source, struct diagnostics *diagnostics,
                       struct yaml_doc *out);
void yaml_release(struct yaml_doc *doc);

/* The value of a key, in O(log n); NULL if it is not there, or `map` is NULL or no mapping. */
const struct yaml *yaml_get(const struct yaml *map, const char *key);
/* The i-th pair of a mapping, as written. */
const struct yaml_pair *yaml_pair(const struct yaml *map, size_t i);

/* Adds a problem at the node. */
void yaml_error(const struct yaml_doc *doc, const struct yaml *node, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
/* Adds "what: a duration is expected, not 5"; false, so that a reader can return it. */
bool yaml_expected(const struct yaml_doc *doc, const struct yaml *node, const char *what,
                   const char *wanted);
/* "a mapping", "3.5", "'x'": for sentences. `out` holds YAML_MESSAGE_SIZE bytes. */
#define YAML_MESSAGE_SIZE 96
const char *yaml_report(const struct yaml *node, char *out);

/* Typed reading. `what` names the value in sentences. True with *out set, or false with a problem
 * added and *out as it was. */

/* Any scalar but null, as it was written: 1.10 stays 1.10. */
bool yaml_text(const struct yaml_doc *doc, const struct yaml *node, const char *what,
               const char **out);
bool yaml_bool(const struct yaml_doc *doc, const struct yaml *node, const char *what, bool *out);
bool yaml_int(const struct yaml_doc *doc, const struct yaml *node, const char *what, int64_t min,
              int64_t max, int64_t *out);
bool yaml_number(const struct yaml_doc *doc, const struct yaml *node, const char *what, double min,
                 double max, double *out);
/* 250ms 30s 5m 2h 90d, in µs. */
bool yaml_duration(const struct yaml_doc *doc, const struct yaml *node, const char *what,
                   int64_t min, int64_t max, int64_t *us);
/* Bytes: 4096, 64kB, 1MB, 2GB (powers of 1000), 64KiB, 1MiB, 2GiB (of 1024). */
bool yaml_size(const struct yaml_doc *doc, const struct yaml *node, const char *what, int64_t min,
               int64_t max, int64_t *bytes);
/* One of a list of words that ends with NULL: its index. */
bool yaml_word(const struct yaml_doc *doc, const struct yaml *node, const char *what,
               const char *const *words, int *out);

/* Items of a list; a scalar or a mapping stands for a list of itself. */
bool yaml_list(const struct yaml_doc *doc, const struct yaml *node, const char *what,
               const struct yaml **items, size_t *n);
/* The same with texts; the array ends with NULL and lives in the arena, the texts in the tree. */
bool yaml_texts(const struct yaml_doc *doc, const struct yaml *node, const char *what,
                struct arena *arena, const char *const **out, size_t *n);

/* Whether it is a mapping. */
bool yaml_is_map(const struct yaml_doc *doc, const struct yaml *node, const char *what);
/* A mapping of texts; its pairs are then read with yaml_pair: both sides are scalars. */
bool yaml_text_map(const struct yaml_doc *doc, const struct yaml *node, const char *what);
/* Whether all keys of a mapping are in the list, which ends with NULL. */
bool yaml_known_keys(const struct yaml_doc *doc, const struct yaml *map, const char *what,
                     const char *const *keys);

/* For scalars whose kind says so already. */
int64_t yaml_int_value(const struct yaml *node);
double yaml_float_value(const struct yaml *node); /* of YAML_INT, too */
bool yaml_bool_value(const struct yaml *node);

#endif
