/* complete.c - pawl complete: prints the candidates for the last word of a command line, one per
 * line, with a description after a tab. The scripts of `pawl completion` call it at each press of
 * the tab key, so it is silent and quick: it queries the database only when needed, and for at most
 * one second. Instead of candidates it may print ":files", ":dirs" or ":commands": then the script
 * completes names of files, folders or commands itself. */
#include "cli/complete/complete.h"

#include "base/mem.h"

#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#define PATIENCE_S 1

/* Finds, by its name, an option that may be used at this point of the line; NULL if none. */
static const struct option *option_of(const struct completion *l, const char *name, size_t len)
{
    const struct option *o = option_find(command_common(l->command), name, len);

    return o || !l->command ? o : option_find(l->command->options, name, len);
}

/* Notes the database that the command line names. */
static void remember_database(struct completion *l, const char *value)
{
    if (!strcmp(l->option->name, "db"))
        l->cli.db = value;
    else if (!strcmp(l->option->name, "tenant"))
        l->cli.tenant = value;
    else if (!strcmp(l->option->name, "server"))
        l->cli.server = value;
    else if (!strcmp(l->option->name, "token-file"))
        l->cli.token_file = value;
}

/* ---- candidates ---- */

/* Whether the word can be offered: words that a shell would have to quote are not. */
static bool is_plain(const char *word)
{
    return *word && !strpbrk(word, " \t\n\"'\\`$&|;<>(){}*?!~#") && (unsigned char)*word > ' ' &&
           *word != ':';
}

void offer(struct completion *l, const char *word, const char *text)
{
    AUTO_BUF b = BUF_INIT;

    if (strncmp(word, l->typed, strlen(l->typed)) || !is_plain(word) || !strcmp(word, l->last))
        return;
    snprintf(l->last, sizeof(l->last), "%s", word);
    buf_add(&b, l->word, (size_t)(l->typed - l->word));
    buf_addf(&b, "%s\t", word);
    out_clean(&b, text);
    puts(b.ptr);
}

static void offer_options(struct completion *l, const struct option *o)
{
    AUTO_BUF b = BUF_INIT;

    for (; o && o->name; o++) {
        buf_reset(&b);
        buf_addf(&b, "%s%s", option_dashes(o), o->name);
        offer(l, buf_cstr(&b), o->text);
    }
}

static void offer_commands(struct completion *l)
{
    const struct command *const *c;

    for (c = commands; *c; c++)
        if (!(*c)->hidden)
            offer(l, (*c)->name, (*c)->text);
}

/* ---- placeholders ---- */

static const struct placeholder {
    const char *name;
    const char *shell; /* what the shell should complete */
    void (*list)(struct completion *l);
    int (*fetch)(struct completion *l, struct pawl *p, struct pawl_error *err);
} placeholders[] = {
    {"FILE", .shell = ":files"},
    {"DIR", .shell = ":dirs"},
    {"CMD", .shell = ":commands"},
    {"ARG", .shell = ":files"},
    {"COMMAND", .list = offer_commands},
    {"TENANT", .list = offer_tenants},
    {"ID", .fetch = offer_ids},
    {"TASK", .fetch = offer_tasks},
    {"QUEUE", .fetch = offer_queues},
    {"SCHEDULE", .fetch = offer_schedules},
    {"WORKFLOW", .fetch = offer_workflows},
    {"TOKEN_NAME", .fetch = offer_tokens},
    {"HOOK_NAME", .fetch = offer_hooks},
    {"HASH", .fetch = offer_versions},
    {"WORKER", .fetch = offer_workers},
    {"HOST", .fetch = offer_hosts},
};

/* Offers candidates for a placeholder. After an error it offers none: the user will see the error
 * when running the command. */
static void offer_placeholder(struct completion *l, const struct placeholder *h)
{
    struct pawl_options o;
    struct pawl_error err;
    struct pawl *p;

    if (!l->cli.token && l->cli.token_file && cli_read_token(&l->cli))
        return;
    o = cli_options(&l->cli, true);
    o.note = NULL;
    o.trace = NULL;
    o.patience = 1; /* the user waits for the key to take effect */
    if (h->shell) {
        puts(h->shell);
    } else if (h->list) {
        h->list(l);
    } else if (!pawl_open(&o, &p, &err)) {
        (void)h->fetch(l, p, &err);
        pawl_close(p);
    }
}

/* Offers one word of a form: a lowercase word is literal, an uppercase word is a placeholder. */
static void offer_one(struct completion *l, const char *name, size_t len)
{
    char word[64];

    snprintf(word, sizeof(word), "%.*s", (int)len, name);
    if (*word >= 'a' && *word <= 'z')
        offer(l, word, "");
    for (size_t i = 0; i < sizeof(placeholders) / sizeof(*placeholders); i++)
        if (!strcmp(placeholders[i].name, word))
            offer_placeholder(l, &placeholders[i]);
}

/* A choice is a|b|c, ended by a space, a bracket, a comma or "…". */
#define CHOICE_END " ],…\n"

static void offer_choice(struct completion *l, const char *choice)
{
    size_t len;

    for (;; choice += len + 1) {
        len = strcspn(choice, "|" CHOICE_END);
        offer_one(l, choice, len);
        if (choice[len] != '|')
            break;
    }
}

/* ---- position in the line ---- */

#define AFTER_OPTIONS "[OPTION]… -- "

/* Returns the next word of a form, and moves *at to its end; NULL if there is none. Options come
 * last in a form. */
static const char *form_next(const char **at)
{
    const char *word = *at + strspn(*at, " []");

    *at = word + strcspn(word, CHOICE_END);
    return *at == word || *word == '-' ? NULL : word;
}

/* Whether a given word matches this word of the form. */
static bool form_allows(const char *word, const char *given)
{
    size_t len = strlen(given);

    return *word < 'a' || *word > 'z' ||
           (strcspn(word, CHOICE_END) == len && !memcmp(word, given, len));
}

/* Offers the next word of the form, if the words before match it. */
static void complete_form(struct completion *l, const char *form)
{
    const char *word;

    if (!strncmp(form, AFTER_OPTIONS, strlen(AFTER_OPTIONS)))
        form += strlen(AFTER_OPTIONS);
    word = form_next(&form);
    for (int i = 0; word && i < l->cli.nwords; i++) {
        if (!form_allows(word, l->cli.words[i]))
            return;
        if (strncmp(form, "…", strlen("…")))
            word = form_next(&form);
    }
    if (word)
        offer_choice(l, word);
}

static void complete_word(struct completion *l)
{
    const char *form = l->command->forms;

    complete_form(l, form);
    while ((form = strchr(form, '\n')))
        complete_form(l, ++form);
}

/* Completes an option's value; in a comma-separated list, only the last value. */
static void complete_value(struct completion *l)
{
    const char *value = l->option->value, *comma = strrchr(l->typed, ',');

    if (value[strlen(value) - 1] == ',' && comma)
        l->typed = comma + 1;
    offer_choice(l, value);
}

static void complete(struct completion *l)
{
    const char *equals = strchr(l->word, '=');

    l->typed = l->word;
    if (!l->option && *l->word == '-' && equals && !l->words_only) {
        size_t len = strspn(l->word, "-");

        l->option = option_of(l, l->word + len, (size_t)(equals - l->word) - len);
        l->typed = equals + 1;
    }
    if (l->option && l->option->value) {
        complete_value(l);
    } else if (*l->word == '-' && !l->words_only) {
        offer_options(l, l->command ? l->command->options : NULL);
        offer_options(l, command_common(l->command));
    } else if (l->command) {
        complete_word(l);
    } else {
        offer_commands(l);
    }
}

/* Processes a word before the one to complete. */
static void read_word(struct completion *l, const char *word)
{
    const char *name = word + strspn(word, "-"), *equals = strchr(name, '=');
    size_t len = equals ? (size_t)(equals - name) : strlen(name);
    const struct option *o;

    if (l->option) {
        remember_database(l, word);
        l->option = NULL;
    } else if (!l->words_only && !strcmp(word, "--")) {
        l->words_only = true;
    } else if (!l->words_only && *word == '-') {
        o = option_of(l, name, len);
        l->option = o && o->value ? o : NULL;
        if (l->option && equals) {
            remember_database(l, equals + 1);
            l->option = NULL;
        }
    } else if (!l->command) {
        l->command = command_find(word);
        l->unknown |= !l->command;
    } else {
        l->cli.words[l->cli.nwords++] = word;
    }
}

/* Exits silently: someone who presses a key does not want messages about an unreachable
 * database. */
static void give_up(int signal)
{
    (void)signal;
    _exit(0);
}

static int complete_words(struct cli *c)
{
    struct itimerval patience = {.it_value = {.tv_sec = PATIENCE_S}};
    struct completion l = {0};

    signal(SIGALRM, give_up);
    setitimer(ITIMER_REAL, &patience, NULL);
    l.cli.words = mem_zalloc(((size_t)c->nwords + 1) * sizeof(*l.cli.words));
    for (int i = 0; i < c->nwords - 1; i++)
        read_word(&l, c->words[i]);
    l.word = c->nwords ? c->words[c->nwords - 1] : "";
    if (!l.unknown)
        complete(&l);
    free(l.cli.words);
    free(l.cli.token);
    return 0;
}

const struct command command_complete = {
    .name = "complete",
    .forms = "-- WORD…",
    .text = "print candidates for the last word of a command line; used by completion scripts",
    .most = INT_MAX,
    .run = complete_words,
    .no_json = true,
    .hidden = true,
};
