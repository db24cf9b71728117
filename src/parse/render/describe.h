/* describe.h - describes keys from the key tables, with the same words in docs/ and in the man
 * pages. Literal text is in backquotes. */
#ifndef PARSE_RENDER_DESCRIBE_H
#define PARSE_RENDER_DESCRIBE_H

#include "base/buf.h"
#include "core/workflow/keys.h"
#include "parse/config/config.h"

/* "number, 1 to 10", "`missing`, `always` or `never`" */
void describe_key_value(struct buf *b, const struct key *k);
/* " Commands only."; adds nothing if the key is allowed everywhere. */
void describe_key_places(struct buf *b, const struct key *k);

/* "duration, 1s to 1h" */
void describe_config_default(struct buf *b, const struct key *k);

#endif
