/* test_yaml.c - the YAML reader: the tree it builds, and what it refuses with which message. */
#include "yaml_fixture.h"

#include <fcntl.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

TEST_NO_DB;

/* ---- the tree ---- */

TEST(scalars_have_the_types_of_the_yaml_core_schema)
{
    static const struct {
        const char *text;
        enum yaml_kind kind;
    } cases[] = {
        {"", YAML_NULL},           {"~", YAML_NULL},           {"null", YAML_NULL},
        {"Null", YAML_NULL},       {"NULL", YAML_NULL},        {"nUll", YAML_TEXT},
        {"true", YAML_BOOL},       {"False", YAML_BOOL},       {"TRUE", YAML_BOOL},
        {"on", YAML_TEXT},         {"off", YAML_TEXT},         {"yes", YAML_TEXT},
        {"no", YAML_TEXT},         {"y", YAML_TEXT},           {"NO", YAML_TEXT},
        {"0", YAML_INT},           {"-17", YAML_INT},          {"+3", YAML_INT},
        {"007", YAML_INT},         {"0o17", YAML_INT},         {"0xfF", YAML_INT},
        {"0o8", YAML_TEXT},        {"0x", YAML_TEXT},          {"-0x1", YAML_TEXT},
        {"1_000", YAML_TEXT},      {"12:30:45", YAML_TEXT},    {"2026-01-31", YAML_TEXT},
        {"1.5", YAML_FLOAT},       {"-.5", YAML_FLOAT},        {"1.", YAML_FLOAT},
        {"1e3", YAML_FLOAT},       {"1.5E-3", YAML_FLOAT},     {".inf", YAML_FLOAT},
        {"-.Inf", YAML_FLOAT},     {".nan", YAML_FLOAT},       {".", YAML_TEXT},
        {"1e", YAML_TEXT},         {"e3", YAML_TEXT},          {"1.2.3", YAML_TEXT},
        {"\"1\"", YAML_TEXT},      {"'true'", YAML_TEXT},      {"\"\"", YAML_TEXT},
        {"!!str 1", YAML_TEXT},    {"! 1", YAML_TEXT},         {"!!int \"12\"", YAML_INT},
        {"!!float 1", YAML_FLOAT}, {"!!null \"\"", YAML_NULL}, {"30s", YAML_TEXT},
        {"!!seq []", YAML_LIST},   {"!!map {}", YAML_MAP},
    };
    size_t i;

    for (i = 0; i < COUNT(cases); i++) {
        struct reading *r = read_good(cases[i].text);

        if (r->doc.root.kind != cases[i].kind)
            test_fail(__FILE__, __LINE__, "%s is of kind %d, not %d", cases[i].text,
                      r->doc.root.kind, cases[i].kind);
        done(r);
    }
}

TEST(numbers_have_the_same_values_in_every_locale)
{
    struct reading *r =
        read_good("[0o17, 0xff, -9223372036854775808, 1.5, -.inf, .nan, +12, TRUE, False]");
    const struct yaml *i = r->doc.root.items;
    double jitter = 0;

    CHECK_EQ(r->doc.root.n, 9);
    CHECK_EQ(yaml_int_value(&i[0]), 15);
    CHECK_EQ(yaml_int_value(&i[1]), 255);
    CHECK_EQ(yaml_int_value(&i[2]), INT64_MIN);
    CHECK(yaml_float_value(&i[3]) == 1.5);
    CHECK(yaml_float_value(&i[4]) < -1e308);
    CHECK(isnan(yaml_float_value(&i[5])));
    CHECK(yaml_float_value(&i[6]) == 12.0);
    CHECK(yaml_bool_value(&i[7]) && !yaml_bool_value(&i[8]));
    if (setlocale(LC_ALL, "de_DE.UTF-8")) /* a locale whose decimal separator is a comma */
        CHECK(yaml_number(&r->doc, &i[3], "x", 0, 2, &jitter) && jitter == 1.5);
    done(r);
}

TEST(every_node_has_its_line_and_column_in_characters)
{
    struct reading *r = read_good("\xEF\xBB\xBF"
                                  "a: 1\r\n"
                                  "größe: {b: [x, ü, y]}\n"
                                  "text: |\n"
                                  "  zeile\n"
                                  "c: &n last\n"
                                  "d: *n\n");
    const struct yaml *root = &r->doc.root, *list, *d;

    CHECK_EQ(root->n, 5);
    CHECK_EQ(yaml_pair(root, 0)->key.line, 1);
    CHECK_EQ(yaml_pair(root, 0)->key.column, 1);
    CHECK_EQ(yaml_pair(root, 0)->value.column, 4);
    list = yaml_get(yaml_get(root, "größe"), "b");
    CHECK_EQ(list->n, 3);
    CHECK_EQ(list->line, 2);
    CHECK_EQ(list->column, 12);
    CHECK_EQ(list->items[2].column, 19);
    CHECK_STR(yaml_get(root, "text")->text, "zeile\n");
    d = yaml_get(root, "d");
    CHECK_STR(d->text, "last");
    CHECK_EQ(d->line, 6); /* the location of the alias, not of its anchor */
    CHECK_EQ(d->column, 4);
    done(r);
}

TEST(empty_file_or_file_with_only_comments_is_null)
{
    static const char *const texts[] = {"", "\n\n", "# nothing\n", "---\n", "---\n...\n"};
    size_t i;

    for (i = 0; i < COUNT(texts); i++) {
        struct reading *r = read_good(texts[i]);

        CHECK_EQ(r->doc.root.kind, YAML_NULL);
        CHECK_STR(r->doc.root.text, "");
        CHECK(!yaml_get(&r->doc.root, "x"));
        done(r);
    }
}

TEST(alias_refers_to_the_latest_anchor_with_its_name)
{
    struct reading *r = read_good("a: &x {k: [1, 2]}\nb: *x\nc: &x 3\nd: *x\n*x : e\n");
    const struct yaml *root = &r->doc.root;

    CHECK_EQ(yaml_get(yaml_get(root, "b"), "k")->n, 2);
    CHECK_STR(yaml_get(root, "d")->text, "3");
    CHECK_STR(yaml_get(root, "3")->text, "e");
    done(r);
}

/* ---- refused documents ---- */

static const struct {
    const char *text, *diagnostics;
} refused[] = {
    {"a: 1\nb: 2\na: 3\nb: 4\n", "3:1: the key \"a\" is already defined on line 1\n"
                                 "4:1: the key \"b\" is already defined on line 2"},
    {"{a: 1, 'a': 2, a: 3}", "1:8: the key \"a\" is already defined on line 1\n"
                             "1:16: the key \"a\" is already defined on line 1"},
    {"a: !shell rm\nb: !!binary aGk=\nc: !!int x\nd: !!map []\n",
     "1:4: the tag \"!shell\" is not allowed: only !!str, !!int and the other tags of YAML's core schema "
     "are\n"
     "2:4: the tag \"tag:yaml.org,2002:binary\" is not allowed: only !!str, !!int and the other tags of "
     "YAML's core schema are\n"
     "3:4: this value is not of the type !!int\n"
     "4:4: this value is not of the type !!map"},
    {"a: *b\nc: &c [*c]\n", "1:4: *b is not defined: there is no &b before it\n"
                            "2:8: the alias *c is inside the value that it refers to"},
    {"a: &a {x: 1}\nb:\n  <<: *a\n",
     "3:3: merging with \"<<\" is not part of YAML 1.2: write the keys, or an alias for the whole "
     "mapping"},
    {"? [a]\n: 1\n? {b: 1}\n: 2\n\"\": 3\n", "1:3: a key must be a string, not a list\n"
                                             "3:3: a key must be a string, not a mapping\n"
                                             "5:1: a key is missing here"},
    {"a: 99999999999999999999\n",
     "1:4: this number needs more than 64 bits: put it in quotes if it is a string"},
    {"a: \"x\\0y\"\n", "1:4: a string can't contain a NUL character"},
    {"a: 1\n---\nb: 2\n", "2:1: a second document starts here: a file may contain only one"},
    {"a:\n\tb: 1\n", "2:1: a tab can't indent YAML: use spaces"},
    {"a: @x\n", "1:4: a string can\'t start with \"@\": put it in quotes"},
    {"a: 100%\nb: %x\n", "2:4: a string can\'t start with \"%\": put it in quotes"},
    {"a: b: c\n",
     "1:5: a \": \" is not expected here: put the text in quotes or below a \"|\", or check the indentation"},
    {"a: [1, 2\nb: 3\n", "2:2: a \",\" or \"]\" is missing before this (while parsing a flow "
                         "sequence from line 1)"},
    {"a: {b: 1\n",
     "2:1: a \",\" or \"}\" is missing before this (while parsing a flow mapping from "
     "line 1)"},
    {"a: \"x\nb: 1\n", "3:1: the closing quote is missing (while scanning a quoted scalar from "
                       "line 1)"},
    {"a: \"\\d\"\n",
     "1:5: this escape is unknown: in \"…\" a backslash is written \\\\, or use '…'"},
    {"a: 1\n  b: 2\n",
     "2:4: a \": \" is not expected here: put the text in quotes or below a \"|\", or check the indentation"},
    {"a: 1\nb\nc: 2\n",
     "3:1: this key has no \":\": write \"key: value\", or put the text in quotes "
     "if it belongs to the line above (while scanning a simple key from line 2)"},
    {"a:\n  - 1\n b: 2\n", "3:2: a key is expected here: check the indentation, and that the lines "
                           "above are complete (while parsing a block mapping from line 1)"},
    {"- 1\nb: 2\n",
     "2:1: an item of the list above is expected here: start it with \"- \", or check "
     "the indentation (while parsing a block collection from line 1)"},
};

TEST(all_yaml_errors_are_reported_together_with_their_locations)
{
    size_t i;

    for (i = 0; i < COUNT(refused); i++) {
        struct reading *r = read_text(refused[i].text);

        CHECK_STR(diagnostics_text(r), refused[i].diagnostics);
        done(r);
    }
}

/* libyaml does not treat it as a key, so its own error is about the ":" after it. */
TEST(key_that_is_too_long_is_reported_at_its_start)
{
    static const struct {
        const char *around, *problem;
    } cases[] = {
        {"{\"a\": 1, \"%s\": 2}\n", "1:10: this key is longer than 1024 characters, "},
        {"a:\n  b: {'%s' : 2}\n", "2:7: this key is longer than 1024 characters, "},
        {"a:\n  %s: 2\n", "2:3: this key is longer than 1024 characters, "},
        {"- \"\\\"%s\": 2\n", "1:3: this key is longer than 1024 characters, "},
        {"a: %s: 2\n", "1:1204: a \": \" is not expected here"},
        {"{\"a\": \"%s\": 2}\n", "1:1209: a \",\" or \"}\" is missing before this"},
        {"{\"%s\" \"b\": 2}\n", "1:1205: a \",\" or \"}\" is missing before this"},
    };
    char key[1201], text[1300];
    size_t i;

    memset(key, 'k', sizeof(key) - 1);
    key[sizeof(key) - 1] = '\0';
    for (i = 0; i < COUNT(cases); i++) {
        const char *at = strstr(cases[i].around, "%s");
        struct reading *r;

        snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - cases[i].around), cases[i].around, key,
                 at + 2);
        r = read_text(text);
        if (strncmp(diagnostics_text(r), cases[i].problem, strlen(cases[i].problem)) != 0)
            CHECK_STR(diagnostics_text(r), cases[i].problem);
        done(r);
    }
}

TEST(bytes_that_are_not_text_are_refused_at_their_location)
{
    static const struct {
        const char *text;
        size_t len;
        const char *problem;
    } cases[] = {
        {"a: \xFF", 4, "1:4: the byte 0xFF is not valid UTF-8: save the file as UTF-8"},
        {"a: ü\nb: x\xC3", 11, "2:5: the byte 0xC3 is not valid UTF-8: save the file as UTF-8"},
        {"\xFF\xFE"
         "a\0",
         4, "1:1: the byte 0xFF is not valid UTF-8: save the file as UTF-8"},
        {"a: \xED\xA0\x80", 6, "1:4: the byte 0xED is not valid UTF-8: save the file as UTF-8"},
        {"a:\n  b\0c", 8, "2:4: a NUL character can't be part of YAML"},
        {"a: \x1b[31m", 8,
         "1:4: the control character 0x1B can't be part of YAML: write it as \"\\x1B\""},
        {"x\na: \xC2\x80", 7,
         "2:4: this character can't be part of YAML: control characters are not allowed"},
    };
    size_t i;

    for (i = 0; i < COUNT(cases); i++) {
        struct reading *r = read_bytes(cases[i].text, cases[i].len);

        CHECK_EQ(r->rc, -E_INVALID);
        CHECK_STR(diagnostics_text(r), cases[i].problem);
        done(r);
    }
}

TEST(document_with_duplicate_keys_is_readable_and_the_first_key_wins)
{
    struct reading *r = read_text("a: 1\na: 2\nb: 3\n");

    CHECK_OK(r->rc);
    CHECK_EQ(r->diagnostics.count, 1);
    CHECK_STR(yaml_get(&r->doc.root, "a")->text, "1");
    CHECK_STR(yaml_get(&r->doc.root, "b")->text, "3");
    done(r);
}

/* ---- how diagnostics are shown ---- */

TEST(diagnostic_shows_its_line_with_a_caret)
{
    struct reading *r = read_text("name: x\ngrün: {a: 1, a: 2}\n");

    diagnostics_show(&r->diagnostics, &r->shown);
    CHECK_STR(buf_cstr(&r->shown), "f.yaml:2:14: the key \"a\" is already defined on line 2\n"
                                   "     2 | grün: {a: 1, a: 2}\n"
                                   "       |              ^\n");
    done(r);
}

TEST(byte_order_mark_does_not_move_the_caret)
{
    struct reading *r = read_text("\xEF\xBB\xBF"
                                  "a: *b\n");

    diagnostics_show(&r->diagnostics, &r->shown);
    CHECK_STR(buf_cstr(&r->shown), "f.yaml:1:4: *b is not defined: there is no &b before it\n"
                                   "     1 | a: *b\n"
                                   "       |    ^\n");
    done(r);
}

TEST(long_line_in_a_diagnostic_is_cut_around_the_caret)
{
    struct buf text = BUF_INIT;
    struct reading *r;
    const char *line, *caret;
    int i;

    buf_addstr(&text, "[");
    for (i = 0; i < 5000; i++)
        buf_addf(&text, "%d, ", i);
    buf_addstr(&text, "*here");
    for (i = 0; i < 5000; i++)
        buf_addf(&text, ", %d", i);
    buf_addstr(&text, "]");
    r = read_text(text.ptr);
    diagnostics_show(&r->diagnostics, &r->shown);
    line = strchr(r->shown.ptr, '\n') + 1;
    caret = strchr(line, '\n') + 1;
    CHECK(caret - line < 120);
    CHECK(!strncmp(line, "     1 | …", 10));
    /* the ellipsis is one column wide, but three bytes */
    CHECK(!strncmp(line + (strchr(caret, '^') - caret) + 2, "*here,", 6));
    buf_release(&text);
    done(r);
}

TEST(diagnostic_contains_no_password_or_control_character)
{
    struct reading *r =
        read_text("db: postgres://me:se:cr@t@host/x\tz !!\ndb: postgres://u:pw@h\n"
                  "port: http://host:80/ \"\\e[31m\\x9b\"\n\"\\e\\x9b\": 1\n\"\\e\\x9b\": 2\n");
    const char *p;
    int64_t n;

    CHECK(!yaml_int(&r->doc, yaml_get(&r->doc.root, "db"), "n", 0, 1, &n));
    diagnostics_show(&r->diagnostics, &r->shown);
    CHECK(!strstr(r->shown.ptr, "cr@t") && !strstr(r->shown.ptr, "pw@"));
    CHECK(strstr(r->shown.ptr, "postgres://me:***@host/x z !!\n"));
    CHECK(strstr(r->shown.ptr, "postgres://u:***@h\n"));
    CHECK(strstr(r->shown.ptr, "not 'postgres://me:***@host/x"));
    for (p = r->shown.ptr; *p; p++)
        CHECK((unsigned char)*p >= 0x20 || *p == '\n');
    CHECK(!strstr(r->shown.ptr, "\xC2\x9b"));
    done(r);
}

TEST(diagnostics_beyond_the_first_fifty_are_counted)
{
    struct buf text = BUF_INIT;
    struct err err = ERR_INIT;
    struct reading *r;
    int i;

    for (i = 0; i < 200; i++)
        buf_addf(&text, "k%d: *nothing\n", i);
    r = read_text(text.ptr);
    CHECK_EQ(r->diagnostics.count, 200);
    CHECK_EQ(r->diagnostics.list.n, DIAGNOSTICS_KEPT);
    CHECK(diagnostics_full(&r->diagnostics));
    diagnostics_show(&r->diagnostics, &r->shown);
    CHECK(strstr(r->shown.ptr, "… and 150 more.\n"));
    CHECK_EQ(diagnostics_err(&r->diagnostics, &err), -E_INVALID);
    CHECK_STR(err.msg,
              "f.yaml:1:5: *nothing is not defined: there is no &nothing before it (and 199 more)");
    buf_release(&text);
    done(r);
}

/* ---- files ---- */

TEST(yaml_file_is_read_completely_and_a_missing_file_is_reported)
{
    struct diagnostics ps = DIAGNOSTICS_INIT;
    const struct source *s = NULL;
    struct err err = ERR_INIT;
    char path[512];
    int fd;

    snprintf(path, sizeof(path), "%s/x.yaml", test_dir());
    CHECK_EQ(diagnostics_read(&ps, path, NULL, &s, &err), -E_NOT_FOUND);
    CHECK(strstr(err.msg, "x.yaml can't be read: No such file"));
    fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && write(fd, "a: 1\n", 5) == 5);
    CHECK_OK_ERR(diagnostics_read(&ps, path, NULL, &s, &err), &err);
    CHECK_STR(s->text, "a: 1\n");
    CHECK_STR(s->name, path);
    CHECK_OK(ftruncate(fd, SOURCE_MAX + 1));
    CHECK_EQ(diagnostics_read(&ps, path, NULL, &s, &err), -E_INVALID);
    CHECK(strstr(err.msg, "is longer than 8 MB"));
    CHECK_EQ(diagnostics_read(&ps, test_dir(), NULL, &s, &err), -E_INVALID);
    CHECK(strstr(err.msg, "Is a directory"));
    close(fd);
    diagnostics_release(&ps);
}
