/* help.c - prints the output of `pawl help` and `--help` from the table of commands. */
#include "cli/cli.h"

#include <string.h>

#define WIDTH 80

/* Prints words from column `at` on; lines after the first start at column `indent`. */
static void print_wrapped(FILE *to, const char *text, int at, int indent)
{
    while (*text) {
        size_t len = strcspn(text, " \n");
        int width = (int)text_characters(text, len); /* in help texts, each character is one column
                                                        wide */

        if (at > indent && at + 1 + width > WIDTH) {
            fprintf(to, "\n%*s", indent, "");
            at = indent;
        } else if (at > indent) {
            fputc(' ', to);
            at++;
        }
        fwrite(text, 1, len, to);
        at += width;
        text += len;
        if (!strncmp(text, "\n\n", 2)) {
            fprintf(to, "\n\n%*s", indent, "");
            at = indent;
        }
        text += strspn(text, " \n");
    }
    fputc('\n', to);
}

/* Prints a term, and its explanation from column `indent` on. */
static void print_item(FILE *to, const char *left, const char *text, int indent)
{
    int at = 2 + (int)text_characters(left, strlen(left));

    fprintf(to, "  %s", left);
    if (at + 2 > indent) {
        fputc('\n', to);
        at = 0;
    }
    fprintf(to, "%*s", indent - at, "");
    print_wrapped(to, text, indent, indent);
}

static void list_options(FILE *to, const struct option *o)
{
    AUTO_BUF left = BUF_INIT;

    for (; o && o->name; o++) {
        buf_reset(&left);
        option_heading(&left, o);
        print_item(to, buf_cstr(&left), o->text, 24);
    }
}

static void list_exit_codes(FILE *to)
{
    const struct exit_code *e;

    fprintf(to, "\nexit codes:\n");
    for (e = exit_codes; e->code; e++)
        print_item(to, e->code, e->text, 9);
}

static void list_examples(FILE *to, const struct command *c)
{
    fprintf(to, "\nexamples:\n");
    for (size_t i = 0; i < EXAMPLES && c->examples[i].line; i++)
        fprintf(to, "  %s\n      %s\n", c->examples[i].line, c->examples[i].text);
}

void help_command(FILE *to, const struct command *c)
{
    AUTO_BUF form = BUF_INIT;

    for (size_t i = 0; command_form(c, i, &form); i++)
        fprintf(to, "%s pawl %s%s\n", i ? "      " : "usage:", c->name, buf_cstr(&form));
    fprintf(to, "\n  ");
    print_wrapped(to, c->text, 2, 2);
    if (c->about) {
        fprintf(to, "\n  ");
        print_wrapped(to, c->about, 2, 2);
    }
    fputc('\n', to);
    list_options(to, c->options);
    list_options(to, command_common(c));
    list_examples(to, c);
    list_exit_codes(to);
    fputc('\n', to);
    print_wrapped(to, notation, 0, 0);
}

void help_all(FILE *to)
{
    const struct command *const *c;

    fprintf(to, "usage: pawl COMMAND …\n\n");
    for (c = commands; *c; c++)
        if (!(*c)->hidden)
            print_item(to, (*c)->name, (*c)->text, 14);
    fprintf(to, "\n`pawl help COMMAND` explains a command. Every command takes these options\n"
                "(--json only if it prints data):\n");
    list_options(to, common_options);
    list_exit_codes(to);
    fputc('\n', to);
    print_wrapped(to, notation, 0, 0);
}

static int help(struct cli *c)
{
    const struct command *about = c->nwords ? command_find(c->words[0]) : NULL;

    if (c->nwords && !about)
        return command_unknown(c->words[0]);
    if (about)
        help_command(stdout, about);
    else
        help_all(stdout);
    return 0;
}

const struct command command_help = {
    .name = "help",
    .forms = "[COMMAND]",
    .text = "explain a command",
    .examples = {{"pawl help rerun", "its options, with examples; same as `pawl rerun --help`"}},
    .most = 1,
    .run = help,
    .no_json = true,
};
