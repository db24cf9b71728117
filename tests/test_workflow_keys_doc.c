/* test_workflow_keys_doc.c - prints the reference in docs/WORKFLOWS.md from the key table and
 * compares it with the file, so that the page agrees with the code. The text above the reference is
 * written by hand; the example there is parsed like a file. PAWL_WRITE_DOCS=1
 * build/tests/test_workflow_keys_doc writes the reference instead. */
#include "harness.h"

#include "parse/render/describe.h"
#include "parse/workflow/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TEST_NO_DB;

#define FILE_NAME "docs/WORKFLOWS.md"
#define MARK      "test_workflow_keys_doc -->\n"

/* ---- the reference ---- */

static void add_table(struct buf *b, const struct keys *keys)
{
    const struct key *k;

    buf_addstr(b, "| key | holds | default | |\n|---|---|---|---|\n");
    for (k = keys->at; k->name; k++) {
        buf_addf(b, "| `%s` | ", k->name);
        describe_key_value(b, k);
        buf_addf(b, " | %s | %s", k->default_value ? k->default_value : "", k->sentence);
        describe_key_places(b, k);
        buf_addstr(b, " |\n");
    }
}

static void write_reference(struct buf *b)
{
    size_t i;

    for (i = 0; keys_all[i]; i++) {
        const struct keys *keys = keys_all[i];

        if (!i)
            buf_addstr(b, "\n## Reference\n\n### Keys of a file\n\n");
        else
            buf_addf(b, "\n### `%s`\n\n%s\n\n", keys->title, keys->about);
        add_table(b, keys);
    }
}

/* ---- the file ---- */

static void read_file(struct buf *b)
{
    FILE *f = fopen(FILE_NAME, "re");
    char chunk[4096];
    size_t n;

    if (!f)
        test_fail(__FILE__, __LINE__, "can't read %s: run this in the project's folder", FILE_NAME);
    while ((n = fread(chunk, 1, sizeof(chunk), f)) > 0)
        buf_add(b, chunk, n);
    fclose(f);
}

static void write_file(const char *text, size_t len, const struct buf *more)
{
    FILE *f = fopen(FILE_NAME, "we");

    CHECK(f);
    CHECK_EQ(fwrite(text, 1, len, f), len);
    CHECK_EQ(fwrite(more->ptr, 1, more->len, f), more->len);
    CHECK_EQ(fclose(f), 0);
}

/* Reports the first line that differs. */
static void compare(const char *found, const char *expected)
{
    const char *line = found;

    for (; *found && *found == *expected; found++, expected++)
        if (*found == '\n')
            line = found + 1;
    if (*found != *expected)
        test_fail(
            __FILE__, __LINE__,
            "%s differs from the code: run PAWL_WRITE_DOCS=1 build/tests/test_workflow_keys_doc\n"
            "    line: %.60s\n    file: %.60s\n    code: %.60s",
            FILE_NAME, line, found, expected);
}

TEST(workflow_reference_agrees_with_the_code)
{
    struct buf file = BUF_INIT, expected = BUF_INIT;
    char *mark;

    read_file(&file);
    mark = strstr(buf_cstr(&file), MARK);
    CHECK(mark);
    mark += strlen(MARK);
    write_reference(&expected);
    if (getenv("PAWL_WRITE_DOCS"))
        write_file(file.ptr, (size_t)(mark - file.ptr), &expected);
    else
        compare(mark, expected.ptr);
    buf_release(&file);
    buf_release(&expected);
}

TEST(example_in_the_page_is_valid)
{
    struct diagnostics diagnostics = DIAGNOSTICS_INIT;
    struct arena arena = ARENA_INIT;
    struct buf file = BUF_INIT;
    const struct workflow *w;
    struct err err = ERR_INIT;
    const char *from, *to;

    read_file(&file);
    from = strstr(buf_cstr(&file), "```yaml\n");
    CHECK(from);
    from += 8;
    to = strstr(from, "```\n");
    CHECK(to);
    CHECK_OK_ERR(workflow_parse(diagnostics_take(&diagnostics, "page", from, (size_t)(to - from)),
                                NULL, &diagnostics, &arena, &w, &err),
                 &err);
    CHECK_EQ(w->ntasks, 3);
    arena_release(&arena);
    diagnostics_release(&diagnostics);
    buf_release(&file);
}

TEST(every_key_has_a_complete_sentence)
{
    const struct key *k;
    size_t i;

    for (i = 0; keys_all[i]; i++)
        for (k = keys_all[i]->at; k->name; k++) {
            CHECK(k->sentence);
            if (k->sentence[strlen(k->sentence) - 1] != '.')
                test_fail(__FILE__, __LINE__, "%s: %s", k->name, k->sentence);
        }
}
