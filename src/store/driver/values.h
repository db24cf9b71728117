/* values.h - statements, their parameters, and the rows that they return. Parameters are passed as
 * plain C expressions, and columns are read into plain C variables; the compiler selects each
 * conversion by type. A driver refuses a value that is not of the type that the statement
 * declares. */
#ifndef STORE_DRIVER_VALUES_H
#define STORE_DRIVER_VALUES_H

#include "base/idmap.h"
#include "base/mem.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum dialect { DIALECT_SQLITE, DIALECT_POSTGRES, DIALECT_COUNT };

/* The types of parameters and columns. i64, i32 and i16 differ only in the type that is declared to
 * PostgreSQL. A time is µs since 1970 everywhere in C, and timestamptz on PostgreSQL; the driver
 * converts it. */
enum db_type { T_I64 = 1, T_I32, T_I16, T_TEXT, T_TIME, T_BYTES, T_TID };

#define STMT_MAX_PARAMS 40

/* A named statement of the .sql files. Scalar parameters come first ($1 … $nscalars); the row
 * parameters follow and have one value per row. PostgreSQL gets the row parameters as arrays, in
 * one execution. SQLite runs the statement once per row, and the returned rows are concatenated in
 * order; but an INSERT (is_insert) may insert several rows at a time. nrows is 0 if the statement
 * has no row parameters. */
struct stmt {
    const char *name;
    const char *sql[DIALECT_COUNT];
    unsigned char nscalars, nrows;
    /* The SQLite text ends with VALUES (?1, …), and the statement has no scalar parameters. */
    bool is_insert;
    /* Enum db_type of the scalars, then of the row parameters. */
    unsigned char types[STMT_MAX_PARAMS];
};
#include "statements.h" /* enum stmt_id, which tools/sqlgen.awk generates */
extern const struct stmt statements[Q_COUNT];

/* One value of a parameter or a result. The text is borrowed; in results it is NUL-terminated. */
struct val {
    int64_t i;     /* value of a number or time */
    const char *s; /* value of a text or of bytes; otherwise NULL */
    uint32_t len;  /* the length of s in bytes */
    bool null;
};

/* ---- parameters ---- */

#define VALS_END UINT32_MAX /* as the length of a value: marks the end of a list */

/* The functions below are inline because a turn makes some dozens of values for each row that it
 * writes. */
static inline struct val val_int(int64_t n)
{
    return (struct val){.i = n};
}
static inline struct val val_size(size_t n)
{
    return (struct val){.i = (int64_t)n};
}
static inline struct val val_or_null(int64_t n) /* 0 stands for null, for ids and times */
{
    return (struct val){.i = n, .null = n == 0};
}
static inline struct val val_bytes(const void *p, size_t len)
{
    assert(len < VALS_END);
    return (struct val){.s = p, .len = (uint32_t)len, .null = !p};
}
static inline struct val val_text(const char *s) /* NULL stands for null */
{
    return val_bytes(s, s ? strlen(s) : 0);
}
static inline struct val val_copy(struct val v)
{
    return v;
}
/* Sets *to member by member. Building the value in a temporary variable and copying it would stall
 * the processor, because the copy loads more bytes at once than any one store has written. */
static inline void val_put(struct val *to, struct val v)
{
    to->i = v.i;
    to->s = v.s;
    to->len = v.len;
    to->null = v.null;
}
#define VAL_NULL ((struct val){.null = true})
#define VAL(x) \
    _Generic((x), char *               \
             : val_text, const char *  \
             : val_text, struct val    \
             : val_copy, size_t        \
             : val_size, default       \
             : val_int)(x)

/* MAP(f, a, b, …) expands to f(a), f(b), … for at most 40 arguments. */
#define MAP(f, ...)         __VA_OPT__(MAP_3(MAP_NEXT(f, __VA_ARGS__)))
#define MAP_3(...)          MAP_2(MAP_2(MAP_2(MAP_2(__VA_ARGS__))))
#define MAP_2(...)          MAP_1(MAP_1(MAP_1(MAP_1(__VA_ARGS__))))
#define MAP_1(...)          MAP_0(MAP_0(MAP_0(__VA_ARGS__)))
#define MAP_0(...)          __VA_ARGS__
#define MAP_NEXT(f, x, ...) f(x) __VA_OPT__(, MAP_AGAIN MAP_PARENS(f, __VA_ARGS__))
#define MAP_AGAIN()         MAP_NEXT
#define MAP_PARENS          ()

#define VALS(...)           ((const struct val[]){MAP(VAL, __VA_ARGS__) __VA_OPT__(, ){.len = VALS_END}})

/* The arguments of one execution of a statement, pushed in this order: scalars, then row by row.
 * Texts are borrowed until the statement is flushed. */
struct args {
    const struct stmt *stmt;
    VEC(struct val) vals;
};
#define ARGS_INIT \
    {             \
        0         \
    }
#define AUTO_ARGS             AUTO(args_release) struct args

/* args_begin(a, q, scalars…) drops earlier values, so that `a` may be reused; args_row(a, values…)
 * adds the values of a row, or some of them. */
#define args_begin(a, q, ...) args_begin_vals(a, q, VALS(__VA_ARGS__))
#define args_row(a, ...)                                         \
    do {                                                         \
        struct val *to_ = args_room(a, VALS_COUNT(__VA_ARGS__)); \
        MAP(ARGS_PUT, __VA_ARGS__);                              \
    } while (0)
#define ARGS_PUT(x)     val_put(to_++, VAL(x))
#define VALS_COUNT(...) (sizeof(VALS(__VA_ARGS__)) / sizeof(struct val) - 1)
void args_begin_vals(struct args *a, enum stmt_id q, const struct val *vals);
void args_add(struct args *a, const struct val *vals);
void args_grow(struct args *a, size_t n);
/* Returns room for n further values, which the caller must set before it adds others. */
static inline struct val *args_room(struct args *a, size_t n)
{
    if (a->vals.cap - a->vals.n < n)
        args_grow(a, n);
    a->vals.n += n;
    return &a->vals.at[a->vals.n - n];
}
#define args_int(a, n)         args_row(a, (int64_t)(n))
#define args_int_or_null(a, n) args_row(a, val_or_null(n))
#define args_text(a, s)        args_row(a, val_text(s))
#define args_bytes(a, p, len)  args_row(a, val_bytes(p, len))
#define args_null(a)           args_row(a, VAL_NULL)
void args_ids(struct args *a, const int64_t *ids, size_t n); /* adds one row per id */
/* The number of rows pushed so far; asserts that the last row is complete. */
size_t args_rows(const struct args *a);
void args_release(struct args *a);

/* ---- rows ---- */

/* The rows of a result, read completely. Texts live until rows_release. */
struct rows {
    size_t n, ncols;
    struct val *cells; /* n * ncols cells, row by row */
    struct arena arena;
    void *own; /* memory of the driver that texts point to; NULL if they are in the arena */
    void (*free_own)(void *own);
};
#define ROWS_INIT \
    {             \
        0         \
    }
#define AUTO_ROWS AUTO(rows_release) struct rows

int64_t rows_int(const struct rows *r, size_t row, size_t col);      /* null is read as 0 */
const char *rows_text(const struct rows *r, size_t row, size_t col); /* null is read as NULL */
bool rows_null(const struct rows *r, size_t row, size_t col);
const struct val *rows_cells(const struct rows *r, size_t row); /* returns the cells of a row */
/* Maps the number in the first column of each row to the cells of that row. */
void rows_index(const struct rows *r, struct idmap *out);
void rows_release(struct rows *r);

/* rows_read(r, row, col, arena, &a, &b, …) reads the columns from col on into variables. Null is
 * read as 0 and NULL. Texts are copied into the arena; if that is NULL they are borrowed. */
struct val_out {
    enum { OUT_END, OUT_I64, OUT_INT, OUT_BOOL, OUT_TEXT } type;
    void *p;
};
#define OUT(x)                                           \
    {                                                    \
        _Generic((x), int64_t *                        \
                 : OUT_I64, int *                      \
                 : OUT_INT, bool *                     \
                 : OUT_BOOL, const char **             \
                 : OUT_TEXT), x \
    }
#define INTO(...)                          ((const struct val_out[]){MAP(OUT, __VA_ARGS__), {0}})
#define rows_read(r, row, col, arena, ...) rows_read_into(r, row, col, arena, INTO(__VA_ARGS__))
void rows_read_into(const struct rows *r, size_t row, size_t col, struct arena *arena,
                    const struct val_out *out);

#endif
