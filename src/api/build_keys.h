/* build_keys.h - converts the structures of pawl.h that describe a workflow to the keys of a
 * workflow file, in JSON, by the key table. It does not check values: the parser does. */
#ifndef API_BUILD_KEYS_H
#define API_BUILD_KEYS_H

#include "base/json.h"
#include "core/workflow/keys.h"

/* `wrong` collects sentences about values that can't be written, each terminated by NUL. `what` is
 * the path of keys that leads to the value, for these sentences. */
struct build {
    struct json_writer to;
    struct buf *wrong;
};
/* Adds all keys that a structure of pawl.h gives, as a mapping. */
void build_mapping(struct build *b, const struct keys *keys, const void *from, const char *what);
/* Adds one key, if it is given. */
void build_key(struct build *b, const struct keys *keys, const struct key *k, const void *from,
               const char *what);
/* Whether a structure of pawl.h can give the key. */
bool build_has(const struct keys *keys, const struct key *k);

#endif
