/* test_config_doc.c - prints docs/CONFIGURATION.md from the lists of keys, and compares it with the
 * file: the page can't say other than the code does. The example in it is read as a file would be.
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
    "db: postgres://pawl@db.example/pawl      # default: an SQLite file of your own\n"
    "worker:\n"
    "  slots: 16\n"
    "  queues: [default, reports]\n"
    "dispatch:\n"
    "  routes:                                # the first that matches counts\n"
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
    "Pawl needs no configuration. What you want otherwise stands in `pawl.yaml`: the file given on the\n"
    "command line, else the one in the current folder, else `$XDG_CONFIG_HOME/pawl/pawl.yaml`\n"
    "(`~/.config/pawl/pawl.yaml`). The first that exists is the only one that is read; the command line\n"
    "and the environment (`--db`, `PAWL_DB`, …) come before it. It may name programs and plugins to\n"
    "run, so trust the one in a folder as you would trust a Makefile there.\n"
    "\n"
    "This page is printed from `src/parse/config/config.h` by `tests/test_config_doc.c`: do not edit it, run\n"
    "`PAWL_WRITE_DOCS=1 build/tests/test_config_doc`.\n"
    "\n"
    "```yaml\n";

static const char rules[] =
    "```\n"
    "\n"
    "It is YAML 1.2, read strictly: unknown and duplicate keys are errors, `on` and `no` are texts, and all\n"
    "that is wrong is said at once, with line and column. Where a list is wanted a single value will do.\n"
    "A duration is a number and a unit: `250ms`, `30s`, `5m`, `2h`, `90d`. A size is a number of bytes, or\n"
    "one with a unit: `64kB`, `1MB`, `2GB` (powers of 1000), `64KiB`, `1MiB`, `2GiB` (of 1024). A relative\n"
    "path begins at the folder of the file, `~/` at your home. `auto` is as many as there are processors.\n";

/* "process, container", or "all" */
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

static void page(struct buf *b)
{
    buf_addstr(b, head);
    buf_addstr(b, example);
    buf_addstr(b, rules);
    buf_addstr(
        b, "\n## Keys\n\nA dot leads into a mapping: `worker.slots` is `worker: {slots: …}`.\n\n");
    add_table(b, &config_keys, false);
    buf_addstr(
        b,
        "\n## Keys of an executor\n\n"
        "Below `executors.KEY`. Limits of queues are no part of the configuration: they are kept in\n"
        "the database, for all workers alike.\n\n");
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

/* The first line in which they differ. */
static void compare(const char *is, const char *should)
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

TEST(the_page_about_configuration_says_what_the_code_says)
{
    struct buf should = BUF_INIT, is = BUF_INIT;

    page(&should);
    if (getenv("PAWL_WRITE_DOCS"))
        write_file(FILE_NAME, buf_cstr(&should));
    read_file(FILE_NAME, &is);
    compare(buf_cstr(&is), buf_cstr(&should));
    buf_release(&is);
    buf_release(&should);
}

TEST(the_example_of_the_page_is_a_good_configuration)
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

/* A key that no other test speaks of is read, too: each default is given as a value. */
TEST(every_default_may_be_written_into_the_file)
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
