/* list.h - prints lists of JSON objects as tables. Each column of a list is described by data: a
 * heading, and the field that is shown below it. */
#ifndef CLI_LIST_H
#define CLI_LIST_H

#include "cli/table.h"

/* A column. Without `add`, a cell shows the field, formatted by its name: as a duration if it ends
 * in _us, as a time if it ends in _at; null as "-". */
struct list_column {
    const char *head; /* as in table.h */
    const char *field;
    void (*add)(struct table *t, const json_t *o);
};
struct list_columns {
    const struct list_column *at;
    size_t n;
};
#define LIST_COLUMNS(list) ((struct list_columns){(list), sizeof(list) / sizeof(*(list))})

void list_heads(struct table *t, struct list_columns columns);
void list_row(struct table *t, struct list_columns columns, const json_t *o);

/* A list that is printed when it is complete, or with `json` as JSON lines. */
struct list {
    struct list_columns columns;
    bool json;
    struct table table;
    int64_t n; /* number of lines so far */
};
int list_line(void *list, const char *json); /* a pawl_line */
/* Prints the table if rc, the result of the call that filled it, is 0, and releases it. Returns rc.
 * The list may be filled again. */
MUST_USE int list_end(struct list *l, int rc);

/* Functions that add a cell. */
void cell_status(struct table *t, const json_t *o);      /* "status", tinted */
void cell_oldest_wait(struct table *t, const json_t *o); /* for queues */
/* Adds "paused" for a paused queue, else its limit as USED, a separator and MAX. */
void add_limit(struct table *t, const json_t *o, enum tint paused, const char *separator);
void cell_attempt(struct table *t, const json_t *o); /* "1/3" */

#endif
