"""`completion`: scripts that let a shell ask this program what may come next."""

from __future__ import annotations

from omnigraph.cli.call import Call
from omnigraph.cli.terminal import output

_BASH = """\
_omnigraph() {
    local IFS=$'\\n'
    COMPREPLY=($(omnigraph __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
    [[ ${#COMPREPLY[@]} -gt 0 ]] || compopt -o default
}
complete -F _omnigraph omnigraph
"""
_ZSH = """\
#compdef omnigraph
_omnigraph() {
    local -a found
    found=("${(@f)$(omnigraph __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    if [[ -n "${found[1]}" ]]; then compadd -a found; else _files; fi
}
compdef _omnigraph omnigraph
"""
_FISH = """\
function __omnigraph_complete
    set -l words (commandline -opc) (commandline -ct)
    omnigraph __complete $words[2..-1] 2>/dev/null
end
complete -c omnigraph -a '(__omnigraph_complete)'
"""
_SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


def print_script(call: Call) -> None:
    """The script of one shell; `eval "$(omnigraph completion bash)"` turns it on."""
    output.write(_SCRIPTS[call.required("SHELL")])
