/* statement_fixture.h - statements of tests that are not in src/store/sql. */
#ifndef TESTS_STATEMENT_FIXTURE_H
#define TESTS_STATEMENT_FIXTURE_H

#include "store/driver/db.h"

#define STMT_FOR(dialect, var, text, scalars, rows, ...) \
    static const struct stmt var = {                     \
        .name = #var,                                    \
        .sql = {[dialect] = text},                       \
        .nscalars = scalars,                             \
        .nrows = rows,                                   \
        .types = {__VA_ARGS__},                          \
    }

#endif
