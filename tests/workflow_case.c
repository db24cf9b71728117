/* workflow_case.c - see workflow_case.h. */
#include "workflow_case.h"

#include "base/text.h"

#define WORDS 8

struct playing {
    struct store *s;
    int64_t workflow;
    struct task_claim k; /* the jobs that the worker runs; the names of ended ones are empty */
    const char *word[WORDS + 1];
    const char *doing; /* the current step, for failure messages */
};

_Noreturn static void wrong(const struct playing *p, const char *what)
{
    test_fail(__FILE__, __LINE__, "in the step \"%s\": %s", p->doing, what);
}

/* ---- as a worker ---- */

static void play(struct playing *p)
{
    struct buf fails = BUF_INIT;
    int i;

    buf_addstr(&fails, " ");
    for (i = 2; p->word[1] && p->word[i]; i++) /* play but a b */
        buf_addf(&fails, "%s ", p->word[i]);
    run_workflows(p->s, fails.ptr);
    buf_release(&fails);
}

static void take(struct playing *p)
{
    struct task_claim more = {.push = false};
    size_t i;

    claim_tasks(p->s, &more);
    for (i = 0; i < more.n; i++) {
        p->k.held[p->k.n] = more.held[i];
        memcpy(p->k.names[p->k.n++], more.names[i], sizeof(more.names[i]));
    }
}

static void settle(struct playing *p, enum outcome_kind kind)
{
    size_t i;

    for (i = 0; i < p->k.n; i++)
        if (!strcmp(p->k.names[i], p->word[1])) {
            CHECK_EQ(settle_as(p->s, p->k.held[i], kind, kind == OUTCOME_FAILED ? 0 : -1), 0);
            p->k.names[i][0] = 0;
            return;
        }
    wrong(p, "nobody runs that");
}

static void after(struct playing *p)
{
    struct err err = ERR_INIT;
    int64_t us = 0;

    CHECK_OK_ERR(text_parse_duration(p->word[1], &us, &err), &err);
    clock_advance(us);
    while (run_timers(p->s))
        ;
}

/* ---- as an operator ---- */

static int64_t named(struct playing *p)
{
    return strcmp(p->word[1], "w") ? task_of(p->s, p->workflow, p->word[1]) : p->workflow;
}

static int rerun_body(struct turn *t, void *arg, struct err *err)
{
    return op_rerun(t, arg, err);
}

static void rerun(struct playing *p, enum rerun_scope what)
{
    struct rerun r = {.request = {.execution = named(p), .by = "ada"}, .what = what};
    bool refused = p->word[0][0] == '!';
    struct err err = ERR_INIT;

    if (store_turn(p->s, rerun_body, &r, &err) != (refused ? -E_INVALID : 0))
        wrong(p, refused ? "it was not refused" : err.msg);
    rerun_release(&r);
}

static const struct {
    const char *word;
    enum control_verb verb;
} verbs[] = {{"cancel", CONTROL_CANCEL}, {"let-finish", CONTROL_LET_FINISH},
             {"pause", CONTROL_PAUSE},   {"resume", CONTROL_RESUME},
             {"skip", CONTROL_SKIP},     {"approve", CONTROL_APPROVE},
             {"reject", CONTROL_REJECT}};

static void ask(struct playing *p)
{
    bool refused = p->word[0][0] == '!';
    size_t i;

    for (i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
        if (!strcmp(verbs[i].word, p->word[0] + refused)) {
            if (control_execution(p->s, verbs[i].verb, named(p)) != (refused ? -E_INVALID : 0))
                wrong(p, refused ? "it was not refused" : "it was refused");
            return;
        }
    wrong(p, "there is no such word");
}

/* ---- steps ---- */

static void do_words(struct playing *p)
{
    const char *verb = p->word[0];

    if (!strcmp(verb, "play"))
        play(p);
    else if (!strcmp(verb, "take"))
        take(p);
    else if (!p->word[1])
        wrong(p, "of what?");
    else if (!strcmp(verb, "ok"))
        settle(p, OUTCOME_OK);
    else if (!strcmp(verb, "fail"))
        settle(p, OUTCOME_FAILED);
    else if (!strcmp(verb, "end"))
        settle(p, OUTCOME_CANCELLED);
    else if (!strcmp(verb, "rerun") || !strcmp(verb, "!rerun"))
        rerun(p, RERUN_WHOLE);
    else if (!strcmp(verb, "rerun-failed"))
        rerun(p, RERUN_ONLY_FAILED);
    else if (!strcmp(verb, "after"))
        after(p);
    else
        ask(p);
}

static void do_step(struct playing *p, const struct case_step *step)
{
    char *text = mem_strdup(step->does), *rest = text, *part, *word;
    int n;

    p->doing = step->does;
    while ((part = strsep(&rest, ","))) {
        for (n = 0; n < WORDS && (word = strsep(&part, " "));)
            if (*word)
                p->word[n++] = word;
        p->word[n] = NULL;
        do_words(p);
    }
    free(text);
    if (step->shape && strcmp(tree_text(p->s, p->workflow), step->shape) != 0)
        test_fail(__FILE__, __LINE__, "after \"%s\" it is\n    %s, not\n    %s", step->does,
                  tree_text(p->s, p->workflow), step->shape);
    verify_clean(p->s);
}

void run_workflow_case(const struct workflow_case *c)
{
    static struct playing p;
    const char *text = c->files ? workflow_text_of_files(c->files) : workflow_text(c->yaml);
    size_t i;

    p = (struct playing){.s = fixture_store()};
    p.workflow = submit_workflow_text(p.s, text, c->params);
    for (i = 0; i < sizeof(c->steps) / sizeof(*c->steps) && c->steps[i].does; i++)
        do_step(&p, &c->steps[i]);
    if (!i)
        verify_clean(p.s); /* no steps: it ended by itself */
    CHECK_STR(status_text(status_of(p.s, p.workflow)), status_text((int)c->ends));
    if (c->error && !strstr(get(p.s, p.workflow).error, c->error))
        test_fail(__FILE__, __LINE__, "it says \"%s\", nothing of \"%s\"",
                  get(p.s, p.workflow).error, c->error);
    store_close(&p.s);
}
