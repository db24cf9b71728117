/* fuzz_outputs.c - the text that a task writes to $PAWL_OUTPUT. Accepted outputs are one JSON
 * object, which as a line of input gives the same outputs again. */
#include "fuzz.h"

#include "base/json.h"
#include "exec/outputs.h"

#include <jansson.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"a", "key", NULL};
    struct buf out = BUF_INIT, again = BUF_INIT, some = BUF_INIT;
    struct err err = ERR_INIT;
    json_t *all, *few, *same;

    if (outputs_parse((const char *)data, size, NULL, &out, &err)) {
        MUST_HOLD(*err.msg && !out.len);
    } else if (out.len) {
        all = json_loadb(out.ptr, out.len, JSON_ALLOW_NUL, NULL);
        MUST_HOLD(json_is_object(all));
        MUST_HOLD(json_value_depth(all) <= JSON_DEPTH_MAX);
        MUST_HOLD(json_value_depth(all) == json_depth(out.ptr, out.len));
        if (out.len <= OUTPUTS_MAX) {
            MUST_HOLD(!outputs_parse(out.ptr, out.len, NULL, &again, &err));
            same = json_loadb(again.ptr, again.len, JSON_ALLOW_NUL, NULL);
            MUST_HOLD(json_equal(same, all));
            json_decref(same);
        }
        MUST_HOLD(!outputs_parse((const char *)data, size, names, &some, &err));
        few = some.len ? json_loadb(some.ptr, some.len, JSON_ALLOW_NUL, NULL) : json_object();
        MUST_HOLD(json_object_size(few) <= 2);
        MUST_HOLD(json_equal(json_object_get(few, "key"), json_object_get(all, "key")) ||
                  !json_object_get(all, "key"));
        json_decref(few);
        json_decref(all);
    }
    buf_release(&out);
    buf_release(&again);
    buf_release(&some);
    return 0;
}
