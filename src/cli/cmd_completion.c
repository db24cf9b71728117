/* cmd_completion.c - pawl completion: prints shell scripts that call `pawl complete`
 * (complete/complete.c) for the candidates, so that they need no change when a command or an
 * option changes. */
#include "cli/cli.h"

#include <string.h>

/* $2 is the part of the word that readline replaces: the text after its last word break, such as
 * the = in --status=. */
static const char bash[] =
    "# bash completion for pawl\n"
    "_pawl() {\n"
    "	local line=${COMP_LINE:0:COMP_POINT} candidate head\n"
    "	local -a words\n"
    "	read -ra words <<<\"$line\"\n"
    "	[[ $line != *[[:space:]] ]] || words+=('')\n"
    "	head=${words[${#words[@]} - 1]}\n"
    "	[ -z \"$2\" ] || head=${head%\"$2\"}\n"
    "	COMPREPLY=()\n"
    "	while IFS=$'\\t' read -r candidate _; do\n"
    "		case $candidate in\n"
    "		:files) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- \"$2\") ;;\n"
    "		:dirs) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -d -- \"$2\") ;;\n"
    "		:commands) mapfile -t COMPREPLY < <(compgen -c -- \"$2\") ;;\n"
    "		*) COMPREPLY+=(\"${candidate#\"$head\"}\") ;;\n"
    "		esac\n"
    "	done < <(\"$1\" complete -- \"${words[@]:1}\" 2>/dev/null)\n"
    "}\n"
    "complete -F _pawl pawl\n";

/* -V keeps the order of the candidates: the newest ids first. */
static const char zsh[] =
    "#compdef pawl\n"
    "_pawl() {\n"
    "	local line\n"
    "	local -a plain shown\n"
    "	while IFS= read -r line; do\n"
    "		case $line in\n"
    "		:files) _files ;;\n"
    "		:dirs) _files -/ ;;\n"
    "		:commands) _command_names -e ;;\n"
    "		*)\n"
    "			plain+=(\"${line%%$'\\t'*}\")\n"
    "			line=${line%$'\\t'}\n"
    "			shown+=(\"${line/$'\\t'/  -- }\")\n"
    "			;;\n"
    "		esac\n"
    "	done < <(\"${words[1]}\" complete -- \"${(@)words[2,CURRENT-1]}\" \"$PREFIX\" 2>/dev/null)\n"
    "	(( ! $#plain )) || compadd -l -V pawl -d shown -a plain\n"
    "}\n"
    "if [ \"$funcstack[1]\" = _pawl ]; then\n"
    "	_pawl \"$@\"\n"
    "else\n"
    "	compdef _pawl pawl\n"
    "fi\n";

static const char fish[] =
    "# fish completion for pawl\n"
    "function __pawl_complete\n"
    "    set -l words (commandline -opc)\n"
    "    set -l now (commandline -ct)\n"
    "    for line in ($words[1] complete -- $words[2..-1] \"$now\" 2>/dev/null)\n"
    "        switch $line\n"
    "            case ':files'\n"
    "                __fish_complete_path \"$now\"\n"
    "            case ':dirs'\n"
    "                __fish_complete_directories \"$now\"\n"
    "            case ':commands'\n"
    "                __fish_complete_command\n"
    "            case '*'\n"
    "                echo $line\n"
    "        end\n"
    "    end\n"
    "end\n"
    "complete -c pawl -k -f -a '(__pawl_complete)'\n";

static const struct script {
    const char *shell, *text;
} scripts[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};

static int print_script(struct cli *c)
{
    const struct script *script = FIND_NAMED(scripts, c->words[0]);

    if (!script)
        return cli_wrong("pawl completion supports bash, zsh and fish, not '%.60s'", c->words[0]);
    fputs(script->text, stdout);
    return 0;
}

const struct command command_completion = {
    .name = "completion",
    .forms = "bash|zsh|fish",
    .text = "print a shell script that completes commands, options, ids and names",
    .examples = {{"source <(pawl completion bash)",
                  "for this shell; `make install` installs the scripts for all"}},
    .least = 1,
    .most = 1,
    .run = print_script,
    .no_json = true,
};
