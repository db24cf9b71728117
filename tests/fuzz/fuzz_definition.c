/* fuzz_definition.c - stored definitions: canonical JSON. A definition that was read can be
 * written, and is read back unchanged, with the hash of the written text. (A text that spells out
 * default values, as one of another version may, is accepted, too.) */
#include "fuzz.h"

#include "core/workflow/model.h"

static void round_trip(const struct workflow *w)
{
    struct buf text = BUF_INIT, again = BUF_INIT;
    struct arena arena = ARENA_INIT;
    const struct workflow *copy;
    struct err err = ERR_INIT;
    char hash[WORKFLOW_HASH_SIZE];

    workflow_write(w, &text);
    MUST_HOLD(!workflow_read(text.ptr, text.len, &arena, &copy, &err));
    workflow_write(copy, &again);
    MUST_HOLD(text.len == again.len && !memcmp(text.ptr, again.ptr, text.len));
    workflow_hash(text.ptr, text.len, hash);
    MUST_HOLD(!strcmp(hash, copy->hash));
    arena_release(&arena);
    buf_release(&text);
    buf_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = ARENA_INIT;
    const struct workflow *w;
    struct err err = ERR_INIT;
    int rc = workflow_read((const char *)data, size, &arena, &w, &err);

    MUST_HOLD(rc == 0 || rc == -E_INVALID);
    if (rc)
        MUST_HOLD(*err.msg);
    else
        round_trip(w);
    arena_release(&arena);
    return 0;
}
