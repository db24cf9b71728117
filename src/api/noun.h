/* noun.h - the JSON objects that the library returns. Each kind of object is a table of columns:
 * name, type, place in the row, description. The table is the only list of its fields: it writes
 * the JSON, and docs/JSON.md is generated from it (tests/test_json_doc.c).
 *
 * A row is any structure: a row of a query, or a structure of the file that returns the object, if
 * the object has more than the row. */
#ifndef API_NOUN_H
#define API_NOUN_H

#include "base/json.h"
#include "pawl.h"

/* The order matters to column_write: numbers, then pointers, then the rest. */
enum column_type {
    COLUMN_INT,     /* an int or int64_t, like all types up to COLUMN_WORD */
    COLUMN_ID,      /* null if it is 0, like all types up to COLUMN_WORD unless noted */
    COLUMN_OPT_INT, /* null if it is negative */
    COLUMN_TIME,    /* µs */
    COLUMN_WORKER,  /* the id of a worker, written as 16 hexadecimal digits */
    COLUMN_WORD,    /* a code whose text is word(code) */

    COLUMN_TEXT,   /* a const char *; null if it is NULL, like all types up to COLUMN_OBJECT */
    COLUMN_LANE,   /* a const char *, written up to its colon: "function" for "function:mail" */
    COLUMN_JSON,   /* a document as a const char * */
    COLUMN_VALUE,  /* a const json_t * */
    COLUMN_OBJECT, /* a pointer to a row of `noun` */

    COLUMN_BOOL,
    COLUMN_LIST,   /* a struct noun_rows of `noun` */
    COLUMN_CUSTOM, /* written by write(w, row) */
    COLUMN_LATER   /* only documented here; the caller of noun_fields writes it */
};

struct noun_rows {
    const void *at;
    size_t n, size; /* number of rows; bytes per row */
};

struct noun;
struct column {
    const char *name;
    enum column_type type;
    size_t at, size;     /* offset and size of the value in the row */
    const char *of_type; /* the type in the documentation, such as "text or null" */
    const char *(*word)(int code);
    const struct noun *noun;
    void (*write)(struct json_writer *w, const void *row);
    const char *text; /* the description; NULL if the name says it all */
};

struct noun {
    const char *heading; /* heading in docs/JSON.md; NULL if a column's text describes the noun */
    const struct column *columns;
    size_t n;
};
#define NOUN_COLUMNS(list)    (list), sizeof(list) / sizeof(*(list))

/* Macros for the columns of a table whose rows have the type ROW, used as {"id", INT(id),
 * "increases over time"}. The macros with OPT in their name are documented as "or null". */
#define ROW_PLACE(m)          offsetof(ROW, m), sizeof(((ROW *)0)->m)
#define PLAIN(type, m, of)    type, ROW_PLACE(m), of, NULL, NULL, NULL
#define INT(m)                PLAIN(COLUMN_INT, m, "number")
#define ID(m)                 PLAIN(COLUMN_ID, m, "number or null")
#define OPT_INT(m)            PLAIN(COLUMN_OPT_INT, m, "number or null")
#define BOOL(m)               PLAIN(COLUMN_BOOL, m, "true or false")
#define TIME(m)               PLAIN(COLUMN_TIME, m, "time")
#define OPT_TIME(m)           PLAIN(COLUMN_TIME, m, "time or null")
#define WORKER(m)             PLAIN(COLUMN_WORKER, m, "text")
#define OPT_WORKER(m)         PLAIN(COLUMN_WORKER, m, "text or null")
#define TEXT(m)               PLAIN(COLUMN_TEXT, m, "text")
#define OPT_TEXT(m)           PLAIN(COLUMN_TEXT, m, "text or null")
#define LANE(m, of)           PLAIN(COLUMN_LANE, m, of)
#define JSON(m, of)           PLAIN(COLUMN_JSON, m, of)
#define VALUE(m, of)          PLAIN(COLUMN_VALUE, m, of)
#define WORD(m, fn)           COLUMN_WORD, ROW_PLACE(m), "text", fn, NULL, NULL
#define OPT_WORD(m, fn)       COLUMN_WORD, ROW_PLACE(m), "text or null", fn, NULL, NULL
#define ROWS(type, m, of, by) type, ROW_PLACE(m), of, NULL, &(by), NULL
#define OBJECT(m, by)         ROWS(COLUMN_OBJECT, m, "object", by)
#define OPT_OBJECT(m, by)     ROWS(COLUMN_OBJECT, m, "object or null", by)
#define LIST(m, by)           ROWS(COLUMN_LIST, m, "array", by)
#define CUSTOM(fn, of)        COLUMN_CUSTOM, 0, 0, of, NULL, NULL, fn
#define LATER(of)             COLUMN_LATER, 0, 0, of, NULL, NULL, NULL

/* Writes the fields of a row, without the braces around them. */
void noun_fields(struct json_writer *w, const struct noun *noun, const void *row);
void noun_write(struct json_writer *w, const struct noun *noun, const void *row);
/* Returns the row as a document; the caller frees it. */
char *noun_text(const struct noun *noun, const void *row);
/* Writes one value as the table says for its column. */
void column_write(struct json_writer *w, const struct column *c, const void *row);

/* Passes rows to the caller's function `each`, one JSON document per row. */
struct lines {
    pawl_line *each;
    void *arg;
    struct buf line;
    bool closed; /* the caller's function wants no more lines */
};
#define AUTO_LINES AUTO(lines_release) struct lines
void lines_add(struct lines *l, const struct noun *noun, const void *row);
void lines_release(struct lines *l);

/* All nouns that have a table in docs/JSON.md, in its order; ends with NULL. */
extern const struct noun *const nouns[];

#endif
