/* reader.h - what the files that read a workflow share. Reading goes by the table of keys;
 * what needs the whole graph is checked at the end (check.c, references.c).
 *
 *   file.c         files, and those that they nest
 *   root.c    a whole file
 *   map.c     a mapping, by the table of keys
 *   types.c   one reader for each type of key; of these are
 *   lists.c     lists, and mappings of anything
 *   groups.c    small mappings, and what is short for them
 *   tasks.c     tasks and defaults
 *   params.c    params and schedules
 *   json_value.c     JSON
 *   check.c   circles, and who needs whom
 *   references.c    what expressions speak of; location.c says where that stands */
#ifndef PARSE_WORKFLOW_READER_H
#define PARSE_WORKFLOW_READER_H

#include "parse/workflow/file.h"
#include "parse/workflow/keys.h"
#include "parse/yaml/yaml.h"

/* A text with ${{ }} in it, to be checked once the graph is known. */
struct text_use {
    const char *text;
    const char *what; /* its name in sentences */
    uint32_t line, column;
    uint32_t task; /* whose; NO_TASK: the workflow's own */
    enum scope scope;
    bool condition; /* an expression by itself */
};
#define NO_TASK    UINT32_MAX
#define ON_FAILURE (UINT32_MAX - 1)
#define ON_EXIT    (UINT32_MAX - 2)

struct loading; /* the files, see file.c */

struct reader {
    const struct yaml_doc *doc;
    struct loading *loading;
    struct arena *arena;
    struct workflow *w;

    /* Where reading is just now. */
    uint32_t task; /* as in text_use */
    enum scope scope;
    const struct yaml *tasks;     /* the mapping; NULL: they are a list */
    struct workflow_task *common; /* defaults */
    size_t common_size;           /* bytes that these add to the text of a task, about */
    bool bad_task;                /* there was a problem with this task already */
    VEC(struct text_use) texts;
    struct arena scratch;
};

/* A name in sentences, "tasks.extract.retry": lives in the caller's array. */
#define WHAT_SIZE 320
const char *reader_what(char *out, const char *above, const char *name);

/* Counts bytes of text that the definition keeps. False: they are too many, which is a problem that
 * is added once. */
bool reader_spend(struct reader *r, const struct yaml *node, size_t bytes);
/* A copy in the arena; "" once they are too many. */
const char *reader_keep(struct reader *r, const struct yaml *node, const char *text);

/* ---- by the table ---- */

/* Reads the keys of a mapping into a structure. `places`: only keys that may stand in one of these
 * (0: all). */
void reader_keys(struct reader *r, const struct keys *keys, const struct yaml *map,
                 const char *what, unsigned places, void *to);
/* Says that there is no such key among them, and which one may be meant. */
void reader_unknown_key(struct reader *r, const struct keys *keys, const struct yaml *key,
                        const char *what, unsigned places);
/* Reads one value. `to` is the structure. False: a problem was added. */
bool reader_key(struct reader *r, const struct key *k, const struct yaml *node, const char *what,
                void *to);

/* Readers of one type of key: `to` is the value's place in its structure. */
typedef bool reader_reader(struct reader *r, const struct key *k, const struct yaml *node,
                           const char *what, void *to);
reader_reader reader_type_template, reader_type_variables, reader_type_outputs,
    reader_type_templates, reader_type_codes, reader_type_env, reader_type_values,
    reader_type_literal, reader_type_foreach, reader_type_retry, reader_type_limits,
    reader_type_container, reader_type_concurrency, reader_type_approval;

/* ---- what has a shape of its own ---- */

/* A whole file. If no problem was added, the definition is finished. */
void reader_root(struct reader *r, const struct yaml *root);
bool reader_tasks(struct reader *r, const struct yaml *node, const char *what);
/* The task whose value this is. */
uint32_t reader_task_index(const struct reader *r, const struct yaml *value);
bool reader_hook(struct reader *r, const struct yaml *node, const char *name,
                 struct workflow_task **out);
bool reader_defaults(struct reader *r, const struct yaml *node, const char *what);
bool reader_needs(struct reader *r, const struct yaml *node, const char *what,
                  struct workflow_task *t);
bool reader_params(struct reader *r, const struct yaml *node, const char *what);
bool reader_schedules(struct reader *r, const struct yaml *node, const char *what);
/* Another file; the problem is added at the node. */
bool reader_nested(struct reader *r, const struct yaml *node, const char *what,
                   const struct workflow **out);

/* ---- values ---- */

bool reader_is_variable(const char *s);
/* As canonical JSON in the arena; NULL: a problem was added. Texts with ${{ }} are noted for later,
 * or, if `literal`, stay what they are. */
const char *reader_value(struct reader *r, const struct yaml *node, const char *what, bool literal);
/* JSON in the very form in which a stored one is read again; NULL: it is none. */
const char *reader_canonical(struct reader *r, const struct buf *text);
/* Notes a text for later if it has ${{ }} in it. */
void reader_note_text(struct reader *r, const struct yaml *node, const char *text,
                      const char *what);
void reader_note_condition(struct reader *r, const struct yaml *node, const char *text,
                           const char *what);
/* Values for params: that there are such, that they have the right types, that none is missing.
 * `with` may be NULL. */
void reader_check_with(struct reader *r, const struct workflow *of, const struct yaml *with,
                       const struct yaml *place, const char *what);
bool reader_check_type(struct reader *r, const struct yaml *node, const char *what,
                       enum param_type type);

/* ---- at the end ---- */

/* Looks for circles. False: there is one. */
bool reader_check_graph(struct reader *r);
/* Compiles each text that was noted, and looks for what it names; `whole`: there is no circle. */
void reader_check_texts(struct reader *r, bool whole);
/* Whether these tasks are among those that others need, directly or not; those that are not get a
 * problem. */
struct far_need {
    uint32_t task, wanted;
    const struct text_use *use;
    size_t offset;
};
void reader_check_far(struct reader *r, const struct far_need *list, size_t n);
/* Adds a problem at an offset of the text, or where it begins, if that can't be told. */
void reader_error(struct reader *r, const struct text_use *use, size_t offset, const char *fmt, ...)
    PRINTF_LIKE(4, 5);

#endif
