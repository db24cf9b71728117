/* end.c - exit codes and sentences for the end of an execution; see end.h. */
#include "cli/end.h"

#include <string.h>

int end_exit_code(const char *status)
{
    static const struct end {
        const char *status;
        int code;
    } ends[] = {
        {"succeeded", 0}, {"failed", 1}, {"cancelled", 3}, {"skipped", 3}, {"timed_out", 4}};
    const struct end *end = FIND_NAMED(ends, status);

    return end ? end->code : -1;
}

int end_print(struct pawl *p, int64_t id, bool json, struct pawl_error *err)
{
    json_auto_t *o = NULL;
    const char *status, *error;
    char *text;

    TRY(pawl_show(p, id, &text, err));
    if (json)
        puts(text);
    o = take_object(text);
    status = field(o, "status");
    error = strcmp(field(o, "error"), status) ? field(o, "error") : "";
    fflush(stdout);
    if (end_exit_code(status))
        print_clean(stderr, "pawl: execution %lld %s%s%s", (long long)id, status,
                    *error ? ": " : "", error);
    return 0;
}
