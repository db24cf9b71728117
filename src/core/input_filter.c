/* input_filter.c - reads and checks conditions on the input of an execution; see input_filter.h. */
#include "core/input_filter.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

int input_filter_read(struct input_filter *f, const char *const *given, struct err *err)
{
    for (; given && *given; given++) {
        const char *equals = strchr(*given, '=');

        if (!equals || equals == *given)
            return err_set(err, E_INVALID, "'%.100s' is not a param: write NAME=VALUE", *given);
        *vec_add(&f->conditions) = (struct input_condition){
            .name = mem_printf("%.*s", (int)(equals - *given), *given),
            .text = mem_strdup(equals + 1),
            .value = json_loads(equals + 1, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL)};
    }
    return 0;
}

/* Equality of JSON values that also holds for 1 and 1.0, which json_equal distinguishes. */
static bool is_equal(const json_t *a, const json_t *b)
{
    if (json_is_number(a) && json_is_number(b) && json_typeof(a) != json_typeof(b))
        return json_number_value(a) == json_number_value(b);
    return json_equal(a, b);
}

static bool is_met(const struct input_condition *c, const json_t *member)
{
    size_t len = strlen(c->text);

    if (!member)
        return false;
    if (json_is_string(member) && json_string_length(member) == len &&
        !memcmp(json_string_value(member), c->text, len))
        return true;
    return c->value && is_equal(c->value, member);
}

bool input_filter_matches(const struct input_filter *f, const char *input)
{
    json_auto_t *object = NULL;

    if (!f->conditions.n)
        return true;
    if (input)
        object = json_loads(input, JSON_ALLOW_NUL, NULL);
    for (size_t i = 0; i < f->conditions.n; i++)
        if (!is_met(&f->conditions.at[i], json_object_get(object, f->conditions.at[i].name)))
            return false;
    return true;
}

void input_filter_release(struct input_filter *f)
{
    for (size_t i = 0; i < f->conditions.n; i++) {
        free(f->conditions.at[i].name);
        free(f->conditions.at[i].text);
        json_decref(f->conditions.at[i].value);
    }
    vec_release(&f->conditions);
}
