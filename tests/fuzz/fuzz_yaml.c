/* fuzz_yaml.c - any bytes as YAML, as a file contains them, and then as a configuration.
 *
 * Besides memory errors and undefined behaviour it looks for a tree that breaks the contract of
 * yaml.h. */
#include "base/text.h"
#include "parse/config/config.h"
#include "parse/yaml/yaml.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Visits the tree; returns the number of nodes. */
static size_t check(const struct yaml *node, int depth)
{
    size_t n = 1, i;

    if (depth > YAML_MAX_DEPTH + 1 || !node->line || !node->column || node->kind > YAML_MAP)
        abort();
    if (node->kind < YAML_LIST &&
        (strlen(node->text) != node->n || !text_is_utf8(node->text, node->n)))
        abort();
    for (i = 0; node->kind == YAML_LIST && i < node->n; i++)
        n += check(&node->items[i], depth + 1);
    for (i = 0; node->kind == YAML_MAP && i < node->n; i++) {
        const struct yaml_pair *p = yaml_pair(node, i);

        if (p->key.kind >= YAML_LIST || !yaml_get(node, p->key.text))
            abort();
        n += check(&p->key, depth + 1) + check(&p->value, depth + 1);
    }
    return n;
}

static void show(struct diagnostics *diagnostics)
{
    struct buf shown = BUF_INIT;

    diagnostics_show(diagnostics, &shown);
    if (shown.len && !text_is_utf8(shown.ptr, shown.len))
        abort();
    buf_release(&shown);
}

static void try_config(const struct source *source)
{
    static const struct config_host host = {.folder = ".", .home = "/home/x", .processors = 2};
    struct diagnostics diagnostics = DIAGNOSTICS_INIT;
    struct config *config = NULL;
    struct err err = ERR_INIT;
    int rc = config_parse(source, NULL, &host, &diagnostics, &config, &err);

    if (!rc != !diagnostics.count || !rc != !!config)
        abort();
    show(&diagnostics);
    config_free(&config);
    diagnostics_release(&diagnostics);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct diagnostics diagnostics = DIAGNOSTICS_INIT;
    struct yaml_doc doc;
    const struct source *source =
        diagnostics_take(&diagnostics, "fuzz.yaml", (const char *)data, size);
    int rc = yaml_read(source, &diagnostics, &doc);

    if ((rc && !diagnostics.count) || (!rc && check(&doc.root, 1) > YAML_MAX_NODES))
        abort();
    try_config(source);
    show(&diagnostics);
    yaml_release(&doc);
    diagnostics_release(&diagnostics);
    return 0;
}
