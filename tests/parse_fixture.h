/* parse_fixture.h - workflow files in a test: either any error fails the test, or the diagnostics
 * are the result. */
#ifndef TESTS_PARSE_FIXTURE_H
#define TESTS_PARSE_FIXTURE_H

#include "harness.h"

#include "base/buf.h"
#include "parse/workflow/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(list) (sizeof(list) / sizeof(*(list)))

/* Writes a file in the test's folder. */
static inline void write_file(const char *name, const char *text)
{
    char path[512];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", test_dir(), name);
    f = fopen(path, "we");
    CHECK(f);
    fputs(text, f);
    CHECK_EQ(fclose(f), 0);
}

/* ---- valid files ---- */

struct fixture {
    struct arena arena;
    const struct workflow *w;
};

static inline struct fixture parse_bytes(const char *text, size_t len)
{
    struct diagnostics diagnostics = DIAGNOSTICS_INIT;
    struct fixture f = {.w = NULL};
    struct buf shown = BUF_INIT;
    struct err err = ERR_INIT;
    int rc = workflow_parse(diagnostics_take(&diagnostics, "f.flow.yaml", text, len), "/somewhere",
                            &diagnostics, &f.arena, &f.w, &err);

    diagnostics_show(&diagnostics, &shown);
    if (rc)
        test_fail(__FILE__, __LINE__, "%s\n%s", text, buf_cstr(&shown));
    buf_release(&shown);
    diagnostics_release(&diagnostics);
    return f;
}

static inline struct fixture parse(const char *text)
{
    return parse_bytes(text, strlen(text));
}

static inline struct fixture load(const char *path)
{
    struct diagnostics diagnostics = DIAGNOSTICS_INIT;
    struct fixture f = {.w = NULL};
    struct buf shown = BUF_INIT;
    struct err err = ERR_INIT;
    int rc = workflow_load(path, &diagnostics, &f.arena, &f.w, &err);

    diagnostics_show(&diagnostics, &shown);
    if (rc)
        test_fail(__FILE__, __LINE__, "%s\n%s", err.msg, buf_cstr(&shown));
    buf_release(&shown);
    diagnostics_release(&diagnostics);
    return f;
}

static inline void done(struct fixture *f)
{
    arena_release(&f->arena);
}

static inline const struct workflow_task *task(const struct fixture *f, const char *name)
{
    const struct workflow_task *t = workflow_task(f->w, name);

    if (!t)
        test_fail(__FILE__, __LINE__, "there is no task %s", name);
    return t;
}

/* The canonical text; the caller frees it. */
static inline char *text_of(const struct workflow *w)
{
    struct buf b = BUF_INIT;

    workflow_write(w, &b);
    return b.ptr;
}

/* The canonical text is read back as an equal workflow and written as the same text. */
static inline void check_inverse(const struct workflow *w)
{
    char *text = text_of(w), *again;
    struct arena arena = ARENA_INIT;
    const struct workflow *back;
    char hash[WORKFLOW_HASH_SIZE];
    struct err err = ERR_INIT;

    CHECK_OK_ERR(workflow_read(text, strlen(text), &arena, &back, &err), &err);
    again = text_of(back);
    CHECK_STR(again, text);
    CHECK_STR(back->hash, w->hash);
    workflow_hash(text, strlen(text), hash);
    CHECK_STR(hash, w->hash);
    free(again);
    free(text);
    arena_release(&arena);
}

static inline void check_text(const char *yaml, const char *canonical)
{
    struct fixture f = parse(yaml);
    char *text = text_of(f.w);

    CHECK_STR(text, canonical);
    free(text);
    check_inverse(f.w);
    done(&f);
}

#define HEAD                                                              \
    "{\"name\":\"f\",\"file\":\"f.flow.yaml\",\"folder\":\"/somewhere\"," \
    "\"shell\":[\"/bin/sh\",\"-e\"],"

/* ---- invalid files ---- */

/* "line:column: message" of all diagnostics in order, one per line; "" if there are none. */
static inline char *diagnostics_of(const char *text, size_t len)
{
    struct diagnostics diagnostics = DIAGNOSTICS_INIT;
    struct arena arena = ARENA_INIT;
    struct buf all = BUF_INIT;
    const struct workflow *w = NULL;
    struct err err = ERR_INIT;
    int rc = workflow_parse(diagnostics_take(&diagnostics, "f.flow.yaml", text, len), test_dir(),
                            &diagnostics, &arena, &w, &err);
    size_t i;

    CHECK_EQ(!rc, !diagnostics.count);
    CHECK_EQ(!rc, !!w);
    CHECK(!rc || rc == -E_INVALID);
    for (i = 0; i < diagnostics.list.n; i++) {
        const struct diagnostic *p = &diagnostics.list.at[i];

        buf_addf(&all, "%s%u:%u: %s", i ? "\n" : "", p->line, p->column, p->sentence);
    }
    arena_release(&arena);
    diagnostics_release(&diagnostics);
    buf_addstr(&all, "");
    return all.ptr;
}

struct bad {
    const char *text, *message;
};

/* A * at the end of `wanted` stands for text that a library wrote. */
static inline bool message_matches(const char *message, const char *wanted)
{
    size_t n = strlen(wanted);

    return n && wanted[n - 1] == '*' ? !strncmp(message, wanted, n - 1) : !strcmp(message, wanted);
}

static inline void check_all(const struct bad *list, size_t n)
{
    size_t i;

    for (i = 0; i < n; i++) {
        char *message = diagnostics_of(list[i].text, strlen(list[i].text));

        if (!message_matches(message, list[i].message))
            test_fail(__FILE__, __LINE__, "%s\nsays:\n%s\nnot:\n%s", list[i].text, message,
                      list[i].message);
        free(message);
    }
}

#define T "tasks: {a: x}\n" /* a valid task, for tests about something else */

#endif
