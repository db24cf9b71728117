/* test_config_doc.c - generates docs/CONFIGURATION.md from the key tables and compares it with the
 * file, so that the page can't differ from the code. The example in the page is loaded as a
 * configuration file.
 *
 *   PAWL_WRITE_DOCS=1 build/tests/test_config_doc     writes the page instead */
#include "page_fixture.h"

#include "parse/render/describe.h"

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
    "environment (`--db`, `PAWL_DB`, …) override it.\n"
    "\n"
    "Some keys decide what runs as you: programs, plugins, images, and the database whose jobs a worker runs.\n"
    "The table marks them with *Trust*. A `pawl.yaml` that is found in the current folder may have come with an archive or a\n"
    "repository, so it may set them only after `pawl trust`, which stores its path and a hash of its content in your state folder:\n"
    "trust ends when the file changes. Trust it only if you trust the programs that it names, too. A file named on the\n"
    "command line or in `PAWL_CONFIG`, and your own in `~/.config`, need no trust. Any `pawl.yaml` is refused if it, or a\n"
    "symbolic link that leads to it, belongs to neither you nor root, or if others can write to it. (A group with the name\n"
    "of the file's owner and no other member does not count as others.)\n"
    "\n"
    "This page is generated from `src/parse/config/config_keys.c` by `tests/test_config_doc.c`: do not edit it, run\n"
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

struct table {
    struct buf *b;
    bool with_types;
};

static void add_row(void *arg, const char *path, const struct key *k)
{
    const struct table *t = arg;
    size_t len = strlen(k->sentence);

    CHECK(len > 10 && k->sentence[len - 1] == '.' && !strchr(k->sentence, '|'));
    buf_addf(t->b, "| `%s` | ", path);
    if (t->with_types)
        add_types(t->b, k->places);
    describe_key_value(t->b, k);
    buf_addstr(t->b, " | ");
    describe_config_default(t->b, k);
    buf_addf(t->b, " | %s%s%s |\n", k->sentence, k->needs_trust ? " *Trust.*" : "",
             k->is_shared ? " *Initial.*" : "");
}

static void add_table(struct buf *b, const struct keys *keys, bool with_types)
{
    buf_addf(b, "| key | %svalue | default | meaning |\n|---|%s---|---|---|\n",
             with_types ? "types | " : "", with_types ? "---|" : "");
    keys_walk(keys, "", add_row, &(struct table){b, with_types});
}

static const char keys_intro[] =
    "\n## Keys\n\nA dot separates nested keys: `worker.slots` is `worker: {slots: …}`.\n\n"
    "A key marked *Initial* belongs to a setting that the database stores for all of its processes. The\n"
    "file provides the value only if the database has none: the first worker whose file has such a key\n"
    "stores it, for `dispatch` also the first submission. From then on every process follows the\n"
    "database, and a worker whose file differs reports it once when it starts. `pawl admin retention`\n"
    "and `pawl admin routes` show and change these settings.\n\n";

static void add_page(struct buf *b)
{
    buf_addstr(b, head);
    buf_addstr(b, example);
    buf_addstr(b, rules);
    buf_addstr(b, keys_intro);
    add_table(b, &config_keys, false);
    buf_addstr(
        b,
        "\n## Keys of an executor\n\n"
        "These keys belong below `executors.KEY`. Limits of queues are not part of the configuration: they\n"
        "are stored in the database and apply to all workers.\n\n");
    add_table(b, &config_executor_keys, true);
}

TEST(configuration_page_matches_the_code)
{
    struct buf page = BUF_INIT;

    add_page(&page);
    check_page(FILE_NAME, buf_cstr(&page), "test_config_doc");
    buf_release(&page);
}

TEST(example_on_the_configuration_page_is_valid)
{
    struct diagnostics diagnostics = DIAGNOSTICS_INIT;
    struct config_host host = config_this_host();
    struct err err = ERR_INIT;
    struct config *c = NULL;
    char path[512];

    snprintf(path, sizeof(path), "%s/pawl.yaml", test_dir());
    write_page(path, example);
    CHECK_OK_ERR(config_load(path, &host, &diagnostics, &c, &err), &err);
    CHECK_EQ(c->worker.slots, 16);
    CHECK_STR(config_executor(c, "container")->image, "debian:12-slim");
    config_free(&c);
    diagnostics_release(&diagnostics);
}

/* Loads a file with the default as a value. */
static void check_default(void *arg, const char *path, const struct key *k)
{
    struct diagnostics diagnostics = DIAGNOSTICS_INIT;
    struct config_host host = config_this_host();
    struct err err = ERR_INIT;
    struct config *c = NULL;
    char file[512], text[512];
    size_t section = strcspn(path, ".");
    int *count = arg;

    if (*k->default_value == '(')
        return;
    if (path[section])
        snprintf(text, sizeof(text), "%.*s: {%s: %s}\n", (int)section, path, path + section + 1,
                 k->default_value);
    else
        snprintf(text, sizeof(text), "%s: %s\n", path, k->default_value);
    snprintf(file, sizeof(file), "%s/pawl.yaml", test_dir());
    write_page(file, text);
    CHECK_OK_ERR(config_load(file, &host, &diagnostics, &c, &err), &err);
    config_free(&c);
    diagnostics_release(&diagnostics);
    ++*count;
}

/* Keys that no other test uses are parsed here. */
TEST(every_documented_default_is_accepted_as_a_value)
{
    int count = 0;

    keys_walk(&config_keys, "", check_default, &count);
    CHECK(count > 20);
}
