# shellcheck shell=bash
# A root directory in which the scripts of packages run: the programs that they call, and nothing else. To be sourced after
# lib.sh. systemctl enables and disables units there without a running systemd; live_root replaces it with one that only logs.
# shellcheck disable=SC2154 # tmp is lib.sh's

SCRATCH_PROGRAMS=(sh bash cat chmod chown dirname echo find grep ln ls mkdir mv perl readlink rm rmdir sed sort systemctl
        systemd-tmpfiles touch true wc deb-systemd-helper deb-systemd-invoke)

# scratch_root DIR
scratch_root() {
        local dir=$1 program path
        mkdir -p "$dir"/{etc/systemd/system,run,tmp,dev,proc,var/{tmp,lib/{dpkg/{info,updates},systemd}}} \
                "$dir"/usr/{bin,sbin,lib64,lib/{systemd/{system,system-preset},tmpfiles.d},share/{doc,licenses,man/man{5,7,8}}}
        ln -s usr/bin "$dir/bin"
        ln -s usr/sbin "$dir/sbin"
        ln -s usr/lib64 "$dir/lib64"
        touch "$dir/var/lib/dpkg/status" "$dir/dev/null"
        printf 'root:x:0:0:root:/root:/bin/sh\n' >"$dir/etc/passwd"
        printf 'root:x:0:\n' >"$dir/etc/group"
        {
                for program in "${SCRATCH_PROGRAMS[@]}"; do
                        path=$(type -P "$program") || { echo "no $program on this host" >&2 && continue; }
                        cp -L "$path" "$dir/usr/bin/$program"
                        ldd "$path" 2>/dev/null | grep -oE '/[^ ]+'
                done
        } | sort -u >"$dir/tmp/libraries"
        while IFS= read -r path; do
                mkdir -p "$dir$(dirname "$path" | sed -E 's,^/lib(64)?(/|$),/usr/lib\1\2,')"
        done <"$dir/tmp/libraries"
        ln -s usr/lib "$dir/lib"
        while IFS= read -r path; do
                [[ -e $dir$path ]] || cp -L "$path" "$dir$path"
        done <"$dir/tmp/libraries"
        perl -e 'print "$_\n" for grep { m,/perl-base$, } @INC' | while IFS= read -r path; do
                mkdir -p "$dir$(dirname "$path")" && cp -r "$path" "$dir$path"
        done
        rm "$dir/tmp/libraries"
        # A package that owns these directories, as those of every host do.
        printf '%s\n' 'Package: base' 'Status: install ok installed' 'Version: 1' 'Architecture: all' 'Maintainer: x' 'Description: x' \
                >"$dir/var/lib/dpkg/status"
        (cd "$dir" && printf '/.\n/lib/systemd/system\n/lib/systemd\n' && find . -mindepth 1 \( -type d -o -type l \) -printf '/%P\n') |
                sort -u >"$tmp/base.list"
        mv "$tmp/base.list" "$dir/var/lib/dpkg/info/base.list"
        [[ ! -e $dir/usr/bin/deb-systemd-invoke ]] || chmod 755 "$dir"/usr/bin/deb-systemd-*
}

# live_root DIR: from now on a systemd seems to run there; /systemctl.log has what it was asked for.
live_root() {
        mkdir -p "$1/run/systemd/system"
        printf '%s\n' '#!/bin/sh' 'echo "$*" >>/systemctl.log' 'case "$*" in *is-enabled*) echo enabled ;; esac' >"$1/usr/bin/systemctl"
        chmod 755 "$1/usr/bin/systemctl"
}

# What was asked for since the last call, without options and with one unit a line.
systemctl_log() {
        local verb unit
        local -a words
        sed -E 's/(^| )--[^ ]*//g; s/^ //' "$1/systemctl.log" 2>/dev/null | while read -ra words; do
                verb=${words[0]}
                ((${#words[@]} > 1)) || echo "$verb"
                for unit in "${words[@]:1}"; do echo "$verb $unit"; done
        done
        rm -f "$1/systemctl.log"
}

# What is there: MODE OWNER PATH [TARGET], without the databases of dpkg and rpm.
state() {
        (cd "$1" && find . \( -path ./var/lib/dpkg -o -path ./var/lib/rpm -o -path ./tmp -o -path ./proc \) -prune -o -printf '%M %U %P %l\n' | sed 's/ $//' | sort -k3)
}

deb_in() {
        local dir=$1
        shift
        dpkg --root="$dir" --force-depends --force-bad-path --force-not-root "$@" 2>&1
}

rpm_in() {
        local dir=$1
        shift
        rpm --root "$dir" --define '_dbpath /var/lib/rpm' "$@" 2>&1
}
