# shellcheck shell=bash
# Counts what the suites print: cmocka, TAP and tests/vm/run become lines of KIND, TAB, TEXT, where KIND is pass, fail or skip and
# the text of a pass is its number. To be sourced by dev.
# shellcheck disable=SC2034,SC2154 # stdout and died are dev's

passed=0 failed=0 skipped=0
failures=() skips=()

# suite_result LANE LABEL FILE: adds up FILE and closes the job's step; fails where a case failed.
suite_result() {
        local lane=$1 label=$2 kind text p=0 f=0 s=0
        while IFS=$'\t' read -r kind text; do
                case $kind in
                pass) p=$((p + text)) ;;
                fail) f=$((f + 1)) && failures+=("$label: $text") ;;
                skip) s=$((s + 1)) && skips+=("$label: $text") ;;
                esac
        done <"$3"
        if ((p + f + s == 0)); then
                s=1 && skips+=("$label: this suite has no tests")
        fi
        passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
        result "$lane" "$p passed, $f failed, $s skipped"
        ((f == 0))
}

# A failure of what comes before a suite: the suite could not run.
not_run() {
        failed=$((failed + 1))
        failures+=("$1")
}

# From meson's log: the cases inside a cmocka program or a TAP script count one by one, another program is one case.
# shellcheck disable=SC2016 # the dollars are jq's
readonly COUNT_MESON='
def pass(n): if n > 0 then "pass\t\(n)" else empty end;
(.name |= sub("^.* / "; "")) | . as $t | ((.stdout // "") + "\n" + (.stderr // "") | split("\n")) as $out
| [$out[] | select(startswith("[       OK ] "))] as $ok
| [$out[] | capture("^\\[  FAILED  \\] (?<n>[A-Za-z_]\\w*)$").n] as $bad
# cmocka names a skip below the line that tells why, and once more in its summary.
| [range(1; $out | length) as $i | $out[$i] | capture("^\\[  SKIPPED \\] (?<n>[A-Za-z_]\\w*)$") + {why: $out[$i - 1]}] as $marks
| [$marks | group_by(.n)[] | "\(.[0].n): \(first(.[].why | select(test("^\\[") | not)) // "no reason given")"] as $cmocka_skips
| [$out[] | select(test("^(not )?ok\\b"))] as $tap
| [$tap[] | select(test("# *skip"; "i"))] as $tap_skips
| [$tap[] | select(test("^not ok") and (test("# *(skip|todo)"; "i") | not))] as $tap_bad
| (($bad | unique) + $tap_bad) as $failing
| if .result == "SKIP" then "skip\t\(.name): \([$out[] | select(test("\\S"))] | last // "no reason given")"
  elif ($ok + $tap | length) == 0 and .result == "OK" then pass(1)
  else
    pass(($ok | length) + ($tap | length) - ($tap_bad | length) - ($tap_skips | length)),
    ($cmocka_skips[], $tap_skips[] | "skip\t\($t.name): \(.)"),
    ($failing[] | "fail\t\($t.name): \(.)"),
    (if .result != "OK" and .result != "EXPECTEDFAIL" and ($failing | length) == 0
     then "fail\t\(.name): \(.result), exit status \(.returncode)" else empty end)
  end'
readonly SHOW_MESON='
select(.result | IN("OK", "SKIP", "EXPECTEDFAIL") | not)
| "--- \(.name): \(.result)", (((.stdout // "") + "\n" + (.stderr // "")) | rtrimstr("\n") | split("\n") | .[-40:][] | "    \(.)"), "---"'

count_tap() {
        awk -v name="$1" -v rc="$2" '
        function told(kind, text) { printf "%s\t%s: %s\n", kind, name, text; seen++ }
        NF { last = $0 }
        /^1\.\.[0-9]+/ {
                plan = substr($1, 4) + 0; planned = 1
                if (plan == 0) told("skip", index($0, "#") ? substr($0, index($0, "#") + 2) : "no reason given")
        }
        /^(not )?ok( |$)/ {
                n++
                if (tolower($0) ~ /# *skip/) told("skip", $0)
                else if (/^not ok/ && tolower($0) !~ /# *todo/) { told("fail", $0); bad++ }
                else pass++
        }
        /^Bail out!/ { told("fail", $0); bad++ }
        END {
                if (pass) printf "pass\t%d\n", pass
                if (rc == 77 && !n) { if (!seen) told("skip", last ? last : "no reason given") }
                else if (rc == 124 || rc == 137) told("fail", "took longer than 15 minutes")
                else if (!planned && !bad) told("fail", "ended without a plan, exit status " rc ": " last)
                else if (planned && n + 0 != plan) told("fail", "ran " n + 0 " of " plan " cases, exit status " rc)
                else if (rc && !bad) told("fail", "exit status " rc)
        }'
}

# vm_results PASSED FAILED SKIPPED EXIT-STATUS LOG: the numbers of the summary, the names from the log as far as it has them.
vm_results() {
        local p=$1 f=$2 s=$3 rc=$4 log=$5
        ((p == 0)) || printf 'pass\t%d\n' "$p"
        vm_cases fail "$f" "$log" < <(sed -nE '/# *(SKIP|TODO)/I!s/^ *(not ok .*)/\1/p' "$log")
        vm_cases skip "$s" "$log" < <(sed -nE 's/^ *((not )?ok .*# *SKIP.*)/\1/Ip' "$log")
        ((f > 0 || rc == 0)) || printf 'fail\texit status %d, see %s\n' "$rc" "$log"
}

# vm_cases KIND NUMBER LOG: so many lines, named by standard input while it lasts.
vm_cases() {
        local -a names
        local i
        mapfile -t names
        for ((i = 0; i < $2; i++)); do printf '%s\t%s\n' "$1" "${names[i]:-see $3}"; done
}

# The last words of a test run, however it ends: what failed and was skipped, then the one line for machines.
test_summary() {
        local rc=$?
        trap - EXIT
        end_all_jobs
        exec >&"$stdout" # an error may have ended the run where it was redirected
        ((rc == 0 || failed)) || not_run "the run ended early: ${died:-exit status $rc}"
        ((!${#skips[@]})) || printf '%s\n' '' Skipped: "${skips[@]/#/  }"
        ((!${#failures[@]})) || printf '%s\n' '' Failed: "${failures[@]/#/  }"
        printf '\n%d passed, %d failed, %d skipped\n' $passed $failed $skipped
        ((rc <= 128)) || exit "$rc"
        exit $((failed > 0))
}
