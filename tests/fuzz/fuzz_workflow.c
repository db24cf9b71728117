/* fuzz_workflow.c - any bytes as a workflow file, and as the canonical text of one.
 *
 *   clang -std=c11 -D_GNU_SOURCE -Isrc -g -O1 -fsanitize=fuzzer,address,undefined \
 *       -fno-sanitize-recover=all -o /tmp/fuzz_workflow tests/fuzz/fuzz_workflow.c \
 *       src/flow/[a-z]*.c src/core/[a-z]*.c src/base/[a-z]*.c -lyaml -ljansson -lsodium -lm
 *   mkdir -p /tmp/corpus && cp examples/*.flow.yaml /tmp/corpus
 *   /tmp/fuzz_workflow -max_total_time=60 -max_len=4096 /tmp/corpus
 *
 * Beside memory errors and undefined behaviour it looks for a definition that is not read back as
 * what was written, or that has a circle, and for a problem that can't be shown. */
#include "base/text.h"
#include "flow/picture.h"
#include "flow/workflow.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void draw(const struct workflow *w)
{
    struct buf b = BUF_INIT;

    picture_write(w, PICTURE_ASCII, 80, &b);
    picture_write(w, PICTURE_DOT, 80, &b);
    picture_write(w, PICTURE_MERMAID, 80, &b);
    if (!text_is_utf8(b.ptr, b.len))
        abort();
    buf_release(&b);
}

/* What any reader accepts is written, read again, and written as the same. */
static void check(const struct workflow *w)
{
    uint32_t *order = mem_alloc((w->ntasks + 1) * sizeof(*order)), n;
    struct buf text = BUF_INIT, again = BUF_INIT;
    struct arena arena = ARENA_INIT;
    const struct workflow *back;
    struct err err;

    workflow_write(w, &text);
    if (!workflow_order(w, order, &n) || !text_is_utf8(text.ptr, text.len) ||
        workflow_read(text.ptr, text.len, &arena, &back, &err))
        abort();
    workflow_write(back, &again);
    if (strcmp(text.ptr, again.ptr) != 0)
        abort();
    draw(w);
    arena_release(&arena);
    buf_release(&again);
    buf_release(&text);
    free(order);
}

static void try_file(const uint8_t *data, size_t size)
{
    struct problems problems = PROBLEMS_INIT;
    struct arena arena = ARENA_INIT;
    struct buf shown = BUF_INIT;
    const struct workflow *w = NULL;
    struct err err = ERR_INIT;
    int rc = workflow_parse(problems_take(&problems, "fuzz.yaml", (const char *)data, size), NULL,
                            &problems, &arena, &w, &err);

    if (!rc != !problems.count || !rc != !!w)
        abort();
    problems_show(&problems, &shown);
    if (shown.len && !text_is_utf8(shown.ptr, shown.len))
        abort();
    if (!rc)
        check(w);
    buf_release(&shown);
    arena_release(&arena);
    problems_release(&problems);
}

static void try_text(const uint8_t *data, size_t size)
{
    struct arena arena = ARENA_INIT;
    const struct workflow *w = NULL;
    struct err err = ERR_INIT;
    int rc = workflow_read((const char *)data, size, &arena, &w, &err);

    if (!rc != !!w || (rc && !err.msg[0]))
        abort();
    if (!rc)
        check(w);
    arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size && data[0] == '{')
        try_text(data, size);
    try_file(data, size);
    return 0;
}
