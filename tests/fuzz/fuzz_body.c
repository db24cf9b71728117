/* fuzz_body.c - the body of a request: one object, or a list of them, as the rules of an endpoint
 * say. What is accepted obeys them. */
#include "endpoints.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct endpoint one = {.body = body}, list = {.body = body, .list_body = true};
    struct request r = {.endpoint = size && data[0] == 'L' ? &list : &one};
    struct values *values;
    size_t n;

    if (size)
        buf_add(&r.body, data + 1, size - 1);
    if (body_read(&r, &values, &n)) {
        MUST_HOLD(!r.answered && (n == 1 || (r.endpoint->list_body && n <= LIST_MAX)));
        for (size_t i = 0; i < n; i++)
            check_values(&values[i]);
    } else {
        check_refused(&r);
    }
    release_request(&r);
    return 0;
}
