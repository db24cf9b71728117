/* config_map.h - reads a mapping by a key table. Private to the files config*.c. */
#ifndef PARSE_CONFIG_CONFIG_MAP_H
#define PARSE_CONFIG_CONFIG_MAP_H

#include "parse/config/config.h"
#include "parse/yaml/yaml.h"

struct config_reader {
    struct config *config;
    const struct config_host *host;
    const struct yaml_doc *doc; /* the document being read */
    const char *folder;         /* absolute; relative paths in the document start here */
};

/* Reads one value into its member of *to; returns false if an error was added. `what` names the
 * value in messages. */
bool config_read_value(struct config_reader *r, const struct config_key *k, const struct yaml *node,
                       const char *what, void *to);

/* Sets the members of *to whose default is not derived from other values. */
void config_defaults(struct config_reader *r, const struct config_table *t, void *to);

/* Reads a mapping whose keys are those of the table that start with `prefix` ("" or "worker.").
 * nodes[i] becomes the value of the table's i-th key, if the file has it and it is valid; routes
 * and executors are only recorded there, not read. `what` names the mapping in messages. */
void config_read_map(struct config_reader *r, const struct config_table *t, const char *prefix,
                     const char *what, const struct yaml *map, void *to, const struct yaml **nodes);

/* Read the values that config_read_map only recorded, after all others; the node may be NULL. */
void config_read_executors(struct config_reader *r, const struct yaml *node);
void config_read_routes(struct config_reader *r, const struct yaml *node);
/* Adds an error unless the executor exists and runs commands. */
void config_check_executor(const struct config_reader *r, const struct yaml *node, const char *what,
                           const char *key);

#endif
