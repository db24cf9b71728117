/* batch.c - builds and chooses variants of a statement; see batch.h. */
#include "store/driver/postgres/batch.h"

#include "base/buf.h"

#include <stdlib.h>
#include <string.h>

/* A variant is used only for at least this many rows, because the server must plan each variant
 * once. */
#define MANY_ROWS  64
/* Each statement has at most this many variants. Turns of one kind need the same few variants; rows
 * that fit none of them use the statement itself. */
#define MAX_SHAPES 6

_Static_assert(STMT_MAX_PARAMS <= 64, "a set of parameters is one 64-bit number");

static bool is_same(const struct val *a, const struct val *b)
{
    if (a->null || b->null)
        return a->null && b->null;
    if (!a->s || !b->s)
        return a->s == b->s && a->i == b->i;
    return a->len == b->len && (a->s == b->s || !memcmp(a->s, b->s, a->len));
}

static bool is_one_value(const struct val *column, size_t nrows, size_t stride)
{
    for (size_t i = 1; i < nrows; i++)
        if (!is_same(column, column + i * stride))
            return false;
    return true;
}

/* Finds the next place where the statement unnests a parameter into a column. *param is the
 * parameter's index: 2 for "unnest($3) AS". NULL if there is none. */
static const char *next_column(const char *sql, unsigned long *param)
{
    char *end;

    while ((sql = strstr(sql, "unnest($"))) {
        *param = strtoul(sql + strlen("unnest($"), &end, 10) - 1;
        if (!strncmp(end, ") AS ", strlen(") AS ")))
            return sql;
        sql = end;
    }
    return NULL;
}

/* The set of columns whose value is equal in all rows. If that is true of all columns, one column
 * is left out of the set, because at least one array must remain to give the number of rows. */
static uint64_t find_same_columns(const struct args *a, size_t nrows)
{
    const struct stmt *stmt = a->stmt;
    const char *at = stmt->sql[DIALECT_POSTGRES];
    uint64_t all = 0, same = 0;
    unsigned long param;

    for (; (at = next_column(at, &param)); at++) {
        all |= UINT64_C(1) << param;
        if (is_one_value(&a->vals.at[param], nrows, stmt->nrows))
            same |= UINT64_C(1) << param;
    }
    return same == all ? same & (same - 1) : same;
}

static const char *build_text(struct arena *arena, const char *sql, uint64_t same)
{
    AUTO_BUF b = BUF_INIT;
    const char *at;
    unsigned long param;

    for (at = sql; (at = next_column(at, &param)); at++) {
        if (!(same >> param & 1))
            continue;
        buf_add(&b, sql, (size_t)(at - sql));
        buf_addf(&b, "$%lu", param + 1);
        sql = strchr(at, ')') + 1;
    }
    buf_addstr(&b, sql);
    return arena_strdup(arena, buf_cstr(&b));
}

static struct pg_shape *add_shape(struct pg_shapes *all, const struct stmt *stmt, uint64_t same)
{
    struct pg_shape *shape = arena_zalloc(&all->arena, sizeof(*shape));

    *shape = (struct pg_shape){
        .stmt = stmt,
        .same = same,
        .name = arena_printf(&all->arena, "%s/%llx", stmt->name, (unsigned long long)same),
        .sql = build_text(&all->arena, stmt->sql[DIALECT_POSTGRES], same)};
    *vec_add(&all->list) = shape;
    return shape;
}

struct pg_shape *pg_shape_for(struct pg_shapes *all, const struct args *a)
{
    size_t nrows = a->stmt->nrows ? args_rows(a) : 0, i, known = 0;
    struct pg_shape *best = NULL;
    uint64_t same;

    if (nrows < MANY_ROWS || !(same = find_same_columns(a, nrows)))
        return NULL;
    for (i = 0; i < all->list.n; i++) {
        struct pg_shape *s = all->list.at[i];

        if (s->stmt != a->stmt)
            continue;
        if (s->same == same)
            return s;
        known++;
        if (!(s->same & ~same) &&
            (!best || __builtin_popcountll(s->same) > __builtin_popcountll(best->same)))
            best = s;
    }
    return known < MAX_SHAPES ? add_shape(all, a->stmt, same) : best;
}

void pg_shapes_forget(struct pg_shapes *all)
{
    for (size_t i = 0; i < all->list.n; i++)
        all->list.at[i]->prepared = false;
}

void pg_shapes_release(struct pg_shapes *all)
{
    vec_release(&all->list);
    arena_release(&all->arena);
}
