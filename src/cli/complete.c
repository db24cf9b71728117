/* complete.c - pawl complete: what may stand at the end of a command line, one candidate a line
 * with what it is after a tab. The scripts of `pawl completion` ask it at each press of the key, so
 * it is silent and quick: it asks the database only for what is in there, and not for longer than a
 * second. ":files", ":dirs" and ":commands" leave it to the shell, which knows those better. */
#include "cli/cli.h"

#include "base/mem.h"

#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#define PATIENCE_S 1
#define RECENT     50

/* A command line up to the word that is to be completed. */
struct line {
    const struct command *command; /* NULL: not yet */
    const struct option *option;   /* whose value the word is */
    bool words_only;               /* "--" was there */
    bool unknown;                  /* a command that there is not */
    struct cli cli;                /* words and common options before it */
    const char *word;              /* as far as it is typed */
    char last[64];                 /* the candidate before: forms may begin with the same word */
    const char *typed;             /* the part of it that is matched; the rest stays before it */
};

/* An option that may stand here, by its name. */
static const struct option *option_of(const struct line *l, const char *name, size_t len)
{
    const struct option *o = option_find(common_options, name, len);

    return o || !l->command ? o : option_find(l->command->options, name, len);
}

/* Remembers which database the line is about. */
static void take_place(struct line *l, const char *value)
{
    if (!strcmp(l->option->name, "db"))
        l->cli.db = value;
    else if (!strcmp(l->option->name, "tenant"))
        l->cli.tenant = value;
}

/* ---- candidates ---- */

/* What a shell would have to quote is left to people. */
static bool is_plain(const char *word)
{
    return *word && !strpbrk(word, " \t\n\"'\\`$&|;<>(){}*?!~#") && (unsigned char)*word > ' ' &&
           *word != ':';
}

static void offer(struct line *l, const char *word, const char *text)
{
    struct buf b = BUF_INIT;

    if (strncmp(word, l->typed, strlen(l->typed)) || !is_plain(word) || !strcmp(word, l->last))
        return;
    snprintf(l->last, sizeof(l->last), "%s", word);
    buf_add(&b, l->word, (size_t)(l->typed - l->word));
    buf_addf(&b, "%s\t", word);
    out_clean(&b, text);
    puts(b.ptr);
    buf_release(&b);
}

static void offer_options(struct line *l, const struct option *o)
{
    struct buf b = BUF_INIT;

    for (; o && o->name; o++) {
        buf_reset(&b);
        buf_addf(&b, "%s%s", option_dashes(o), o->name);
        offer(l, buf_cstr(&b), o->text);
    }
    buf_release(&b);
}

static void offer_commands(struct line *l)
{
    const struct command *const *c;

    for (c = commands; *c; c++)
        if (!(*c)->hidden)
            offer(l, (*c)->name, (*c)->text);
}

/* ---- what the database knows ---- */

/* Of which executions a command can make use. */
static const struct wanted {
    const char *command;
    bool all;            /* at any depth */
    const char *status;  /* NULL: any */
    const char *field;   /* one that must not be null; NULL: none */
    const char *waiting; /* what it waits for; NULL: anything */
} wanted[] = {
    {"logs", .all = true, .field = "executor"},
    {"approve", .all = true, .status = "pending,ready", .waiting = "approval"},
    {"reject", .all = true, .status = "pending,ready", .waiting = "approval"},
    {"skip", .all = true, .status = "pending,ready"},
    {"cancel", .status = "pending,ready,running"},
    {"pause", .status = "pending,ready,running"},
    {"resume", .status = "pending,ready,running"},
    {"rerun", .status = "succeeded,failed,timed_out,cancelled,skipped"},
};

static const struct wanted *wanted_by(const char *command)
{
    static const struct wanted any = {0};
    size_t i;

    for (i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
        if (!strcmp(wanted[i].command, command))
            return &wanted[i];
    return &any;
}

static bool is_wanted(const struct wanted *w, const json_t *o)
{
    if (w->field && json_is_null(json_object_get(o, w->field)))
        return false;
    return !w->waiting || !strncmp(field(o, "waiting"), w->waiting, strlen(w->waiting));
}

static int offer_execution(void *arg, const char *json)
{
    struct line *l = arg;
    json_t *o = parse_object(json);
    struct buf id = BUF_INIT, text = BUF_INIT;

    if (!is_wanted(wanted_by(l->command->name), o)) {
        json_decref(o);
        return 0;
    }
    buf_addi64(&id, field_int(o, "id"));
    buf_addf(&text, "%s, %s", field(o, "name"), field(o, "status"));
    offer(l, buf_cstr(&id), buf_cstr(&text));
    buf_release(&id);
    buf_release(&text);
    json_decref(o);
    return 0;
}

static int offer_task(void *arg, const char *json)
{
    json_t *o = parse_object(json);

    offer(arg, field(json_object_get(o, "workflow_task"), "task_name"), field(o, "status"));
    json_decref(o);
    return 0;
}

static int offer_queue(void *arg, const char *json)
{
    json_t *o = parse_object(json);

    offer(arg, field(o, "queue"), "queue");
    json_decref(o);
    return 0;
}

static int offer_schedule(void *arg, const char *json)
{
    json_t *o = parse_object(json);

    offer(arg, field(o, "schedule"), field(o, "cron"));
    json_decref(o);
    return 0;
}

static int offer_workflow(void *arg, const char *json)
{
    json_t *o = parse_object(json);

    offer(arg, field(o, "workflow"), "workflow");
    json_decref(o);
    return 0;
}

static void offer_tenant(void *arg, const char *name)
{
    offer(arg, name, "tenant");
}

static int ids(struct line *l, struct pawl *p, struct pawl_error *err)
{
    const struct wanted *w = wanted_by(l->command->name);
    struct pawl_list_query q = {.limit = RECENT, .all = w->all, .status = w->status};

    offer(l, "@last", "the newest execution that has no parent");
    return pawl_list(p, &q, offer_execution, l, NULL, err);
}

static int tasks(struct line *l, struct pawl *p, struct pawl_error *err)
{
    const char *which = l->cli.nwords ? l->cli.words[0] : "";
    int64_t id;
    int rc = strcmp(which, "@last") ? text_parse_i64(which, &id) : pawl_last(p, &id, err);

    return rc ? rc : pawl_tasks(p, id, offer_task, l, err);
}

static int queues(struct line *l, struct pawl *p, struct pawl_error *err)
{
    return pawl_queues(p, offer_queue, l, err);
}

static int schedules(struct line *l, struct pawl *p, struct pawl_error *err)
{
    return pawl_schedules(p, NULL, offer_schedule, l, err);
}

static int workflows(struct line *l, struct pawl *p, struct pawl_error *err)
{
    return pawl_schedules(p, NULL, offer_workflow, l, err);
}

static void offer_tenants(struct line *l)
{
    struct pawl_options o = cli_options(&l->cli, true);
    struct pawl_error err;

    if (pawl_tenant_list(&o, offer_tenant, l, &err))
        return; /* nothing to offer then */
}

/* ---- what a word in capitals stands for ---- */

static const struct placeholder {
    const char *name;
    const char *shell; /* what the shell is to complete */
    void (*list)(struct line *l);
    int (*ask)(struct line *l, struct pawl *p, struct pawl_error *err);
} placeholders[] = {
    {"FILE", .shell = ":files"},
    {"DIR", .shell = ":dirs"},
    {"CMD", .shell = ":commands"},
    {"ARG", .shell = ":files"},
    {"COMMAND", .list = offer_commands},
    {"TENANT", .list = offer_tenants},
    {"ID", .ask = ids},
    {"TASK", .ask = tasks},
    {"QUEUE", .ask = queues},
    {"SCHEDULE", .ask = schedules},
    {"WORKFLOW", .ask = workflows},
};

/* An error offers nothing: whoever goes on typing will hear of it. */
static void offer_placeholder(struct line *l, const struct placeholder *h)
{
    struct pawl_options o = cli_options(&l->cli, true);
    struct pawl_error err;
    struct pawl *p;

    o.note = NULL;
    o.trace = NULL;
    if (h->shell) {
        puts(h->shell);
    } else if (h->list) {
        h->list(l);
    } else if (!pawl_open(&o, &p, &err)) {
        (void)h->ask(l, p, &err);
        pawl_close(p);
    }
}

/* A word in small letters is itself. */
static void offer_one(struct line *l, const char *name, size_t len)
{
    char word[64];
    size_t i;

    snprintf(word, sizeof(word), "%.*s", (int)len, name);
    if (*word >= 'a' && *word <= 'z')
        offer(l, word, "");
    for (i = 0; i < sizeof(placeholders) / sizeof(*placeholders); i++)
        if (!strcmp(placeholders[i].name, word))
            offer_placeholder(l, &placeholders[i]);
}

/* a|b|c, up to a space, a bracket, a comma or the sign that it is repeated. */
#define CHOICE_END " ],…\n"

static void offer_choice(struct line *l, const char *choice)
{
    size_t len;

    for (;; choice += len + 1) {
        len = strcspn(choice, "|" CHOICE_END);
        offer_one(l, choice, len);
        if (choice[len] != '|')
            break;
    }
}

/* ---- where on the line ---- */

#define AFTER_OPTIONS "[OPTION]… -- "

/* The next word of a form, at the end of which *at is then. NULL: there is none; options come last.
 */
static const char *form_next(const char **at)
{
    const char *word = *at + strspn(*at, " []");

    *at = word + strcspn(word, CHOICE_END);
    return *at == word || *word == '-' ? NULL : word;
}

/* Whether the word that was given may stand where the form has this one. */
static bool form_allows(const char *word, const char *given)
{
    size_t len = strlen(given);

    return *word < 'a' || *word > 'z' ||
           (strcspn(word, CHOICE_END) == len && !memcmp(word, given, len));
}

/* Offers what the form has next, if the words before are of this form. */
static void complete_form(struct line *l, const char *form)
{
    const char *word;
    int i;

    if (!strncmp(form, AFTER_OPTIONS, strlen(AFTER_OPTIONS)))
        form += strlen(AFTER_OPTIONS);
    word = form_next(&form);
    for (i = 0; word && i < l->cli.nwords; i++) {
        if (!form_allows(word, l->cli.words[i]))
            return;
        if (strncmp(form, "…", strlen("…")))
            word = form_next(&form);
    }
    if (word)
        offer_choice(l, word);
}

static void complete_word(struct line *l)
{
    const char *form = l->command->forms;

    complete_form(l, form);
    while ((form = strchr(form, '\n')))
        complete_form(l, ++form);
}

/* Of several values with commas between them, the last one. */
static void complete_value(struct line *l)
{
    const char *value = l->option->value, *comma = strrchr(l->typed, ',');

    if (value[strlen(value) - 1] == ',' && comma)
        l->typed = comma + 1;
    offer_choice(l, value);
}

static void complete(struct line *l)
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
        offer_options(l, common_options);
    } else if (l->command) {
        complete_word(l);
    } else {
        offer_commands(l);
    }
}

/* Takes a word before the one that is to be completed. */
static void pass(struct line *l, const char *word)
{
    const char *name = word + strspn(word, "-"), *equals = strchr(name, '=');
    size_t len = equals ? (size_t)(equals - name) : strlen(name);
    const struct option *o;

    if (l->option) {
        take_place(l, word);
        l->option = NULL;
    } else if (!l->words_only && !strcmp(word, "--")) {
        l->words_only = true;
    } else if (!l->words_only && *word == '-') {
        o = option_of(l, name, len);
        l->option = o && o->value ? o : NULL;
        if (l->option && equals) {
            take_place(l, equals + 1);
            l->option = NULL;
        }
    } else if (!l->command) {
        l->command = command_find(word);
        l->unknown |= !l->command;
    } else {
        l->cli.words[l->cli.nwords++] = word;
    }
}

/* Quiet in any case: whoever presses a key wants no lines about a database that is away. */
static void give_up(int signal)
{
    (void)signal;
    _exit(0);
}

static int cmd_complete(int argc, char **argv)
{
    struct itimerval patience = {.it_value = {.tv_sec = PATIENCE_S}};
    struct line l = {0};
    struct cli c;
    int code = cli_begin(&c, &command_complete, argc, argv, NULL), i;

    if (code >= 0)
        return code;
    signal(SIGALRM, give_up);
    setitimer(ITIMER_REAL, &patience, NULL);
    l.cli.words = mem_zalloc(((size_t)c.nwords + 1) * sizeof(*l.cli.words));
    for (i = 0; i < c.nwords - 1; i++)
        pass(&l, c.words[i]);
    l.word = c.nwords ? c.words[c.nwords - 1] : "";
    if (!l.unknown)
        complete(&l);
    free(l.cli.words);
    cli_end(&c);
    return cli_done(0);
}

const struct command command_complete = {
    .name = "complete",
    .forms = "-- WORD…",
    .text = "print what may stand at the end of a command line; completion asks for it",
    .most = INT_MAX,
    .run = cmd_complete,
    .hidden = true,
};
