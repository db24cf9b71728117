/* read.c - the last overview, and rates per minute. Workers report their counters with each
 * heartbeat, so a rate is the difference between two overviews. */
#include "cli/top/top.h"

#include <stdlib.h>
#include <string.h>

#define WINDOW   60000000LL
#define EVERY    1000000LL  /* µs, minimum between two samples */
#define MIN_SPAN 10000000LL /* µs, the shortest span of a rate: workers report about this often */

static void forget_sample(struct top_model *m)
{
    json_decref(m->samples.at[0].ended);
    m->samples.n--;
    memmove(m->samples.at, m->samples.at + 1, m->samples.n * sizeof(*m->samples.at));
}

static void add_sample(struct top_model *m)
{
    int64_t at = field_time(m->o, "at");

    if (m->samples.n && at - m->samples.at[m->samples.n - 1].at < EVERY)
        return;
    while (m->samples.n && at - m->samples.at[0].at > WINDOW)
        forget_sample(m);
    *vec_add(&m->samples) =
        (struct top_sample){.at = at, .ended = json_incref(json_object_get(m->o, "ended"))};
}

int top_read(struct top_model *m, struct pawl *p, const char *part, struct pawl_error *err)
{
    struct pawl_overview_query q = {.part = part};
    char *json;

    TRY(pawl_overview(p, &q, &json, err));
    json_decref(m->o);
    m->o = take_object(json);
    add_sample(m);
    return 0;
}

static int64_t count_ended(const json_t *list, const char *queue, const char *key)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (!strcmp(field(json_array_get(list, i), "queue"), queue))
            return field_int(json_array_get(list, i), key);
    return 0;
}

int64_t top_rate(const struct top_model *m, const char *queue, const char *key)
{
    const struct top_sample *old = m->samples.at;
    int64_t span = field_time(m->o, "at") - old->at, n;

    if (span < MIN_SPAN)
        return -1;
    n = count_ended(json_object_get(m->o, "ended"), queue, key) -
        count_ended(old->ended, queue, key);
    return n > 0 ? (n * WINDOW + span / 2) / span : 0;
}

size_t top_count(const struct top_model *m)
{
    return json_array_size(json_object_get(m->o, "running"));
}

int64_t top_id(const struct top_model *m, size_t i)
{
    return field_int(json_array_get(json_object_get(m->o, "running"), i), "id");
}

void top_release(struct top_model *m)
{
    while (m->samples.n)
        forget_sample(m);
    vec_release(&m->samples);
    json_decref(m->o);
    *m = (struct top_model){0};
}
