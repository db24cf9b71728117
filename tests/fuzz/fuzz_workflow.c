/* fuzz_workflow.c - any bytes as a workflow file.
 *
 * Besides memory errors and undefined behaviour it looks for a definition that is not read back as
 * it was written, or that has a cycle, and for a diagnostic that can't be shown. */
#include "fuzz.h"

#include "base/text.h"
#include "parse/render/graph.h"
#include "parse/workflow/file.h"

static void draw(const struct workflow *w)
{
    struct buf b = BUF_INIT;

    graph_render(w, NULL, GRAPH_FORMAT_ASCII, 80, &b);
    graph_render(w, NULL, GRAPH_FORMAT_DOT, 80, &b);
    graph_render(w, NULL, GRAPH_FORMAT_MERMAID, 80, &b);
    graph_render(w, NULL, GRAPH_FORMAT_SVG, 80, &b);
    if (!text_is_utf8(b.ptr, b.len))
        abort();
    buf_release(&b);
}

/* Every accepted definition is written, read again, and written as the same text. */
static void check(const struct workflow *w)
{
    uint32_t *order = mem_alloc((w->ntasks + 1) * sizeof(*order)), n;
    struct buf text = BUF_INIT, again = BUF_INIT;
    struct arena arena = ARENA_INIT;
    const struct workflow *back;
    struct err err;
    char hash[WORKFLOW_HASH_SIZE];

    workflow_write(w, &text);
    if (!workflow_order(w, order, &n) || !text_is_utf8(text.ptr, text.len) ||
        workflow_read(text.ptr, text.len, &arena, &back, &err))
        abort();
    workflow_write(back, &again);
    MUST_HOLD(!strcmp(text.ptr, again.ptr));
    workflow_hash(text.ptr, text.len, hash);
    MUST_HOLD(!strcmp(w->hash, hash) && !strcmp(back->hash, hash));
    draw(w);
    arena_release(&arena);
    buf_release(&again);
    buf_release(&text);
    free(order);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct diagnostics diagnostics = DIAGNOSTICS_INIT;
    struct arena arena = ARENA_INIT;
    struct buf shown = BUF_INIT;
    const struct workflow *w = NULL;
    struct err err = ERR_INIT;
    int rc = workflow_parse(diagnostics_take(&diagnostics, "f.yaml", (const char *)data, size),
                            NULL, &diagnostics, &arena, &w, &err);

    MUST_HOLD(!rc == !!w);
    fuzz_diagnostics(&diagnostics, rc, &err);
    diagnostics_show(&diagnostics, &shown);
    if (shown.len && !text_is_utf8(shown.ptr, shown.len))
        abort();
    if (!rc)
        check(w);
    buf_release(&shown);
    arena_release(&arena);
    diagnostics_release(&diagnostics);
    return 0;
}
