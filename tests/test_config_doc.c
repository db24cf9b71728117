/* test_config_doc.c - generates docs/CONFIGURATION.md from the key tables and compares it with the
 * file, so that the page can't differ from the code. The example in the page is loaded as a
 * configuration file.
 *
 *   PAWL_WRITE_DOCS=1 build/tests/test_config_doc     writes the page instead */
#include "harness.h"

#include "base/buf.h"
#include "parse/render/describe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TEST_NO_DB;

#define FILE_NAME "docs/CONFIGURATION.md"

static const char example[] =
    "db: postgres://pawl@db.example/pawl      # default: an SQLite file in the state folder\n"
    "worker:\n"
    "  slots: 16\n"
    "  queues: [default, reports]\n"
    "dispatch:\n"
    "  routes:                                # the first match is used\n"
    "    - {task: \"ml::*\", executor: gpu}\n"
    "    - {task: \"*::check\", executor: container}\n"
    "executors:\n"
    "  gpu: {type: process, slots: 2, env: [PATH, HOME, CUDA_VISIBLE_DEVICES]}\n"
    "  container: {engine: podman, image: debian:12-slim}\n"
    "retry: {max: 2, delay: 10s}\n"
    "timeout: 1h\n"
    "execution_events: {retention_days: 30}\n";

static const char head[] =
    "# Configuration\n"
    "\n"
    "Pawl needs no configuration. To change a default, write it to `pawl.yaml`: the file given on the\n"
    "command line, else the one in the current folder, else `$XDG_CONFIG_HOME/pawl/pawl.yaml`\n"
    "(`~/.config/pawl/pawl.yaml`). Only the first file that exists is read; the command line and the\n"
    "environment (`--db`, `PAWL_DB`, …) override it. The file may name programs and plugins to run, so\n"
    "trust the one in a folder as you would trust a Makefile there.\n"
    "\n"
    "This page is generated from `src/parse/config/config.h` by `tests/test_config_doc.c`: do not edit it, run\n"
    "`PAWL_WRITE_DOCS=1 build/tests/test_config_doc`.\n"
    "\n"
    "```yaml\n";

static const char rules[] =
    "```\n"
    "\n"
    "The file is YAML 1.2, parsed strictly: unknown and duplicate keys are errors, `on` and `no` are strings,\n"
    "and all errors are reported at once, with line and column. A single value is accepted as a list of one.\n"
    "A duration is a number and a unit: `250ms`, `30s`, `5m`, `2h`, `90d`. A size is a number of bytes, or\n"
    "one with a unit: `64kB`, `1MB`, `2GB` (powers of 1000), `64KiB`, `1MiB`, `2GiB` (of 1024). A relative\n"
    "path starts at the folder of the file, `~/` at your home folder. `auto` is the number of processors.\n";

/* Adds the types as "process, container", or "all". */
static void add_types(struct buf *b, unsigned only)
{
    size_t i, n = 0;

    for (i = 0; only != CONFIG_ANY && config_executor_types[i]; i++)
        if (only & 1u << i)
            buf_addf(b, "%s%s", n++ ? ", " : "", config_executor_types[i]);
    buf_addf(b, "%s | ", only == CONFIG_ANY ? "all" : "");
}

static void add_table(struct buf *b, const struct config_table *t, bool with_types)
{
    size_t i;

    buf_addf(b, "| key | %svalue | default | meaning |\n|---|%s---|---|---|\n",
             with_types ? "types | " : "", with_types ? "---|" : "");
    for (i = 0; i < t->n; i++) {
        const struct config_key *k = &t->keys[i];
        size_t len = strlen(k->sentence);

        CHECK(len > 10 && k->sentence[len - 1] == '.' && !strchr(k->sentence, '|'));
        buf_addf(b, "| `%s` | ", k->path);
        if (with_types)
            add_types(b, k->only);
        describe_config_value(b, k);
        buf_addstr(b, " | ");
        describe_config_default(b, k);
        buf_addf(b, " | %s |\n", k->sentence);
    }
}

static void add_page(struct buf *b)
{
    buf_addstr(b, head);
    buf_addstr(b, example);
    buf_addstr(b, rules);
    buf_addstr(
        b, "\n## Keys\n\nA dot separates nested keys: `worker.slots` is `worker: {slots: …}`.\n\n");
    add_table(b, &config_keys, false);
    buf_addstr(
        b,
        "\n## Keys of an executor\n\n"
        "These keys belong below `executors.KEY`. Limits of queues are not part of the configuration: they\n"
        "are stored in the database and apply to all workers.\n\n");
    add_table(b, &config_executor_keys, true);
}

static void read_file(const char *path, struct buf *b)
{
    FILE *f = fopen(path, "re");
    char chunk[4096];
    size_t n;

    if (!f)
        test_fail(__FILE__, __LINE__, "can't read %s: run this in the project's folder", path);
    while ((n = fread(chunk, 1, sizeof(chunk), f)) > 0)
        buf_add(b, chunk, n);
    fclose(f);
}

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "we");

    CHECK(f);
    CHECK(fputs(text, f) >= 0);
    CHECK_EQ(fclose(f), 0);
}

/* Fails at the first line that differs. */
static void check_same_page(const char *is, const char *should)
{
    int line = 1;

    while (*is && *is == *should) {
        line += *is == '\n';
        is++;
        should++;
    }
    if (*is != *should)
        test_fail(__FILE__, __LINE__,
                  "%s differs from the code at line %d: run PAWL_WRITE_DOCS=1 "
                  "build/tests/test_config_doc\n    file: %.60s\n    code: %.60s",
                  FILE_NAME, line, is, should);
}

TEST(configuration_page_matches_the_code)
{
    struct buf should = BUF_INIT, is = BUF_INIT;

    add_page(&should);
    if (getenv("PAWL_WRITE_DOCS"))
        write_file(FILE_NAME, buf_cstr(&should));
    read_file(FILE_NAME, &is);
    check_same_page(buf_cstr(&is), buf_cstr(&should));
    buf_release(&is);
    buf_release(&should);
}

TEST(configuration_page_example_is_valid)
{
    struct diagnostics diagnostics = DIAGNOSTICS_INIT;
    struct config_host host = config_this_host();
    struct err err = ERR_INIT;
    struct config *c = NULL;
    char path[512];

    snprintf(path, sizeof(path), "%s/pawl.yaml", test_dir());
    write_file(path, example);
    CHECK_OK_ERR(config_load(path, &host, &diagnostics, &c, &err), &err);
    CHECK_EQ(c->worker.slots, 16);
    CHECK_STR(config_executor(c, "container")->image, "debian:12-slim");
    config_free(&c);
    diagnostics_release(&diagnostics);
}

/* Writes each default as a value, so that keys that no other test uses are parsed too. */
TEST(every_default_is_accepted_as_a_value)
{
    struct diagnostics diagnostics = DIAGNOSTICS_INIT;
    struct config_host host = config_this_host();
    struct err err = ERR_INIT;
    struct config *c = NULL;
    char path[512], text[512], *dot;
    size_t i;

    snprintf(path, sizeof(path), "%s/pawl.yaml", test_dir());
    for (i = 0; i < config_keys.n; i++) {
        const struct config_key *k = &config_keys.keys[i];

        if (*k->default_value == '(')
            continue;
        snprintf(text, sizeof(text), "%s: %s\n", k->path, k->default_value);
        if ((dot = strchr(text, '.')) && dot < strchr(text, ':'))
            snprintf(text, sizeof(text), "%.*s: {%s: %s}\n", (int)strcspn(k->path, "."), k->path,
                     strchr(k->path, '.') + 1, k->default_value);
        write_file(path, text);
        CHECK_OK_ERR(config_load(path, &host, &diagnostics, &c, &err), &err);
        CHECK(c->set[i]);
        config_free(&c);
    }
    diagnostics_release(&diagnostics);
}
