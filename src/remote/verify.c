/* verify.c - the check of all invariants, which the server carries out. */
#include "base/text.h"
#include "remote/call.h"

static int64_t member(const json_t *o, const char *key)
{
    return json_integer_value(json_object_get(o, key));
}

static void report(const struct pawl_verify_options *o, const json_t *violation)
{
    const char *invariant = json_string_value(json_object_get(violation, "invariant"));
    const char *detail = json_string_value(json_object_get(violation, "detail"));

    if (o->violation && invariant && detail)
        o->violation(o->arg, invariant, member(violation, "execution"), detail);
}

int remote_verify(struct remote *r, const struct pawl_verify_options *o,
                  struct pawl_verify_result *out, struct err *err)
{
    char lease[DURATION_TEXT_SIZE];
    AUTO_CALL q = {0};
    json_auto_t *answer = NULL;
    json_t *items, *violation;
    size_t i;

    call_path(&q, "/v1/verify");
    call_text(&q, "lease", o->lease ? text_exact_duration(o->lease, lease) : NULL);
    TRY(remote_ask(r, &q, &answer, err));
    items = json_object_get(answer, "items");
    if (!json_is_array(items) || !json_is_integer(json_object_get(answer, "violations")))
        return remote_no_server(r, err);
    json_array_foreach(items, i, violation) report(o, violation);
    *out = (struct pawl_verify_result){.checks = (size_t)member(answer, "checks"),
                                       .violations = (size_t)member(answer, "violations"),
                                       .executions = member(answer, "executions"),
                                       .events = member(answer, "events")};
    return 0;
}
