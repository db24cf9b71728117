/* yaml_syntax.h - what is wrong with a text before it is YAML at all. Private to the reader. */
#ifndef FLOW_YAML_SYNTAX_H
#define FLOW_YAML_SYNTAX_H

#include "flow/problem.h"

#include <yaml.h>

/* Whether the characters are those that YAML allows; else a problem is added. */
bool syntax_check_text(const struct source *source, struct problems *problems);

/* Adds the problem at which libyaml gave up, in our words. */
void syntax_problem(const yaml_parser_t *parser, const struct source *source,
                    struct problems *problems);

#endif
