/* yaml_fixture.h - YAML read for a test, with its diagnostics. */
#ifndef TESTS_YAML_FIXTURE_H
#define TESTS_YAML_FIXTURE_H

#include "harness.h"

#include "parse/yaml/yaml.h"

#include <stdlib.h>
#include <string.h>

#define COUNT(list) (sizeof(list) / sizeof(*(list)))

/* A document and its diagnostics. */
struct reading {
    struct diagnostics diagnostics;
    struct yaml_doc doc;
    struct buf shown;
    int rc;
};

static inline struct reading *read_bytes(const char *text, size_t len)
{
    struct reading *r = mem_zalloc(sizeof(*r));

    r->rc =
        yaml_read(diagnostics_take(&r->diagnostics, "f.yaml", text, len), &r->diagnostics, &r->doc);
    return r;
}

static inline struct reading *read_text(const char *text)
{
    return read_bytes(text, strlen(text));
}

static inline struct reading *read_good(const char *text)
{
    struct reading *r = read_text(text);
    struct err err = ERR_INIT;

    CHECK_OK_ERR(diagnostics_err(&r->diagnostics, &err), &err);
    CHECK_OK(r->rc);
    return r;
}

static inline void done(struct reading *r)
{
    yaml_release(&r->doc);
    diagnostics_release(&r->diagnostics);
    buf_release(&r->shown);
    free(r);
}

/* "line:column: message" of all diagnostics in order, one per line. */
static inline const char *diagnostics_text(struct reading *r)
{
    size_t i;

    buf_reset(&r->shown);
    diagnostics_show(&r->diagnostics, &r->shown); /* sorts them */
    buf_reset(&r->shown);
    for (i = 0; i < r->diagnostics.list.n; i++) {
        const struct diagnostic *p = &r->diagnostics.list.at[i];

        buf_addf(&r->shown, "%s%u:%u: %s", i ? "\n" : "", p->line, p->column, p->sentence);
    }
    return buf_cstr(&r->shown);
}

#endif
