/* describe.h - what the pages say about a key, from the tables of keys: the same in docs/ and in
 * the man pages. Backquotes are around what is to be written as it is. */
#ifndef PARSE_RENDER_DESCRIBE_H
#define PARSE_RENDER_DESCRIBE_H

#include "base/buf.h"
#include "parse/config/config.h"
#include "parse/workflow/keys.h"

/* "number, 1 to 10", "`missing`, `always` or `never`" */
void describe_key_value(struct buf *b, const struct key *k);
/* " Commands only.", or nothing where there is nothing to say. */
void describe_key_places(struct buf *b, const struct key *k);

/* "duration, 1s to 1h" */
void describe_config_value(struct buf *b, const struct config_key *k);
void describe_config_default(struct buf *b, const struct config_key *k);

#endif
