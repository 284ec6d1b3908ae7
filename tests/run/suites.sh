# shellcheck shell=bash
# The suites of ./dev test as jobs of two lanes, one for this host and one for the emulated machine. To be sourced by dev.
# shellcheck disable=SC2154 # repo, build_dir, logs, dist and the constants are dev's

# The gcc build is as the package's; the clang build looks for what the other one hides, and is built against the oldest API.
build_options() {
        local sanitizers='--buildtype=debug -Doptimization=1 -Db_sanitize=address,undefined -Db_lundef=false'
        case $1 in
        gcc) echo --buildtype=debugoptimized -Dc_args=-D_FORTIFY_SOURCE=2 ;;
        clang) echo "$sanitizers" -Doldest_api=all ;;
        coverage) echo --buildtype=debug -Db_coverage=true ;;
        fuzz) echo "$sanitizers" -Dfuzzers=true -Dc_args=-fsanitize=fuzzer-no-link ;;
        esac
}

build_tree() {
        local build=$1 dir=$build_dir/$1 compiler=$1 options
        case $build in
        fuzz) compiler=clang ;; # which has libFuzzer
        coverage) compiler=gcc ;;
        esac
        options="--prefix=/usr --sysconfdir=/etc -Dwerror=true -Db_colorout=never $(build_options "$build")"
        if [[ ! -f $dir/build.ninja || $(cat "$dir/dev-options" 2>/dev/null) != "$options" ]]; then
                rm -rf "$dir"
                # shellcheck disable=SC2086 # words on purpose
                CC=$compiler meson setup $options "$dir" "$repo"
                echo "$options" >"$dir/dev-options"
        fi
        case $build in
        clang) # its programs only serve the long run's sandbox
                if [[ -n ${TIDBNUMAD_LONG:-} ]]; then ninja -C "$dir"; else ninja -C "$dir" meson-test-prereq; fi ;;
        fuzz) ninja -C "$dir" fuzzers ;;
        *) ninja -C "$dir" ;;
        esac
}

build_title() {
        case $1 in
        gcc) echo 'building with gcc' ;;
        clang) echo 'building with clang and sanitizers' ;;
        coverage) echo 'building with counters of what runs' ;;
        fuzz) echo 'building the fuzz targets' ;;
        esac
}

# Where the kernel randomises more address bits than clang 14's sanitizers know, they die at random in their start.
sanitizer_wrapper() {
        ! setarch -R true 2>/dev/null || echo setarch -R
}

meson_suite() {
        local suite=$1 compiler=$2 wrapper=
        rm -f "$build_dir/$compiler/meson-logs/$suite".{json,txt,junit.xml}
        [[ $compiler != clang ]] || wrapper=$(sanitizer_wrapper)
        export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
        export ASAN_OPTIONS=strict_string_checks=1:detect_stack_use_after_return=1
        $wrapper meson test -C "$build_dir/$compiler" --no-rebuild --suite "$suite" --logbase "$suite" -t 8
}

# In the build that counts. Without golden's agree and screens, which run what the others do.
coverage_meson() {
        local -a names
        mapfile -t names < <(meson test -C "$build_dir/coverage" --list 2>/dev/null | sed 's/.* \/ //' | grep -vxE 'agree|screens')
        meson test -C "$build_dir/coverage" --no-rebuild -t 8 "${names[@]}" || echo 'some fail here, see above'
}

# needs_build SCRIPT: does a check judge what was built?
needs_build() {
        grep -q '^# needs: the gcc build$' "$1"
}

# suite_scripts SUITE [PART]: the TAP scripts of tests/SUITE; the part `static` is those that need no build, `built` the others.
suite_scripts() {
        local script
        for script in "$repo/tests/$1"/*; do
                [[ -f $script && -x $script ]] || continue
                case ${2:-} in
                static) ! needs_build "$script" || continue ;;
                built) needs_build "$script" || continue ;;
                esac
                echo "$script"
        done
}

# tap_suite SUITE RESULTS [PART [BUILD [WRAPPER]]]: runs them. What suite_result reads goes to the file RESULTS. The log of each
# is named after its suite, and its build where that is not gcc's.
tap_suite() {
        local suite=$1 results=$2 tree=$build_dir/${4:-gcc} script name log rc since part limit=900
        local -a scripts
        [[ -z ${TIDBNUMAD_LONG:-} ]] || limit=14400 # half an hour of load, some 50,000 faults
        mapfile -t scripts < <(suite_scripts "$suite" "${3:-}")
        : >"$results"
        for script in "${scripts[@]}"; do
                name=${script##*/} rc=0 since=$SECONDS
                log=$logs/$suite-$name${4:+-$4}.tap
                # shellcheck disable=SC2086 # the wrapper is words, or nothing
                timeout -k 10 "$limit" ${5:-} "$script" "$tree" >"$log" 2>&1 || rc=$?
                cat "$log"
                part=$(count_tap "$name" "$rc" <"$log")
                printf '%s\n' "$part" >>"$results"
                echo "== $suite/$name: $(awk -F'\t' '{ n[$1] += $1 == "pass" ? $2 : 1 } END {
                        printf "%d passed, %d failed, %d skipped", n["pass"], n["fail"], n["skip"] }' <<<"$part"), $((SECONDS - since)) s"
        done
}

# show_failed_cases LOG: with the comments that follow each.
show_failed_cases() {
        local log=$1
        echo "--- from $log"
        awk '
        /^== / { if (bad) print; bad = on = 0; next }
        /^(not ok|Bail)/ && tolower($0) !~ /# *(skip|todo)/ { bad = on = 1; print; next }
        on && /^#/ { print; next }
        { on = 0 }' "$log" | sed 's/^/    /' | head -n 100
        echo "---"
}

# deb_options: a --deb option for each package that a host installs
deb_options() {
        find "$dist" -maxdepth 1 \( -name "*_$(dpkg --print-architecture).deb" -o -name '*_all.deb' \) ! -name '*-dbgsym_*' -printf '--deb\n%p\n'
}

# --- the jobs of the lanes -----------------------------------------------------------------------------------------

declare -A build_works=()
package_works=''

start_build() {
        start "$1" "$(build_title "$2")" "build-$2" build_tree "$2"
}

end_build() {
        local lane=$1 compiler=$3
        if (($2 == 0)); then
                build_works[$compiler]=yes
                result "$lane"
        else
                result "$lane" FAILED
                show_log "${job_log[$lane]}"
                not_run "$(build_title "$compiler"): failed, see ${job_log[$lane]}"
        fi
}

# can_run SUITE COMPILER: is that build there? Counts a failure where it is not.
can_run() {
        [[ -z ${build_works[$2]:-} ]] || return 0
        step_at=$((step_at + 1))
        line "[$step_at/$step_total] $1, $2 build  FAILED: there is no $2 build to run"
        not_run "$1 ($2): could not run, the build failed"
        return 1
}

# The part `static` of the checks runs before there is a build, so that its results are the first.
start_checks() {
        local title=checks
        [[ $2 != static ]] || title='checks of the tree'
        [[ $2 != built ]] || title='checks of what was built'
        [[ $2 == static ]] || can_run checks gcc || return 1
        start "$1" "$title" "checks-$2" tap_suite checks "$logs/checks-$2.results" "$2"
        follow "$1"
}

end_checks() {
        end_tap "$1" "$2" checks "$logs/checks-$3.results"
}

# With the sanitizers only the short form: what takes long is about memory, time and many processes.
sanitized_sandbox() {
        export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
        export ASAN_OPTIONS=strict_string_checks=1:detect_stack_use_after_return=1
        TIDBNUMAD_LONG='' tap_suite sandbox "$logs/sandbox-clang.results" '' clang "$(sanitizer_wrapper)"
}

start_sandbox() {
        can_run sandbox "$2" || return 1
        case $2 in
        gcc) start "$1" sandbox sandbox-gcc tap_suite sandbox "$logs/sandbox-gcc.results" ;;
        clang) start "$1" 'sandbox, clang build' sandbox-clang sanitized_sandbox ;;
        esac
        follow "$1"
}

# The programs of the rpm that is handed out take a tree of another release: for the long run.
build_packages() {
        local -a options=()
        [[ -n ${TIDBNUMAD_LONG:-} ]] || options=(--host-rpm)
        "$repo/packaging/build" "${options[@]}" "$dist"
}

# Beside the machines, which use the same packages; who comes first builds them.
packages_suite() {
        local results=$1
        : >"$results"
        build_packages && TIDBNUMAD_DIST=$dist tap_suite packages "$results"
}

start_packages() {
        start "$1" packages packages packages_suite "$logs/packages.results"
        follow "$1"
}

end_packages() {
        end_tap "$1" "$2" packages "$logs/packages.results"
}

end_sandbox() {
        end_tap "$1" "$2" "sandbox ($3)" "$logs/sandbox-$3.results"
}

end_tap() {
        (($2 == 0)) || printf 'fail\tthe suite broke off, see %s\n' "${job_log[$1]}" >>"$4"
        suite_result "$1" "$3" "$4" || show_failed_cases "${job_log[$1]}"
}

start_meson() {
        can_run "$2" "$3" || return 1
        start "$1" "$2, $3 build" "$2-$3" meson_suite "$2" "$3"
}

end_meson() {
        local lane=$1 status=$2 suite=$3 compiler=$4 json results=$logs/$3-$4.results
        json=$build_dir/$compiler/meson-logs/$suite.json
        : >"$results"
        if [[ -f $json ]]; then
                jq -r "$COUNT_MESON" "$json" >"$results" || printf 'fail\tcannot read %s\n' "$json" >>"$results"
        else
                printf 'fail\tmeson test did not run (exit status %s), see %s\n' "$status" "${job_log[$lane]}" >"$results"
        fi
        suite_result "$lane" "$suite ($compiler)" "$results" && return
        if [[ -f $json ]]; then jq -r "$SHOW_MESON" "$json"; else show_log "${job_log[$lane]}"; fi
}

# fuzz_for MINUTES: on standard output, the progress of tests/fuzz/run
fuzz_for() {
        local rc=0 wrapper
        wrapper=$(sanitizer_wrapper)
        export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
        $wrapper "$repo/tests/fuzz/run" "$build_dir/fuzz" --minutes "$1" --logs "$logs/fuzz" | tee "$logs/fuzz.tap" || rc=$?
        count_tap fuzz "$rc" <"$logs/fuzz.tap" >"$logs/fuzz.results"
}

start_fuzzing() {
        can_run fuzz fuzz || return 1
        : >"$logs/fuzz.results"
        start "$1" "fuzzing for $2 minutes" fuzz fuzz_for "$2"
        follow "$1"
}

end_fuzzing() {
        end_tap "$1" "$2" fuzz "$logs/fuzz.results"
}

start_package() {
        start "$1" 'building the packages' package build_packages
}

end_package() {
        if (($2 == 0)); then
                package_works=yes
                result "$1"
        else
                result "$1" FAILED
                show_log "${job_log[$1]}"
        fi
}

# own_package MACHINE: is it of another release or architecture than this host? Then tests/vm/run builds its package.
own_package() {
        local file=$repo/tests/vm/machines/$1.machine
        ! grep -qs '^rpm=' "$file" || return 1
        grep -qs '^arch=' "$file" || { grep -qs '^release=' "$file" && ! grep -qE '^release=bookworm([+]|$)' "$file"; }
}

start_vm() {
        local -a options
        if [[ -z $package_works ]]; then
                step_at=$((step_at + 1))
                not_run "vm ($2): could not run, the package could not be built, see $logs/package.log"
                return 1
        fi
        mapfile -t options < <(deb_options)
        ! own_package "$2" || options=(--build-deb "$dist")
        options+=(--sanitized "$build_dir/clang")
        if [[ -n ${TIDBNUMAD_LONG:-} ]]; then
                options+=(--long)
        elif [[ " ${VM_MACHINES_IN_TURN[*]} " == *" $2 "* ]]; then
                options+=(--cached bind)
        fi
        start "$1" "vm, machine $2" "vm-$2" "$repo/tests/vm/run" --machine "$2" --out "$build_dir/vm/$2" "${options[@]}"
        follow "$1"
}

end_vm() {
        local lane=$1 status=$2 machine=$3 log=${job_log[$1]} results=$logs/vm-$3.results numbers
        numbers=$(grep -E "^vm/$machine: [0-9]+ passed, [0-9]+ failed, [0-9]+ skipped\$" "$log" | tail -n 1 || true)
        if [[ $numbers =~ ([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped ]]; then
                vm_results "${BASH_REMATCH[@]:1:3}" "$status" "$log" >"$results"
        elif ((status == 77)); then
                printf 'skip\t%s\n' "$(tail -n 1 "$log")" >"$results"
        else
                printf 'fail\tended with exit status %s and no result, see %s\n' "$status" "$log" >"$results"
        fi
        suite_result "$lane" "vm ($machine)" "$results" || show_vm_failures "$log"
}

# show_vm_failures LOG: each failed scenario with its failed checks
show_vm_failures() {
        grep -E '^  (failed|MACHINE)|not ok ' "$1" | head -n 60 | sed 's/^/    /' || true
}

# --- which jobs, in which order ------------------------------------------------------------------------------------

# machine_in_turn: the machine of this day; and, where that is not ready to run, the first of them, whose image epyc8 has as well.
machine_in_turn() {
        local day machine
        day=$(date +%j)
        machine=${VM_MACHINES_IN_TURN[10#$day % ${#VM_MACHINES_IN_TURN[@]}]}
        echo "$machine"
        [[ $machine == "${VM_MACHINES_IN_TURN[0]}" ]] || "$repo/tests/vm/run" --machine "$machine" --cached --list bind >/dev/null 2>&1 ||
                echo "${VM_MACHINES_IN_TURN[0]}"
}

# needs_compiler COMPILER WANTED
needs_compiler() {
        [[ $1 == gcc || $2 == *' unit '* || $2 == *' golden '* || $2 == *' fuzz '* ]] ||
                [[ -n ${TIDBNUMAD_LONG:-} && $2 == *' sandbox '* ]]
}

# plan_lanes SUITE…: sets the arrays host and guest, and shared, the suite packages and the machines after the first: for the lane
# that is done first. The machines need the package, which the guest's lane builds before all else.
plan_lanes() {
        local wanted=" $* " compiler suite
        local -a others=("${VM_MACHINES[@]:1}")
        host=() guest=() shared=()
        if [[ -n ${TIDBNUMAD_LONG:-} ]]; then
                others+=("${VM_MACHINES_IN_TURN[@]}" "${VM_MACHINES_LONG[@]}")
        elif [[ $wanted == *' vm '* ]]; then
                mapfile -t -O ${#others[@]} others < <(machine_in_turn)
        fi
        [[ $wanted != *' checks '* ]] || host+=('checks static')
        if [[ $wanted != ' vm ' ]]; then host+=('build gcc'); fi
        [[ $wanted != *' checks '* ]] || host+=('checks built')
        for compiler in gcc clang; do
                needs_compiler "$compiler" "$wanted" || continue
                [[ $compiler == gcc ]] || host+=('build clang')
                for suite in unit golden fuzz; do
                        [[ $wanted != *" $suite "* ]] || host+=("meson $suite $compiler")
                done
        done
        [[ $wanted != *' sandbox '* ]] || host+=('sandbox gcc')
        [[ $wanted != *' sandbox '* || -z ${TIDBNUMAD_LONG:-} ]] || host+=('sandbox clang')
        if [[ $wanted != *' vm '* ]]; then
                [[ $wanted != *' packages '* ]] || host+=(packages)
                return 0
        fi
        guest+=(package "vm ${VM_MACHINES[0]}")
        if [[ $wanted == *' packages '* ]]; then
                shared+=(packages "${others[@]/#/vm }")
        else
                guest+=("${others[@]/#/vm }")
        fi
}
