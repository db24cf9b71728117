/* list.h - lists of JSON objects as tables. The columns of a list are data: a heading, and the
 * field that is shown below it. */
#ifndef CLI_LIST_H
#define CLI_LIST_H

#include "cli/table.h"

/* Without `add` a cell shows the field: a name that ends in _us as a duration, one that ends in _at
 * as a time, null as "-". */
struct list_column {
    const char *head; /* as in table.h */
    const char *field;
    void (*add)(struct table *t, const json_t *o, const void *arg);
};
struct list_columns {
    const struct list_column *at;
    size_t n;
    const void *arg; /* for `add` */
};
#define LIST_COLUMNS(list) ((struct list_columns){(list), sizeof(list) / sizeof(*(list)), NULL})

void list_heads(struct table *t, struct list_columns columns);
void list_row(struct table *t, struct list_columns columns, const json_t *o);

/* A list that is printed when it is complete, or with `json` as JSON lines. */
struct list {
    struct list_columns columns;
    bool json;
    struct table table;
    int64_t n; /* lines so far */
};
int list_line(void *list, const char *json); /* a pawl_line */
/* Prints and releases the table or, if rc is not 0, prints the error. Returns the exit code. The
 * list may be filled again. */
int list_end(struct list *l, int rc, const struct pawl_error *err);

/* Cells. */
void cell_status(struct table *t, const json_t *o, const void *arg);      /* "status", tinted */
void cell_oldest_wait(struct table *t, const json_t *o, const void *arg); /* of a queue */
void cell_attempt(struct table *t, const json_t *o, const void *arg);     /* "1/3" */

#endif
