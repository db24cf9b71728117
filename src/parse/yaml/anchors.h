/* anchors.h - the anchors of a YAML document. Private to the YAML reader. */
#ifndef PARSE_YAML_ANCHORS_H
#define PARSE_YAML_ANCHORS_H

#include "parse/yaml/yaml.h"

struct anchor {
    char *name;
    bool open; /* whether the node is still being read: an alias inside it would be a cycle */
    struct yaml node;
    size_t nodes; /* number of nodes that each alias of the anchor adds */
    int height;   /* levels of lists and mappings in the node */
};

struct anchors {
    void *tree; /* struct anchor, sorted by name; see tsearch(3) */
};

/* Returns NULL if the anchor is not defined. */
struct anchor *anchor_find(const struct anchors *as, const char *name);
/* Defines an anchor. If the name exists already, aliases after this point refer to the new node, as
 * YAML requires. */
struct anchor *anchor_open(struct anchors *as, const char *name);
void anchors_release(struct anchors *as);

#endif
