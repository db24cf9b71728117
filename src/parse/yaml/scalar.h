/* scalar.h - what a plain scalar is, by YAML 1.2's core schema. */
#ifndef PARSE_YAML_SCALAR_H
#define PARSE_YAML_SCALAR_H

#include "parse/yaml/yaml.h"

enum yaml_kind yaml_scalar_kind(const char *text);

/* Changes the kind of a scalar, or of a collection (`text` is NULL then), to what its tag asks for.
 * False with a sentence if that can't be. */
#define YAML_TAG_SENTENCE 256
bool yaml_tag_kind(const char *tag, const char *text, enum yaml_kind *kind, char *sentence);

/* False if an integer needs more than 64 bits. */
bool yaml_scalar_int(const char *text, int64_t *out);
/* `text` is a float or an integer of the core schema. */
double yaml_scalar_float(const char *text);

#endif
