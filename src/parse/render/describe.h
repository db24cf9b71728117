/* describe.h - describes keys from the key tables, so that docs/ and the man pages use the same
 * words. Literal text is in backquotes. */
#ifndef PARSE_RENDER_DESCRIBE_H
#define PARSE_RENDER_DESCRIBE_H

#include "base/buf.h"
#include "core/workflow/keys.h"
#include "parse/config/config.h"

/* Adds the values that a key accepts: "number, 1 to 10", "`missing`, `always` or `never`". */
void describe_key_value(struct buf *b, const struct key *k);
/* Adds the tasks that may have the key, such as " Commands only."; adds nothing if all tasks
 * may. */
void describe_key_places(struct buf *b, const struct key *k);

/* Adds the default of a key of pawl.yaml: "`30s`", "half of `logs.keep`". */
void describe_config_default(struct buf *b, const struct key *k);

#endif
