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

# When the daemon stopped, it restored or kept the bindings, as enforcement.on_stop defines.
report_bindings() {
    n=$(find "$root/run/tidbnumad/undo" -name '*.json' 2>/dev/null | wc -l)
    if [ "$n" -gt 0 ]; then
        echo "tidbnumad: $n bindings or settings stay in force (enforcement.on_stop is keep, or the daemon was paused). Their undo records are kept" \
            "in $root/run/tidbnumad/undo until the next boot: install tidbnumad again and run 'tidbnumactl release --all' to restore them."
    fi
}
