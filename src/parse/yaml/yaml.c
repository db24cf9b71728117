/* yaml.c - builds the tree of a YAML document from libyaml's events; see yaml.h. The nodes of an
 * open list or mapping are kept on a stack and copied to the arena when it ends. An alias shares
 * the nodes of its anchor, but these are counted again for each alias, so that an alias bomb is an
 * error before any code walks the tree. */
#include "parse/yaml/yaml.h"

#include "parse/yaml/anchors.h"
#include "parse/yaml/scalar.h"
#include "parse/yaml/syntax.h"

#include <stdlib.h>
#include <string.h>

#define FEW_KEYS  8    /* mappings with at most this many keys are searched linearly */
#define TEXT_POOL 4096 /* bytes of a block for short strings, which avoids the arena's padding */

struct builder {
    yaml_parser_t parser;
    struct yaml_doc *doc;
    VEC(struct yaml) stack;
    struct anchors anchors;
    size_t nodes; /* number of nodes so far, with aliases expanded */
    char *pool;
    size_t pool_left;
};

/* Adds a diagnostic at a mark of libyaml. Lines and columns in a mark start at 0. */
#define diagnostic_at(b, at, ...)                                                     \
    diagnostics_add((b)->doc->diagnostics, (b)->doc->source, (uint32_t)(at).line + 1, \
                    (uint32_t)(at).column + 1, __VA_ARGS__)

static bool next_event(struct builder *b, yaml_event_t *ev)
{
    if (yaml_parser_parse(&b->parser, ev))
        return true;
    syntax_error(&b->parser, b->doc->source, b->doc->diagnostics);
    return false;
}

static char *keep_text(struct builder *b, const char *text, size_t len)
{
    char *copy;

    if (len >= TEXT_POOL / 4)
        return arena_memdup0(&b->doc->arena, text, len);
    if (len + 1 > b->pool_left) {
        b->pool = arena_alloc(&b->doc->arena, TEXT_POOL);
        b->pool_left = TEXT_POOL;
    }
    copy = b->pool;
    memcpy(copy, text, len);
    copy[len] = '\0';
    b->pool += len + 1;
    b->pool_left -= len + 1;
    return copy;
}

/* ---- nodes ---- */

/* Counts nodes. Returns false if there are too many; the caller then stops reading. */
static bool count_nodes(struct builder *b, size_t more, yaml_mark_t at)
{
    b->nodes += more;
    if (b->nodes <= YAML_MAX_NODES)
        return true;
    diagnostic_at(b, at, "with its aliases expanded, the document has more than %d values",
                  YAML_MAX_NODES);
    return false;
}

static bool check_depth(struct builder *b, int depth, yaml_mark_t at)
{
    if (depth <= YAML_MAX_DEPTH)
        return true;
    diagnostic_at(b, at, "lists and mappings are nested more than %d levels deep here",
                  YAML_MAX_DEPTH);
    return false;
}

static void apply_tag(struct builder *b, yaml_mark_t at, const char *tag, const char *text,
                      enum yaml_kind *kind)
{
    char sentence[YAML_TAG_SENTENCE];

    if (!yaml_tag_kind(tag, text, kind, sentence))
        diagnostic_at(b, at, "%s", sentence);
}

static void build_scalar(struct builder *b, const yaml_event_t *ev, struct yaml *out)
{
    const char *text = (const char *)ev->data.scalar.value;
    const char *tag = (const char *)ev->data.scalar.tag;
    enum yaml_kind kind = YAML_TEXT;
    int64_t n;

    if (strlen(text) != ev->data.scalar.length)
        diagnostic_at(b, ev->start_mark, "a string can't contain a NUL character");
    if (ev->data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
        kind = yaml_scalar_kind(text);
    if (tag)
        apply_tag(b, ev->start_mark, tag, text, &kind);
    if (kind == YAML_INT && !yaml_scalar_int(text, &n)) {
        diagnostic_at(b, ev->start_mark,
                      "this number needs more than 64 bits: put it in quotes if it is a string");
        kind = YAML_TEXT;
    }
    out->kind = (uint8_t)kind;
    out->n = (uint32_t)strlen(text);
    out->text = keep_text(b, text, out->n);
}

static bool build_alias(struct builder *b, const yaml_event_t *ev, int depth, struct yaml *out,
                        int *height)
{
    const char *name = (const char *)ev->data.alias.anchor;
    const struct anchor *a = anchor_find(&b->anchors, name);
    uint32_t line = out->line, column = out->column;

    if (!a || a->open) {
        if (a)
            diagnostic_at(b, ev->start_mark,
                          "the alias *%.80s is inside the value that it refers to", name);
        else
            diagnostic_at(b, ev->start_mark, "*%.80s is not defined: there is no &%.80s before it",
                          name, name);
        out->text = "";
        return true;
    }
    if (!check_depth(b, depth + a->height, ev->start_mark) ||
        !count_nodes(b, a->nodes, ev->start_mark))
        return false;
    *out = a->node;
    out->line = line;
    out->column = column;
    *height = a->height;
    return true;
}

/* ---- lists and mappings ---- */

static bool build(struct builder *b, yaml_event_t *ev, int depth, struct yaml *out, int *height);

/* Reads nodes and puts them on the stack, starting at index `from`, until the event `end`. */
static bool build_children(struct builder *b, yaml_event_type_t end, int depth, size_t from,
                           int *height)
{
    yaml_event_t ev;
    struct yaml node;
    int below;

    *height = 0;
    for (;;) {
        if (!next_event(b, &ev))
            return false;
        if (ev.type == end) {
            yaml_event_delete(&ev);
            return true;
        }
        below = 0;
        if (!build(b, &ev, depth, &node, &below)) {
            b->stack.n = from;
            return false;
        }
        *vec_add(&b->stack) = node;
        *height = below > *height ? below : *height;
    }
}

static bool build_list(struct builder *b, int depth, struct yaml *out, int *height)
{
    size_t from = b->stack.n, n;
    struct yaml *items;

    if (!build_children(b, YAML_SEQUENCE_END_EVENT, depth + 1, from, height))
        return false;
    n = b->stack.n - from;
    items = arena_alloc(&b->doc->arena, n * sizeof(*items));
    if (n)
        memcpy(items, b->stack.at + from, n * sizeof(*items));
    b->stack.n = from;
    out->kind = YAML_LIST;
    out->n = (uint32_t)n;
    out->items = items;
    return true;
}

static int compare_keys(const void *a, const void *b, void *arg)
{
    const struct yaml_pair *pairs = arg;
    uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
    int c = strcmp(pairs[i].key.text, pairs[k].key.text);

    return c ? c : (i > k) - (i < k);
}

/* Checks that a key is a scalar, not empty, and not a merge key. */
static void check_key(const struct builder *b, struct yaml *key)
{
    if (key->kind >= YAML_LIST) {
        yaml_error(b->doc, key, "a key must be a string, not a %s",
                   key->kind == YAML_LIST ? "list" : "mapping");
        *key = (struct yaml){.kind = YAML_TEXT, .line = key->line, .column = key->column};
        key->text = "";
    } else if (!key->n) {
        yaml_error(b->doc, key, "a key is missing here");
    } else if (!strcmp(key->text, "<<")) {
        yaml_error(b->doc, key,
                   "merging with \"<<\" is not part of YAML 1.2: write the keys, or "
                   "an alias for the whole mapping");
    }
}

static void find_duplicates(struct builder *b, const struct yaml_pair *pairs, const uint32_t *order,
                            size_t n)
{
    size_t i, first = 0;

    for (i = 1; i < n; i++) {
        const struct yaml *key = &pairs[order[i]].key, *same = &pairs[order[first]].key;

        if (!key->n || strcmp(key->text, same->text))
            first = i;
        else
            yaml_error(b->doc, key, "the key \"%.80s\" is already defined on line %u", key->text,
                       same->line);
    }
}

static bool build_map(struct builder *b, int depth, struct yaml *out, int *height)
{
    size_t from = b->stack.n, n, i;
    struct yaml_map *map;
    uint32_t few[FEW_KEYS], *order = few;

    if (!build_children(b, YAML_MAPPING_END_EVENT, depth + 1, from, height))
        return false;
    n = (b->stack.n - from) / 2;
    map = arena_alloc(&b->doc->arena, sizeof(*map) + n * sizeof(*map->pairs));
    if (n) /* a pair is a key followed by its value, as in struct yaml_pair */
        memcpy(map->pairs, b->stack.at + from, n * sizeof(*map->pairs));
    b->stack.n = from;
    if (n > FEW_KEYS)
        order = arena_alloc(&b->doc->arena, n * sizeof(*order));
    for (i = 0; i < n; i++) {
        check_key(b, &map->pairs[i].key);
        order[i] = (uint32_t)i;
    }
    qsort_r(order, n, sizeof(*order), compare_keys, map->pairs);
    find_duplicates(b, map->pairs, order, n);
    map->order = n > FEW_KEYS ? order : NULL;
    out->kind = YAML_MAP;
    out->n = (uint32_t)n;
    out->map = map;
    return true;
}

static const char *anchor_of(const yaml_event_t *ev)
{
    return (const char *)(ev->type == YAML_SCALAR_EVENT           ? ev->data.scalar.anchor
                          : ev->type == YAML_SEQUENCE_START_EVENT ? ev->data.sequence_start.anchor
                          : ev->type == YAML_MAPPING_START_EVENT  ? ev->data.mapping_start.anchor
                                                                  : NULL);
}

static bool build_collection(struct builder *b, const yaml_event_t *ev, int depth, struct yaml *out,
                             int *height)
{
    bool list = ev->type == YAML_SEQUENCE_START_EVENT, ok;
    enum yaml_kind kind = list ? YAML_LIST : YAML_MAP;
    const char *tag =
        (const char *)(list ? ev->data.sequence_start.tag : ev->data.mapping_start.tag);

    if (tag)
        apply_tag(b, ev->start_mark, tag, NULL, &kind);
    ok = check_depth(b, depth + 1, ev->start_mark) &&
         (list ? build_list : build_map)(b, depth, out, height);
    ++*height;
    return ok;
}

/* Builds the node that starts with `ev`, and deletes `ev`. `depth` is the number of lists and
 * mappings around the node; *height becomes the number of levels in it. */
static bool build(struct builder *b, yaml_event_t *ev, int depth, struct yaml *out, int *height)
{
    const char *name = anchor_of(ev);
    struct anchor *anchor = name ? anchor_open(&b->anchors, name) : NULL;
    size_t before = b->nodes;
    bool ok;

    *out = (struct yaml){.kind = YAML_NULL,
                         .line = (uint32_t)ev->start_mark.line + 1,
                         .column = (uint32_t)ev->start_mark.column + 1};
    if (ev->type == YAML_ALIAS_EVENT) {
        ok = build_alias(b, ev, depth, out, height);
    } else if ((ok = count_nodes(b, 1, ev->start_mark))) {
        if (ev->type == YAML_SCALAR_EVENT)
            build_scalar(b, ev, out);
        else
            ok = build_collection(b, ev, depth, out, height);
    }
    if (anchor) {
        anchor->node = *out;
        anchor->nodes = b->nodes - before;
        anchor->height = *height;
        anchor->open = false;
    }
    yaml_event_delete(ev);
    return ok;
}

/* ---- documents ---- */

/* Reads STREAM-START ( DOCUMENT-START node DOCUMENT-END )* STREAM-END, with at most one
 * document. */
static bool build_document(struct builder *b)
{
    yaml_event_t ev;
    yaml_mark_t at;
    bool seen = false;
    int height = 0;

    for (;;) {
        yaml_event_type_t type;

        if (!next_event(b, &ev))
            return false;
        type = ev.type;
        at = ev.start_mark;
        if (type != YAML_STREAM_START_EVENT && type != YAML_DOCUMENT_START_EVENT &&
            type != YAML_DOCUMENT_END_EVENT && type != YAML_STREAM_END_EVENT) {
            if (!build(b, &ev, 0, &b->doc->root, &height))
                return false;
            continue;
        }
        yaml_event_delete(&ev);
        if (type == YAML_STREAM_END_EVENT)
            return true;
        if (type == YAML_DOCUMENT_START_EVENT && seen) {
            diagnostic_at(b, at, "a second document starts here: a file may contain only one");
            return true; /* the first document is complete */
        }
        seen = seen || type == YAML_DOCUMENT_START_EVENT;
    }
}

int yaml_read(const struct source *source, struct diagnostics *diagnostics, struct yaml_doc *out)
{
    struct builder b = {.doc = out};
    bool ok;

    *out = (struct yaml_doc){.source = source, .diagnostics = diagnostics};
    out->root = (struct yaml){.kind = YAML_NULL, .line = 1, .column = 1};
    out->root.text = "";
    if (!syntax_check_text(source, diagnostics))
        return -E_INVALID;
    if (!yaml_parser_initialize(&b.parser))
        abort(); /* out of memory */
    yaml_parser_set_encoding(&b.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&b.parser, (const unsigned char *)source->text, source->len);
    ok = build_document(&b);
    yaml_parser_delete(&b.parser);
    vec_release(&b.stack);
    anchors_release(&b.anchors);
    return ok ? 0 : -E_INVALID;
}

void yaml_release(struct yaml_doc *doc)
{
    arena_release(&doc->arena);
}
