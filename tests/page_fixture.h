/* page_fixture.h - a page of docs/ that is generated from the code. PAWL_WRITE_DOCS=1 writes the
 * page before it is compared. */
#ifndef TESTS_PAGE_FIXTURE_H
#define TESTS_PAGE_FIXTURE_H

#include "base/buf.h"
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void read_page(const char *path, struct buf *b)
{
    FILE *f = fopen(path, "re");
    char chunk[4096];
    size_t n;

    if (!f)
        test_fail(__FILE__, __LINE__, "can't read %s: run this in the project's folder", path);
    while ((n = fread(chunk, 1, sizeof(chunk), f)) > 0)
        buf_add(b, chunk, n);
    fclose(f);
}

static inline void write_page(const char *path, const char *text)
{
    FILE *f = fopen(path, "we");

    CHECK(f);
    CHECK(fputs(text, f) >= 0);
    CHECK_EQ(fclose(f), 0);
}

/* Reports the first difference; `program` is the test that writes the page. */
static inline void check_page(const char *path, const char *expected, const char *program)
{
    struct buf b = BUF_INIT;
    const char *found;
    int line = 1;

    if (getenv("PAWL_WRITE_DOCS"))
        write_page(path, expected);
    read_page(path, &b);
    for (found = buf_cstr(&b); *found && *found == *expected; found++, expected++)
        line += *found == '\n';
    if (*found != *expected)
        test_fail(__FILE__, __LINE__,
                  "%s differs from the code at line %d: run PAWL_WRITE_DOCS=1 build/tests/%s\n"
                  "    file: %.60s\n    code: %.60s",
                  path, line, program, found, expected);
    buf_release(&b);
}

#endif
