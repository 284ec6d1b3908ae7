# shellcheck shell=bash
# What the tests of the built packages share. To be sourced:  . "${0%/*}/lib.sh"
# shellcheck source=tests/checks/lib.sh
. "${BASH_SOURCE[0]%/*}/../checks/lib.sh"

export PATH=$PATH:/usr/sbin:/sbin
dist=${TIDBNUMAD_DIST:-$root/dist}
tmp=$(mktemp -d)
trap 'rm -rf --one-file-system "$tmp"' EXIT
chmod 755 "$tmp"
machine=$(uname -m)

one() {
        local -a found
        mapfile -t found < <(compgen -G "$1")
        ((${#found[@]} == 1)) || { echo "Bail out! expected one file $1, found ${#found[@]}: run ./dev package" && exit 1; }
        echo "${found[0]}"
}

deb=$(one "$dist/tidbnumad_*_$(dpkg --print-architecture).deb") || { echo "$deb" && exit 1; }
rpm=$(one "$dist/tidbnumad-[0-9]*.$machine.rpm") || { echo "$rpm" && exit 1; }
# shellcheck disable=SC2034 # for the tests
deb_monitoring=$(one "$dist/tidbnumad-monitoring_*_all.deb") || { echo "$deb_monitoring" && exit 1; }
# shellcheck disable=SC2034
rpm_monitoring=$(one "$dist/tidbnumad-monitoring-*.noarch.rpm") || { echo "$rpm_monitoring" && exit 1; }

# same WHAT A B: prints how two texts differ
same() {
        [[ -n $2 ]] || echo "$1: nothing to compare"
        diff <(printf '%s\n' "$2") <(printf '%s\n' "$3") | sed "s/^/$1: /"
        return 0
}
