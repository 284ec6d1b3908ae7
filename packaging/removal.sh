# shellcheck shell=sh disable=SC2154 # root is set by the scripts that packaging/build puts this into, in place of #REMOVAL#
# The undo records alone know what a bound process had before, so they are deleted only when there is nothing to restore.
delete_state() {
    if [ -d "$root/run/tidbnumad" ]; then
        find "$root/run/tidbnumad" -mindepth 1 -maxdepth 1 ! -name undo -exec rm -rf {} +
        rmdir --ignore-fail-on-non-empty "$root/run/tidbnumad/undo" "$root/run/tidbnumad" 2>/dev/null || true
    fi
    for folder in "$root/run/tidbnumad.d" "$root/etc/tidbnumad.d"; do
        rmdir "$folder" 2>/dev/null || true
        if [ -d "$folder" ]; then
            echo "tidbnumad: $folder is kept: it has files that the package did not install."
        fi
    done
}

# When the daemon stopped, it restored or kept the bindings, as enforcement.on_stop defines. What it could not restore is kept as well.
report_bindings() {
    undo=$root/run/tidbnumad/undo
    n=$(find "$undo" -name '*.json' 2>/dev/null | wc -l)
    if [ "$n" -gt 0 ]; then
        left="$n bindings or settings stay in force"
        [ ! -e "$undo/host.record" ] || left="$left, and settings of the host"
    elif [ -e "$undo/host.record" ]; then
        left='settings of the host stay in force'
    else
        return 0
    fi
    echo "tidbnumad: $left (enforcement.on_stop is keep, the daemon was paused, or a release failed: journalctl -u tidbnumad). Their undo records are" \
        "kept in $undo until the next boot, which ends them too: install tidbnumad again and run 'tidbnumactl release --all' to restore them before."
}
