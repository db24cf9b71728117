/* config_keys.c - builds the key tables from the lists of config.h. */
#include "parse/config/config.h"

#include <stddef.h>

#define SECOND (1000 * 1000LL)
#define DAY    (86400 * SECOND)
#define GB     (1000 * 1000 * 1000LL)

static const char *const config_modes[] = {[CONFIG_PUSH] = "push", [CONFIG_POLL] = "poll", NULL};
const char *const config_executor_types[] = {[CONFIG_PROCESS] = "process",
                                             [CONFIG_CONTAINER] = "container",
                                             [CONFIG_FUNCTION] = "function",
                                             [CONFIG_CUSTOM] = "custom",
                                             NULL};
const char *const config_engines[] = {
    [CONFIG_AUTO] = "auto", [CONFIG_PODMAN] = "podman", [CONFIG_DOCKER] = "docker", NULL};
const char *const config_pulls[] = {
    [CONFIG_MISSING] = "missing", [CONFIG_ALWAYS] = "always", [CONFIG_NEVER] = "never", NULL};

/* A member must have the C type of its key's type, because the reader writes through a void
 * pointer. */
#define X(name, ctype, text) typedef ctype config_ctype_##name;
CONFIG_TYPES(X)
#undef X
#define IS(kind, member, type)                                                                     \
    _Static_assert(                                                                                \
        __builtin_types_compatible_p(__typeof__(((struct kind *)0)->member), config_ctype_##type), \
        "the member " #member " is not of the type " #type);
#define X(id, path, type, member, ...) IS(config, member, type)
CONFIG_KEYS(X)
#undef X
#define X(only, path, type, member, ...) IS(config_executor, member, type)
EXECUTOR_KEYS(X)
#undef X

static const struct config_key keys[] = {
#define X(id, path, type, member, default_value, min, max, words, sentence) \
    [CONFIG_##id] = {path,                                                  \
                     CONFIG_TYPE_##type,                                    \
                     offsetof(struct config, member),                       \
                     default_value,                                         \
                     min,                                                   \
                     max,                                                   \
                     words,                                                 \
                     CONFIG_ANY,                                            \
                     sentence},
    CONFIG_KEYS(X)
#undef X
};
const struct config_table config_keys = {keys, CONFIG_COUNT};

static const struct config_key executor_keys[] = {
#define X(only, path, type, member, default_value, min, max, words, sentence) \
    {path,                                                                    \
     CONFIG_TYPE_##type,                                                      \
     offsetof(struct config_executor, member),                                \
     default_value,                                                           \
     min,                                                                     \
     max,                                                                     \
     words,                                                                   \
     only,                                                                    \
     sentence},
    EXECUTOR_KEYS(X)
#undef X
};
const struct config_table config_executor_keys = {executor_keys, CONFIG_EXECUTOR_COUNT};

const char *config_type_sentence(enum config_type type)
{
    static const char *const texts[] = {
#define X(name, ctype, text) [CONFIG_TYPE_##name] = text,
        CONFIG_TYPES(X)
#undef X
    };
    return texts[type];
}
