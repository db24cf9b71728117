/* config_map.h - reading one mapping by one table of keys. Private to the configuration. */
#ifndef PARSE_CONFIG_CONFIG_MAP_H
#define PARSE_CONFIG_CONFIG_MAP_H

#include "parse/config/config.h"
#include "parse/yaml/yaml.h"

struct config_reader {
    struct config *config;
    const struct config_host *host;
    const struct yaml_doc *doc; /* that is being read */
    const char *folder;         /* absolute: what relative paths in it begin with */
};

/* Reads one value into its member of *to; false after a problem. `what` names it in sentences. */
bool config_read_value(struct config_reader *r, const struct config_key *k, const struct yaml *node,
                       const char *what, void *to);

/* Sets the members of *to that have a default of their own. */
void config_defaults(struct config_reader *r, const struct config_table *t, void *to);

/* Reads a mapping whose keys stand in the table below `prefix` ("" or "worker."). nodes[i] becomes
 * the value of the table's i-th key, if the file has it and it is right; routes and executors are
 * only noted so, not read. `what` names the mapping in sentences. */
void config_read_map(struct config_reader *r, const struct config_table *t, const char *prefix,
                     const char *what, const struct yaml *map, void *to, const struct yaml **nodes);

/* Reads what config_read_map only noted, once all else is known; a node may be NULL. */
void config_read_executors(struct config_reader *r, const struct yaml *node);
void config_read_routes(struct config_reader *r, const struct yaml *node);
/* Adds a problem unless there is such an executor, and it runs commands. */
void config_check_executor(const struct config_reader *r, const struct yaml *node, const char *what,
                           const char *key);

#endif
