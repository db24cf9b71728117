/* config_parts.h - the parts of a configuration that have their own reader. Private to config*.c.
 */
#ifndef PARSE_CONFIG_CONFIG_PARTS_H
#define PARSE_CONFIG_CONFIG_PARTS_H

#include "parse/config/config.h"
#include "parse/read_key.h"

/* Read these after all other values; the node may be NULL. */
void config_read_executors(struct reader *r, const struct yaml *node);
void config_read_routes(struct reader *r, const struct yaml *node);
/* Adds an error unless the executor exists and runs commands. */
void config_check_executor(const struct reader *r, const struct yaml *node, const char *what,
                           const char *key);

#endif
