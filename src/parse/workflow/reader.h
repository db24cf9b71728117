/* reader.h - declarations shared by the files that read a workflow. The key tables drive the
 * reading; checks that need the whole graph follow at the end (check.c, references.c).
 *
 *   file.c         files, and the files that they nest
 *   root.c         a whole file
 *   map.c          a mapping, by its key table
 *   types.c        one reader for each type of key; the larger ones are in
 *     lists.c        lists, and mappings with arbitrary keys
 *     groups.c       small mappings and their short forms
 *     tasks.c        tasks, needs and defaults
 *     params.c       params and schedules
 *     json_value.c   values as JSON
 *   check.c        cycles, and indirect needs
 *   references.c   the references in expressions
 *   location.c     the column of an offset in a text */
#ifndef PARSE_WORKFLOW_READER_H
#define PARSE_WORKFLOW_READER_H

#include "parse/workflow/file.h"
#include "parse/workflow/keys.h"
#include "parse/yaml/yaml.h"

/* A text that contains ${{ }}; checked when the graph is known. */
struct text_use {
    const char *text;
    const char *what; /* its name in messages */
    uint32_t line, column;
    uint32_t task; /* the task's index, ON_FAILURE or ON_EXIT; NO_TASK for the workflow itself */
    enum scope scope;
    bool condition; /* the whole text is one expression */
};
#define NO_TASK    UINT32_MAX
#define ON_FAILURE (UINT32_MAX - 1)
#define ON_EXIT    (UINT32_MAX - 2)

struct loading; /* the files being loaded, see file.c */

struct reader {
    const struct yaml_doc *doc;
    struct loading *loading;
    struct arena *arena;
    struct workflow *w;

    /* The current position. */
    uint32_t task; /* as in text_use */
    enum scope scope;
    const struct yaml *tasks;     /* the mapping of tasks; NULL if they are a list */
    struct workflow_task *common; /* defaults */
    size_t common_size;           /* estimate of the bytes that they add to a task */
    bool bad_task;                /* an error was added for the current task */
    VEC(struct text_use) texts;
    struct arena scratch;
};

/* Writes the name of a value in messages, "tasks.extract.retry", to the caller's array of WHAT_SIZE
 * bytes and returns it. */
#define WHAT_SIZE 320
const char *reader_what(char *out, const char *above, const char *name);

/* Counts bytes of text that the definition keeps. Returns false above the limit; the error is added
 * once. */
bool reader_spend(struct reader *r, const struct yaml *node, size_t bytes);
/* Copies a text to the arena and counts its bytes; returns "" above the limit. */
const char *reader_keep(struct reader *r, const struct yaml *node, const char *text);

/* ---- reading by key tables ---- */

/* Reads the keys of a mapping into a structure. A key must be allowed in all of `places` (enum
 * key_context); 0 allows every key. */
void reader_keys(struct reader *r, const struct keys *keys, const struct yaml *map,
                 const char *what, unsigned places, void *to);
/* Adds an error about an unknown key, and suggests the one that may be meant. */
void reader_unknown_key(struct reader *r, const struct keys *keys, const struct yaml *key,
                        const char *what, unsigned places);
/* Reads one value into the structure `to`. Returns false if an error was added. */
bool reader_key(struct reader *r, const struct key *k, const struct yaml *node, const char *what,
                void *to);

/* Readers for one type of key each; `to` points to the member of the structure. */
typedef bool reader_reader(struct reader *r, const struct key *k, const struct yaml *node,
                           const char *what, void *to);
reader_reader reader_type_template, reader_type_variables, reader_type_outputs,
    reader_type_templates, reader_type_codes, reader_type_env, reader_type_values,
    reader_type_literal, reader_type_foreach, reader_type_retry, reader_type_limits,
    reader_type_container, reader_type_concurrency, reader_type_approval;

/* ---- parts of a file ---- */

/* Reads a whole file. If no error was added, the definition is complete. */
void reader_root(struct reader *r, const struct yaml *root);
bool reader_tasks(struct reader *r, const struct yaml *node, const char *what);
/* The index of the task whose value in the mapping of tasks this is. */
uint32_t reader_task_index(const struct reader *r, const struct yaml *value);
bool reader_hook(struct reader *r, const struct yaml *node, const char *name,
                 struct workflow_task **out);
bool reader_defaults(struct reader *r, const struct yaml *node, const char *what);
bool reader_needs(struct reader *r, const struct yaml *node, const char *what,
                  struct workflow_task *t);
bool reader_params(struct reader *r, const struct yaml *node, const char *what);
bool reader_schedules(struct reader *r, const struct yaml *node, const char *what);
/* Loads another file; an error is added at the node. */
bool reader_nested(struct reader *r, const struct yaml *node, const char *what,
                   const struct workflow **out);

/* ---- values ---- */

bool reader_is_variable(const char *s);
/* Returns the value as canonical JSON in the arena; NULL if an error was added. Texts with ${{ }}
 * are noted for reader_check_texts; if `literal`, they are errors. */
const char *reader_value(struct reader *r, const struct yaml *node, const char *what, bool literal);
/* Returns JSON in the canonical form that reading a stored definition yields; NULL if the text is
 * not valid JSON. */
const char *reader_canonical(struct reader *r, const struct buf *text);
/* Notes a text for reader_check_texts if it contains ${{ }}. */
void reader_note_text(struct reader *r, const struct yaml *node, const char *text,
                      const char *what);
void reader_note_condition(struct reader *r, const struct yaml *node, const char *text,
                           const char *what);
/* Checks values for the params of a workflow: each param exists, each value has the param's type,
 * and no required param is missing. `with` may be NULL. */
void reader_check_with(struct reader *r, const struct workflow *of, const struct yaml *with,
                       const struct yaml *location, const char *what);
bool reader_check_type(struct reader *r, const struct yaml *node, const char *what,
                       enum param_type type);

/* ---- final checks ---- */

/* Adds an error for each cycle; returns false if there is one. */
bool reader_check_graph(struct reader *r);
/* Compiles each noted text and checks its references. `whole` is true if the graph has no cycle. */
void reader_check_texts(struct reader *r, bool whole);
/* Adds an error for each entry whose `task` does not need `wanted`, directly or indirectly. The
 * graph must have no cycle. */
struct far_need {
    uint32_t task, wanted;
    const struct text_use *use;
    size_t offset;
};
void reader_check_far(struct reader *r, const struct far_need *list, size_t n);
/* Adds an error at an offset in the text, or at its start if the column can't be determined. */
void reader_error(struct reader *r, const struct text_use *use, size_t offset, const char *fmt, ...)
    PRINTF_LIKE(4, 5);

#endif
