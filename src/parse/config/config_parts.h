/* config_parts.h - the parts of pawl.yaml that have a reader of their own. Private to config*.c. */
#ifndef PARSE_CONFIG_CONFIG_PARTS_H
#define PARSE_CONFIG_CONFIG_PARTS_H

#include "parse/config/config.h"
#include "parse/read_key.h"

#define CONFIG_FILE_NAME "pawl.yaml"

/* The folder of a file, as an absolute path. The caller frees it. */
char *config_folder_of(const char *file);
/* $XDG_STATE_HOME/pawl, else ~/.local/state/pawl; NULL if neither variable is set. The caller frees
 * it. */
char *config_state_folder(const struct config_host *host);

/* Reads the executors. The readers below are called after all other values were read; their node
 * may be NULL. */
void config_read_executors(struct reader *r, const struct yaml *node);
void config_read_routes(struct reader *r, const struct yaml *node);
/* Adds an error unless the executor that the value names exists and runs commands. */
void config_check_executor(const struct reader *r, const struct yaml *node, const char *what,
                           const char *key);

#endif
