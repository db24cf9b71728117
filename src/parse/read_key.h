/* read_key.h - reads the mappings of a YAML file by the tables of keys (core/workflow/keys.h):
 * those of a workflow file, and those of pawl.yaml.
 *
 *   read_key.c     a mapping, and the types that are numbers or strings
 *   read_list.c    lists, and mappings with arbitrary keys
 *   read_group.c   small mappings and their short forms
 *   read_json.c    values of any shape, as JSON */
#ifndef PARSE_READ_KEY_H
#define PARSE_READ_KEY_H

#include "core/workflow/keys.h"
#include "parse/yaml/yaml.h"

/* A string that contains ${{ }}. It is noted here and checked when the whole graph is known. */
struct text_use {
    const char *text;
    const char *what; /* name of the string in messages */
    uint32_t line, column;
    uint32_t task; /* the task's index, ON_FAILURE or ON_EXIT; NO_TASK for the workflow itself */
    enum scope scope;
    bool condition; /* whether the whole string is one expression */
};
#define NO_TASK    UINT32_MAX
#define ON_FAILURE (UINT32_MAX - 1)
#define ON_EXIT    (UINT32_MAX - 2)

/* Counts the bytes of text in all files of a definition, to limit them. */
struct text_budget {
    size_t spent;
    bool over_limit; /* whether the error about the limit was added */
};

struct reader;
/* A reader: reads one value into the member `to`. Returns false if it added an error. `what` names
 * the value in messages. */
typedef bool reader_fn(struct reader *r, const struct key *k, const struct yaml *node,
                       const char *what, void *to);

struct reader {
    const struct yaml_doc *doc;
    struct arena *arena;
    reader_fn *other;                 /* reads the types that exist only in this kind of file */
    VEC(const struct yaml *) refused; /* values for which an error was added */

    /* Members for a workflow file; see parse/workflow/reader.h. */
    struct loading *loading;
    struct text_budget *budget; /* NULL for no limit */
    struct workflow *w;
    uint32_t task; /* the current task, see text_use.task */
    enum scope scope;
    const struct yaml *tasks; /* the mapping of tasks; NULL if they are a list */
    size_t common_size;       /* estimated bytes that defaults and secrets add to each task */
    bool bad_task;            /* whether an error was added for the current task */
    VEC(struct text_use) texts;
    struct arena scratch;

    /* Members for pawl.yaml; see parse/config/config.c. */
    struct config *config;
    const char *untrusted; /* why a key that needs trust is refused; NULL if the file is trusted */
    const char *folder;    /* absolute path where relative paths in the document start */
    const char *home;      /* folder for paths that start with ~/; NULL if unknown */
    int processors;        /* the number that `auto` means */
};
void reader_release(struct reader *r);

/* Writes the name of a value for messages, such as "tasks.extract.retry", to the caller's array of
 * WHAT_SIZE bytes and returns the array. */
#define WHAT_SIZE 320
const char *reader_what(char *out, const char *above, const char *name);

/* Counts bytes of text that the definition keeps. Returns false if there are too many; the error
 * about this is added only once. */
bool reader_spend(struct reader *r, const struct yaml *node, size_t bytes);
/* Copies a string to the arena and counts its bytes. Returns "" if there are too many. */
const char *reader_keep(struct reader *r, const struct yaml *node, const char *text);

/* ---- by the tables ---- */

/* Reads the keys of a mapping into a structure. A key must be allowed in all of `places` (enum
 * key_context); 0 allows every key. */
void reader_keys(struct reader *r, const struct keys *keys, const struct yaml *map,
                 const char *what, unsigned places, void *to);
/* Adds an error for each unknown key of a mapping; returns false if there is an unknown key. */
bool reader_known_keys(struct reader *r, const struct keys *keys, const struct yaml *map,
                       const char *what);
/* Reads the value of one key into the structure `to`. Returns false if an error was added. */
bool reader_key(struct reader *r, const struct key *k, const struct yaml *node, const char *what,
                void *to);
/* The value at a path of keys such as "worker.lease"; NULL if it is missing or was refused. */
const struct yaml *reader_given(const struct reader *r, const struct yaml *map, const char *path);
/* For keys that the file does not contain, sets the members of *to to their documented defaults.
 * Sets only stored defaults (key.stored_default) or, if `all`, every default that is not in ( ). */
void reader_defaults_of(struct reader *r, const struct keys *keys, void *to, bool all);

/* Read the values whose types are in read_list.c and read_group.c. */
reader_fn reader_list, reader_group;
bool reader_template(struct reader *r, const struct key *k, const struct yaml *node,
                     const char *what, const char **to);
/* Checks of strings. Each returns NULL if the string is valid, otherwise a description of the
 * expected string. */
const char *bad_name(const char *text);
const char *bad_variable(const char *text);
const char *bad_queue(const char *text);
const char *bad_path(const char *text);
bool reader_is_variable(const char *s);
/* Makes a path absolute. The result is in the arena. */
const char *reader_path(struct reader *r, const char *text);

/* ---- values ---- */

/* Returns the value as canonical JSON in the arena; NULL if an error was added. Strings with ${{ }}
 * are noted (reader_note_text); if `literal`, they are errors. */
const char *reader_value(struct reader *r, const struct yaml *node, const char *what, bool literal);
/* Converts JSON to the canonical form that reading a stored definition yields; NULL if the text is
 * not valid JSON. */
const char *reader_canonical(struct reader *r, const struct buf *text);
/* Notes a string, so that reader_check_texts checks it, if it is a condition or contains ${{ }}. */
void reader_note_text(struct reader *r, const struct yaml *node, const char *text, const char *what,
                      bool condition);

#endif
