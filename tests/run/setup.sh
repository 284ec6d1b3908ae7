# shellcheck shell=bash
# The packages that the other commands need, and programs that are fetched and not installed. To be sourced by dev.
# shellcheck disable=SC2154 # PACKAGES, extra_packages, SCRAPERS, cache, scrapers and repo are dev's

wanted_packages() {
        printf '%s\n' "${PACKAGES[@]}" "${extra_packages[@]}"
        # debhelper-compat is a name for a debhelper that is new enough.
        sed -n '/^Build-Depends:/,/^[^ B]/{/^Build-Depends:\|^ /p}' "$repo/packaging/deb/control" |
                sed -E 's/^Build-Depends://; s/\([^)]*\)|<[^>]*>//g; s/debhelper-compat/debhelper/' | tr -s ', \n' '\n' | sed '/^$/d'
}

missing_packages() {
        local -a wanted
        mapfile -t wanted < <(wanted_packages | sort -u)
        comm -23 <(printf '%s\n' "${wanted[@]}") \
                <(dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' "${wanted[@]}" 2>/dev/null | sed -n 's/^ii  *//p' | sort -u)
}

# A password is asked for here and not by a command that runs behind a log.
ask_for_root() {
        ((EUID)) || return 0
        command -v sudo >/dev/null ||
                die "$1, which needs root, and there is no sudo here. As root, run once: $repo/dev setup"
        sudo -n true 2>/dev/null && return
        [[ -t 0 ]] || die "$1, which needs root, and sudo wants a password. Run once: sudo $repo/dev setup"
        echo "$1, which needs root."
        sudo -v || die "no root, no packages. Run once as somebody who may: sudo $repo/dev setup"
}

as_root() {
        local -a environment=(DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 APT_LISTCHANGES_FRONTEND=none)
        if ((EUID)); then
                sudo -n env "${environment[@]}" "$@"
        else
                env "${environment[@]}" "$@"
        fi
}

# Fails where any of the sources does, also one that nothing here needs: whether that matters, the next apt-get knows.
apt_update() {
        as_root apt-get -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 update ||
                echo "apt-get update: some source does not answer; going on with the rest"
}

apt_install() {
        as_root apt-get -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 -o Dpkg::Options::=--force-confold \
                install -y --no-install-recommends "$@"
}

install_packages() {
        local attempt
        for attempt in 1 2 3; do
                echo "== attempt $attempt of 3"
                apt_update
                ! apt_install "$@" || return 0
                sleep $((attempt * 5))
        done
        echo "apt-get could not install: $*"
        return 1
}

# download_size PACKAGE…: what apt-get would download for them, for people
download_size() {
        as_root apt-get -y --no-install-recommends --print-uris install "$@" 2>/dev/null |
                awk '/^.https?:/ { bytes += $3 } END { printf "%d MB to download", bytes / 1e6 + 0.5 }'
}

have_promtool() {
        command -v promtool >/dev/null || [[ -x $cache/promtool/promtool ]]
}

# Only the program: the package around it would start a server.
fetch_promtool() {
        local tmp
        tmp=$(mktemp -d)
        # shellcheck disable=SC2064 # now: the variable is gone by then
        trap "rm -rf '$tmp'" EXIT
        cd "$tmp" || return
        chmod 755 .
        apt-get download prometheus || { apt_update && apt-get download prometheus; }
        dpkg-deb --fsys-tarfile prometheus_*.deb | tar -x ./usr/bin/promtool
        mkdir -p "$cache/promtool"
        install usr/bin/promtool "$cache/promtool/promtool.new"
        mv "$cache/promtool/promtool.new" "$cache/promtool/promtool"
}

# fetch_unpacked FOLDER PACKAGE…: with the dependencies that this host lacks, as one folder that can be laid over the root.
fetch_unpacked() {
        local target=$1 tmp deb folder
        local -a quietly
        tmp=$(mktemp -d)
        # shellcheck disable=SC2064 # now: the variable is gone by then
        trap "rm -rf '$tmp'" EXIT
        mkdir -p "$tmp/archives/partial" "$tmp/root" "$cache"
        chmod -R 755 "$tmp"
        cd "$tmp/archives" || return
        shift
        quietly=(-y --no-install-recommends --download-only -o Dir::Cache::archives="$tmp/archives" -o Debug::NoLocking=1)
        apt-get download "$@" || { apt_update && apt-get download "$@"; }
        apt-get install "${quietly[@]}" "$@"
        for deb in "$tmp"/archives/*.deb; do
                dpkg-deb -x "$deb" "$tmp/root"
                dpkg-deb -W "$deb" | tr '\t' ' ' >>"$tmp/root/versions" # read by tests/bench/report.py
        done
        # What stands in /lib or /sbin would hide the host's links of that name.
        for folder in bin sbin lib lib64; do
                [[ -d $tmp/root/$folder ]] || continue
                mkdir -p "$tmp/root/usr/$folder"
                cp -a "$tmp/root/$folder/." "$tmp/root/usr/$folder/"
                rm -r "${tmp:?}/root/$folder"
        done
        rm -rf "$target" "$target.new"
        cp -a "$tmp/root" "$target.new"
        mv "$target.new" "$target"
}

have_scrapers() {
        local program
        for program in "${SCRAPERS[@]}"; do
                command -v "$program" >/dev/null || [[ -x $scrapers/usr/bin/$program || -x $scrapers/usr/sbin/$program ]] || return 1
        done
}

setup() {
        local -a missing
        command -v apt-get >/dev/null ||
                die "this is not a Debian system: setup knows Debian 12 only"
        mapfile -t missing < <(missing_packages)
        if ((${#missing[@]})); then
                ask_for_root "packages are to be installed (${missing[*]})"
                step_total=$((step_total + 2))
                step "reading the package lists" apt-lists apt_update || return 1
                step "installing ${#missing[@]} packages ($(download_size "${missing[@]}"))" setup install_packages "${missing[@]}" || return 1
        fi
        if ! have_promtool; then
                # Where packages are there and their lists are not (as in container images), the lists must come first.
                apt-cache show prometheus >/dev/null 2>&1 || ask_for_root "apt-get update is to run"
                step_total=$((step_total + 1))
                step "fetching promtool (20 MB to download)" promtool fetch_promtool || return 1
        fi
        PATH=$cache/promtool:$PATH
}
