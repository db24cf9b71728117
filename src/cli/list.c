/* list.c - prints lists of JSON objects as tables or JSON lines; see list.h. */
#include "cli/list.h"

#include <string.h>

void list_heads(struct table *t, struct list_columns columns)
{
    for (t->ncols = 0; t->ncols < columns.n; t->ncols++)
        table_add(t, columns.at[t->ncols].head);
}

static bool ends_in(const char *name, const char *end)
{
    size_t len = strlen(name);

    return len >= strlen(end) && !strcmp(name + len - strlen(end), end);
}

static void add_field(struct table *t, const json_t *o, const char *name)
{
    const json_t *value = json_object_get(o, name);
    const char *text = json_string_value(value);

    if (json_is_null(value) || !value)
        table_add(t, "-");
    else if (json_is_integer(value) && ends_in(name, "_us"))
        table_add_span(t, json_integer_value(value));
    else if (json_is_integer(value))
        table_addf(t, "%lld", (long long)json_integer_value(value));
    else if (text && ends_in(name, "_at"))
        table_addf(t, "%.10s %.8s", text, text_time_of_day(text));
    else
        table_add(t, text ? text : "");
}

void list_row(struct table *t, struct list_columns columns, const json_t *o)
{
    for (size_t i = 0; i < columns.n; i++)
        if (columns.at[i].add)
            columns.at[i].add(t, o);
        else
            add_field(t, o, columns.at[i].field);
}

int list_line(void *list, const char *json)
{
    struct list *l = list;
    json_auto_t *o = NULL;

    l->n++;
    if (l->json)
        return print_line(NULL, json);
    if (!l->table.ncols)
        list_heads(&l->table, l->columns);
    o = parse_object(json);
    list_row(&l->table, l->columns, o);
    return 0;
}

int list_end(struct list *l, int rc)
{
    if (!rc && !l->json) {
        if (!l->table.ncols)
            list_heads(&l->table, l->columns);
        table_print(&l->table);
    }
    table_release(&l->table);
    return rc;
}

void cell_status(struct table *t, const json_t *o)
{
    table_add_tinted(t, status_tint(field(o, "status")), field(o, "status"));
}

void cell_attempt(struct table *t, const json_t *o)
{
    table_addf(t, "%lld/%lld", (long long)field_int(o, "attempt"),
               (long long)field_int(o, "max_attempts"));
}

void cell_oldest_wait(struct table *t, const json_t *o)
{
    if (*field(o, "oldest_ready_at"))
        table_add_span(t, field_int(o, "oldest_wait_us"));
    else
        table_add(t, "-");
}

void add_limit(struct table *t, const json_t *o, enum tint paused, const char *separator)
{
    const json_t *limit = json_object_get(o, "limit");

    if (json_is_object(json_object_get(o, "paused")))
        table_add_tinted(t, paused, "paused");
    else if (json_is_object(limit))
        table_addf(t, "%lld%s%lld", (long long)field_int(limit, "used"), separator,
                   (long long)field_int(limit, "max"));
    else
        table_add(t, "-");
}
