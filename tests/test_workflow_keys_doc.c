/* test_workflow_keys_doc.c - prints the reference in docs/WORKFLOWS.md from the key table and
 * compares it with the file, so that the page agrees with the code. The text above the reference is
 * written by hand; the example there is parsed like a file. PAWL_WRITE_DOCS=1
 * build/tests/test_workflow_keys_doc writes the reference instead. */
#include "page_fixture.h"

#include "parse/render/describe.h"
#include "parse/workflow/file.h"

TEST_NO_DB;

#define FILE_NAME "docs/WORKFLOWS.md"
#define MARK      "test_workflow_keys_doc -->\n"

/* ---- the reference ---- */

static void add_table(struct buf *b, const struct keys *keys)
{
    const struct key *k;

    buf_addstr(b, "| key | holds | default | |\n|---|---|---|---|\n");
    KEYS_EACH(keys, k)
    {
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

TEST(workflow_reference_page_matches_the_code)
{
    struct buf file = BUF_INIT, page = BUF_INIT;
    const char *mark;

    read_page(FILE_NAME, &file);
    mark = strstr(buf_cstr(&file), MARK);
    CHECK(mark);
    buf_add(&page, file.ptr, (size_t)(mark - file.ptr) + strlen(MARK));
    write_reference(&page);
    check_page(FILE_NAME, buf_cstr(&page), "test_workflow_keys_doc");
    buf_release(&file);
    buf_release(&page);
}

TEST(example_on_the_workflow_reference_page_is_valid)
{
    struct diagnostics diagnostics = DIAGNOSTICS_INIT;
    struct arena arena = ARENA_INIT;
    struct buf file = BUF_INIT;
    const struct workflow *w;
    struct err err = ERR_INIT;
    const char *from, *to;

    read_page(FILE_NAME, &file);
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

TEST(every_workflow_key_is_described_by_a_complete_sentence)
{
    const struct key *k;
    size_t i;

    for (i = 0; keys_all[i]; i++)
        KEYS_EACH(keys_all[i], k)
    if (k->sentence[strlen(k->sentence) - 1] != '.')
        test_fail(__FILE__, __LINE__, "%s: %s", k->name, k->sentence);
}
