/* files.c - prints pawl.yaml(5) and pawl-workflow(5) from the key tables. */
#include "parse/render/describe.h"

#include "manual.h"

#include <stdio.h>
#include <string.h>

static const char scalars[] =
    "A duration is a number and a unit: `250ms`, `30s`, `5m`, `2h`, `90d`. A size is a number of "
    "bytes, or a number and a unit: `64kB`, `1MB`, `2GB` (powers of 1000), `64KiB`, `1MiB`, `2GiB` "
    "(powers of 1024). Where a list is expected, a single value is accepted, too.";

static const char config_about[] =
    "Pawl needs no configuration. To change a default, write `pawl.yaml`: the file given on the "
    "command line or in `PAWL_CONFIG`, else the one in the current folder, else "
    "`$XDG_CONFIG_HOME/pawl/pawl.yaml` (`~/.config/pawl/pawl.yaml`). Only the first of these that "
    "exists is read; the command line and the environment override it.\n\nA file that is found in "
    "the current folder may set the keys that decide what runs only after `pawl trust`; the keys "
    "below say so. A file is refused if it, or a symbolic link that leads to it, belongs to "
    "neither you nor root, or if others can write to it.\n\nIt is YAML 1.2, read strictly: unknown and duplicate keys are errors, `on` and `no` are strings, "
    "and all problems are reported at once, with line and column. Relative paths start at the "
    "folder of the file, `~/` at your home. `auto` means the number of processors. A dot in the "
    "names below leads into a mapping: `worker.slots` is `worker: {slots: ...}`.";

static const char workflow_about[] =
    "A workflow is a graph of tasks in a YAML file. Each task is a command, a C function in a "
    "worker, or another workflow; it starts when the tasks that it needs have ended. `pawl "
    "validate` reports all problems in a file at once, `pawl graph` draws it, `pawl run` runs it, "
    "`pawl schema` prints a JSON Schema for editors.";

static const char workflow_example[] = "name: nightly\n"
                                       "params: {day: \"2026-01-01\"}\n"
                                       "defaults: {retry: 2, timeout: 10m}\n"
                                       "tasks:\n"
                                       "  extract:\n"
                                       "    run: ./extract.sh \"$day\"\n"
                                       "    outputs: files\n"
                                       "  transform:\n"
                                       "    needs: extract\n"
                                       "    foreach: ${{ tasks.extract.outputs.files }}\n"
                                       "    run: ./transform.sh \"$ITEM\"\n"
                                       "on_failure: ./page.sh\n";

/* ---- pawl.yaml(5) ---- */

static void add_config_key(void *arg, const char *path, const struct key *k)
{
    struct buf text = BUF_INIT;

    buf_addf(&text, "%s Holds ", k->sentence);
    describe_key_value(&text, k);
    buf_addstr(&text, "; default: ");
    describe_config_default(&text, k);
    buf_addstr(&text, k->needs_trust ? ". Needs `pawl trust` in the current folder." : ".");
    roff_item(arg, path, buf_cstr(&text));
    buf_release(&text);
}

void page_config(struct buf *b)
{
    roff_begin(b, "pawl.yaml", "5", "configuration of Pawl");
    roff_section(b, "DESCRIPTION");
    roff_text(b, config_about);
    roff_text(b, scalars);
    roff_section(b, "KEYS");
    keys_walk(&config_keys, "", add_config_key, b);
    roff_section(b, "KEYS OF AN EXECUTOR");
    roff_text(b, "Keys below `executors.KEY`. Not every type of executor has all of them.");
    keys_walk(&config_executor_keys, "", add_config_key, b);
    roff_section(b, "SEE ALSO");
    roff_text(b, "`pawl`(1), `pawl-worker`(1), `pawl-workflow`(5)");
}

/* ---- pawl-workflow(5) ---- */

static void add_keys(struct buf *b, const struct keys *keys)
{
    struct buf text = BUF_INIT;
    const struct key *k;

    KEYS_EACH(keys, k)
    {
        buf_reset(&text);
        buf_addf(&text, "%s Holds ", k->sentence);
        describe_key_value(&text, k);
        if (k->default_value)
            buf_addf(&text, "; default: %s", k->default_value);
        buf_addch(&text, '.');
        describe_key_places(&text, k);
        roff_item(b, k->name, buf_cstr(&text));
    }
    buf_release(&text);
}

void page_workflow(struct buf *b)
{
    char title[64];
    size_t i;

    roff_begin(b, "pawl-workflow", "5", "workflow files of Pawl");
    roff_section(b, "DESCRIPTION");
    roff_text(b, workflow_about);
    roff_code(b, workflow_example);
    roff_text(b, scalars);
    for (i = 0; keys_all[i]; i++) {
        snprintf(title, sizeof(title), i ? "KEYS OF %s" : "KEYS OF A FILE", keys_all[i]->title);
        roff_section(b, title);
        if (i)
            roff_text(b, keys_all[i]->about);
        add_keys(b, keys_all[i]);
    }
    roff_section(b, "SEE ALSO");
    roff_text(b, "`pawl`(1), `pawl-run`(1), `pawl-validate`(1), `pawl.yaml`(5)");
}
