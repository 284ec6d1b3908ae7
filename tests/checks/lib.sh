# shellcheck shell=bash
# What the checks share: the tree that is judged, its files, and TAP. To be sourced:  . "${0%/*}/lib.sh"
#
# A check is called with the build directory as its argument. It judges the tree that it stands in, or that which
# TIDBNUMAD_ROOT names (selftest does that).
set -u # no pipefail: a grep that finds nothing is good news here

export LC_ALL=C.UTF-8
root=$(readlink -f "${TIDBNUMAD_ROOT:-${BASH_SOURCE[0]%/*}/../..}")
# The folder of the checks and the caller's argument, before the change of directory makes a relative path mean something else.
# shellcheck disable=SC2034 # for the checks
checks=$(readlink -f "${BASH_SOURCE[0]%/*}")
# shellcheck disable=SC2034
build=$(readlink -m "${1:-$root/build/gcc}")
cd "$root" || exit 1

tap_cases=0 tap_bad=0

# check NAME COMMAND…: what the command prints are the problems; a case without problems is ok.
check() {
        local name=$1 problems rc=0
        shift
        problems=$("$@" 2>&1) || rc=$?
        [[ -n $problems ]] || ((rc == 0)) || problems="$* ended with exit status $rc"
        tap_cases=$((tap_cases + 1))
        if [[ -z $problems ]]; then
                echo "ok $tap_cases - $name"
        else
                echo "not ok $tap_cases - $name"
                printf '%s\n' "$problems" | sed 's/^/# /'
                tap_bad=$((tap_bad + 1))
        fi
}

skip() {
        tap_cases=$((tap_cases + 1))
        echo "ok $tap_cases - $1 # SKIP $2"
}

# The last line of every check; its status is the check's.
finish() {
        echo "1..$tap_cases"
        ((tap_bad == 0))
}

# The files of the tree, a line each, as git sees it (without what it ignores); of a tree without git, all.
tree_files() {
        local file
        if [[ -e .git ]]; then
                git -c safe.directory='*' ls-files --cached --others --exclude-standard
        else
                find . \( -path ./build -o -path ./dist \) -prune -o -type f -printf '%P\n'
        fi | sort -u | while IFS= read -r file; do
                [[ ! -f $file ]] || printf '%s\n' "$file"
        done
}

c_files() {
        tree_files | grep '\.[ch]$'
}

# Shell scripts by their first line; packaging/deb is included, for what dpkg runs as root is a script as well.
shell_files() {
        local file first
        tree_files | while IFS= read -r file; do
                [[ $file != *.[ch] ]] || continue
                IFS= read -r first <"$file" 2>/dev/null || true
                [[ $first =~ ^'#!'.*[/\ ](ba|da)?sh($|\ ) || $first == '# shellcheck shell='* ]] && printf '%s\n' "$file"
        done
}
