# shellcheck shell=bash
# Follows a running machine for run: reads its live TAP, shows progress, ends what hangs, reports. To be sourced.
# Uses run's variables: out, tmp, machine_name, scenarios, boot_timeout, verbose, qemu_pid, booted_again.
# shellcheck disable=SC2154  # these

# What the guest may need beyond a scenario's own limit: to gather logs, and to put itself back for the next one.
readonly LOGS_SECONDS=60 RESET_SECONDS=240

# Every 15 s the guest says that it is alive. After this long without a word it hangs, whatever its scenario may still take.
readonly SILENT_SECONDS=${TIDBNUMAD_VM_SILENT_SECONDS:-180}

# Lines of the console that no sane kernel writes, and those of a boot that went astray.
readonly KERNEL_BROKE='Kernel panic|Oops: |BUG: |general protection fault|kernel BUG at|You are in emergency mode|Dropping to a shell'

declare -A result seconds_of reason phase_seconds phase_cpu
current='' machine_failure='' finished='' booted='' boot_again='' qemu_cpu=0

shown() {
        realpath --relative-base="$PWD" "$1"
}

# progress TEXT: on a terminal a line that is overwritten; in a log one line every ten seconds.
progress() {
        if [[ -t 1 ]]; then
                printf '\r\033[K%s' "$1"
        elif ((SECONDS >= next_progress)); then
                echo "$1"
                next_progress=$((SECONDS + 10))
        fi
}

say() {
        [[ ! -t 1 ]] || printf '\r\033[K'
        echo "$1"
        next_progress=$((SECONDS + 10))
}

watch_round() {
        local line part='' ended=''
        current='' booted='' boot_again='' last_word=$SECONDS
        round_start=${round_start:-$SECONDS} phase_start=$SECONDS next_progress=$((SECONDS + 10)) deadline=$((SECONDS + boot_timeout)) waits_for='boot'

        exec {live}<"$out/results.tap"
        while true; do
                while IFS= read -r -u "$live" line; do
                        last_word=$SECONDS
                        take_line "$part$line"
                        part=''
                done
                # At the end of the file read leaves the beginning of a line that is still being written.
                part+=$line
                [[ -z $finished ]] || { end_phase && break; }
                if console_shows_trouble; then break; fi
                package_arrives || { fail_machine "the package could not be built: $(shown "$out/package.log")" && break; }
                if kvm_is_silent "$out/console" $((SECONDS - phase_start)); then
                        restart_without_kvm
                        continue
                fi
                if ! kill -0 "$qemu_pid" 2>/dev/null; then
                        # It may have written its last lines just before it ended.
                        [[ -z $ended ]] || { the_emulator_crashed || fail_machine "the machine ended before the round did" && break; }
                        ended=yes
                elif [[ -n $booted ]] && ((SECONDS - last_word >= SILENT_SECONDS)); then
                        boot_again='the guest hung'
                        ask_why_it_hangs
                        fail_machine "the guest hangs: no sign of life for $((SECONDS - last_word)) s, while waiting for: $waits_for"
                        break
                elif ((SECONDS >= deadline)); then
                        fail_machine "no progress for $((SECONDS - phase_start)) s while waiting for: $waits_for"
                        break
                fi
                progress "  $waits_for … $((SECONDS - phase_start)) s"
                sleep 0.2
        done
        exec {live}<&-
}

# An emulator that a signal has ended: no kernel and no program in the guest can do that.
the_emulator_crashed() {
        local status=0
        wait "$qemu_pid" 2>/dev/null || status=$?
        ((status > 128)) || return 1
        boot_again="the emulator crashed (signal $((status - 128)))"
        fail_machine "$boot_again, while waiting for: $waits_for"
}

# What its CPUs are at, by QEMU, and what its kernel says of them: a panic by NMI prints the backtrace of each.
ask_why_it_hangs() {
        # Opened for both: a QEMU that has just ended reads no more, and opening would wait for a reader.
        printf 'info registers -a\nnmi\n' 1<>"$tmp/monitor.in"
        timeout 10 cat "$tmp/monitor.out" | grep -av "^(qemu)" >"$out/registers" || true
        for _ in {1..30}; do
                kill -0 "$qemu_pid" 2>/dev/null || break
                sleep 1
        done
}

restart_without_kvm() {
        say "  KVM: the guest's kernel printed nothing within $((SECONDS - phase_start)) s; starting again under software emulation"
        exec {live}<&-
        start_without_kvm
        exec {live}<"$out/results.tap"
        expect 'boot' "$boot_timeout"
}

# end_phase: adds the phase that ends now to the totals of its kind. CPU time is QEMU's, which a busy host does not distort
# as it does the time on the clock.
end_phase() {
        local kind=scenarios used=$qemu_cpu
        local -a stat=()
        case $waits_for in
        boot) kind=boot ;;
        'the first scenario' | 'what comes after '*) kind=resets ;;
        esac
        ! read -ra stat 2>/dev/null <"/proc/$qemu_pid/stat" || used=$(((stat[13] + stat[14]) / 100))
        phase_seconds[$kind]=$((${phase_seconds[$kind]:-0} + SECONDS - phase_start))
        # A machine that was started again counts from nothing.
        phase_cpu[$kind]=$((${phase_cpu[$kind]:-0} + (used >= qemu_cpu ? used - qemu_cpu : used)))
        qemu_cpu=$used
}

phase_report() {
        local kind text=''
        for kind in boot resets scenarios; do
                text+=", $kind ${phase_seconds[$kind]:-0} s (CPU ${phase_cpu[$kind]:-0} s)"
        done
        echo "  where the time went: ${text#, }"
}

# expect WHAT SECONDS: what comes next and how long it may take.
expect() {
        end_phase
        waits_for=$1 phase_start=$SECONDS deadline=$((SECONDS + $2))
}

take_line() {
        local line=$1

        case $line in
        '# booted '*)
                booted=yes
                say "  booted in $((SECONDS - phase_start)) s: ${line#\# booted }"
                expect 'the first scenario' $RESET_SECONDS
                ;;
        '# begin '*)
                current=${line#\# begin } current=${current%% *}
                say "  $current: starts"
                expect "$current" $((${line##*limit=} + LOGS_SECONDS))
                ;;
        '# done') finished=yes ;;
        'ok '* | 'not ok '*) take_result "$line" ;;
        '    not ok '*) say "  $current: ${line#    }" ;;
        '    # step: '*) say "  $(printf '%4d s' $((SECONDS - round_start)))  ${line#    # step: }" ;;
        # A check is in the log once more, beside the output it is about.
        '    # '*) [[ -z $verbose ]] || say "    ${line#    # }" ;;
        esac
}

take_result() {
        local line=$1 name=${1#* - }

        name=${name%% #*}
        seconds_of[$name]=$((SECONDS - phase_start))
        case $line in
        'not ok '*) result[$name]=failed reason[$name]=${line#*# time=*s } ;;
        *'# SKIP'*) result[$name]=skipped reason[$name]=${line#*# SKIP } ;;
        *) result[$name]=passed ;;
        esac
        say "$(result_line "$name")"
        current=''
        expect "what comes after $name" $RESET_SECONDS
}

result_line() {
        local name=$1 text
        text=$(printf '  %-7s %-28s %4s s' "${result[$name]}" "$name" "${seconds_of[$name]:--}")
        [[ -z ${reason[$name]:-} ]] || text+="  ${reason[$name]}"
        echo "$text"
        [[ ${result[$name]} != failed ]] || echo "          logs: $(shown "$out/$name")/"
}

console_shows_trouble() {
        local what
        what=$(grep -a -m 1 -E "$KERNEL_BROKE" "$out/console") || return 1
        # Let the kernel finish its report before the machine is ended.
        for _ in {1..20}; do
                kill -0 "$qemu_pid" 2>/dev/null || break
                sleep 0.1
        done
        fail_machine "the guest's kernel or boot broke: ${what//$'\r'/}"
}

# The machine itself failed: the scenario that ran then is to blame, and those after it did not run.
fail_machine() {
        machine_failure=$1
        say "  MACHINE FAILED: $1"
        echo "  --- end of its console ($(shown "$out/console"))"
        tail -n 25 "$out/console" | tr -d '\r' | sed 's/^/  | /'
        [[ ! -s $out/qemu.log ]] || sed 's/^/  | QEMU: /' "$out/qemu.log"
        echo "  ---"
}

# scenarios_left: those without a result, a line each.
scenarios_left() {
        local file
        for file in "${scenarios[@]}"; do
                [[ -v result[$(basename "$file" .sh)] ]] || echo "$file"
        done
}

# After a machine failure nothing came as a tar for the scenario that ran; what it said live is there.
account_for_missing() {
        local file name
        for file in "${scenarios[@]}"; do
                name=$(basename "$file" .sh)
                [[ ! -v result[$name] ]] || continue
                result[$name]=failed
                if [[ $name == "$current" ]]; then
                        seconds_of[$name]=$((SECONDS - phase_start))
                        reason[$name]="the machine failed in it: $machine_failure"
                else
                        reason[$name]="did not run: $machine_failure"
                fi
                mkdir -p "$out/$name"
                sed -n "/^# begin $name /,/^[^ ]*ok [0-9]* - $name\b/p" "$out/results.tap" >"$out/$name/live"
        done
}

report() {
        local name passed=0 failed=0 skipped=0 file

        account_for_missing
        [[ ! -t 1 ]] || printf '\r\033[K'
        for file in "${scenarios[@]}"; do
                name=$(basename "$file" .sh)
                case ${result[$name]} in
                passed) passed=$((passed + 1)) ;;
                skipped) skipped=$((skipped + 1)) ;;
                *) failed=$((failed + 1)) && result_line "$name" ;;
                esac
        done
        phase_report
        [[ -z $booted_again ]] || echo "  $booted_again, and the machine was booted again; its first console: $(shown "$out/console-before")"
        echo "vm/$machine_name: $passed passed, $failed failed, $skipped skipped"
        ((failed == 0)) && [[ -z $machine_failure ]]
}
