/* container_spec.c - reads the container settings of a task, see container.h. Fields may be
 * expressions, so they are checked here although the workflow file was checked before. */
#include "exec/container/container.h"

#include "base/json_read.h"

#include <jansson.h>
#include <string.h>

/* Finds a field of the container settings. An expression that evaluates to null counts as
 * absent. */
static bool get_field(const struct json_node *c, const char *key, struct json_node *at)
{
    return json_read_member(c, key, at) && !json_is_null(at->value);
}

/* Reads a field that is a text. An empty text counts as absent, as null does. */
static int read_text(const struct json_node *c, const char *key, struct arena *arena,
                     const char **out, struct err *err)
{
    struct json_node at;
    const char *text = "";
    int rc = get_field(c, key, &at) ? json_read_text(&at, 0, SIZE_MAX, arena, &text, err) : 0;

    if (!rc && *text)
        *out = text;
    return rc;
}

static int read_texts(const struct json_node *c, const char *key, struct arena *arena,
                      const char *const **out, struct err *err)
{
    struct json_node at, item;
    const char **list;
    size_t n = 0, i;
    int rc = get_field(c, key, &at) ? json_read_array(&at, SIZE_MAX, &n, err) : 0;

    list = arena_zalloc(arena, (n + 1) * sizeof(*list));
    for (i = 0; !rc && i < n; i++) {
        json_read_item(&at, i, &item);
        rc = json_read_text(&item, 0, SIZE_MAX, arena, &list[i], err);
    }
    *out = list;
    return rc;
}

static bool is_option(const char *word, const char *name)
{
    size_t len = strlen(name);

    return !strncmp(word, name, len) && (!word[len] || word[len] == '=');
}

/* Refuses options that would hide the container from Pawl: Pawl finds a container by its name only,
 * and does not control one that its engine restarts. */
static int check_options(const struct container_spec *c, struct err *err)
{
    const char *const *option;

    for (option = c->options; *option; option++) {
        if (is_option(*option, "--name"))
            return err_set(err, E_INVALID,
                           "--name can't be among the options of a container, because Pawl finds "
                           "the container by its name; use a label");
        if (is_option(*option, "--restart"))
            return err_set(err, E_INVALID,
                           "--restart can't be among the options of a container; use the task's "
                           "`retry`");
    }
    return 0;
}

int container_spec_read(const struct container_options *o, const char *json, struct arena *arena,
                        struct container_spec *out, struct err *err)
{
    AUTO_JSON_NODE c = {0};
    int rc;

    *out = (struct container_spec){
        .image = o->image, .pull = o->pull ? o->pull : "missing", .network = "none"};
    if (!json)
        json = "{}";
    if ((rc = json_read_open(json, strlen(json), SIZE_MAX, "the container", &c, err)) ||
        (rc = json_read_known_keys(&c, NULL, err)) ||
        (rc = read_text(&c, "image", arena, &out->image, err)) ||
        (rc = read_text(&c, "pull", arena, &out->pull, err)) ||
        (rc = read_text(&c, "network", arena, &out->network, err)) ||
        (rc = read_texts(&c, "volumes", arena, &out->volumes, err)) ||
        (rc = read_texts(&c, "options", arena, &out->options, err)))
        return rc;
    return check_options(out, err);
}
