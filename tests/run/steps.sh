# shellcheck shell=bash
# Runs jobs and shows them. A lane runs one job at a time; lanes run side by side. To be sourced by dev.
# shellcheck disable=SC2154 # repo, logs, lock and stdout are dev's

[[ -t 1 && ${TERM:-dumb} != dumb ]] && tty=1 || tty=0
step_at=0 step_total=1 next_sign=30 shown_at=0

# By lane: the running job's process, title, log, start, the words that name it, and the open log of one that is followed.
declare -A job_pid=() job_title=() job_log=() job_since=() job_words=() job_live=()

# line TEXT: above the line of a terminal that shows what runs
line() {
        ((!tty)) || printf '\r\e[K'
        printf '%s\n' "$1"
}

# start LANE TITLE LOG COMMAND…: a function of dev or a program, in a process group of its own, so that an interrupt can end
# all of it, and in a shell of its own, for in this one `set -e` would not count below an `if`.
start() {
        local lane=$1
        step_at=$((step_at + 1))
        job_title[$lane]="[$step_at/$step_total] $2" job_log[$lane]=$logs/$3.log job_since[$lane]=$SECONDS
        shift 3
        ((tty)) || echo "${job_title[$lane]} …"
        : >"${job_log[$lane]}"
        set -m
        (
                # A server that a command leaves behind must hold neither the lock nor CI's output.
                [[ -z ${lock:-} ]] || exec {lock}>&-
                [[ -z ${stdout:-} ]] || exec {stdout}>&-
                exec "$BASH" "$repo/dev" _call "$@"
        ) </dev/null >"${job_log[$lane]}" 2>&1 &
        job_pid[$lane]=$!
        set +m
}

# follow LANE: the results in its log are shown as they come: lines that begin with "== ", and those of tests/vm/run.
follow() {
        local fd
        exec {fd}<"${job_log[$1]}"
        job_live[$1]=$fd
}

show_live() {
        local lane=$1 text
        [[ -n ${job_live[$lane]:-} ]] || return 0
        while IFS= read -r -u "${job_live[$lane]}" text; do
                case $text in
                '== '*) line "      ${text#== }" ;;
                '  passed '* | '  failed '* | '  skipped '* | '  booted '* | '  KVM'* | '  MACHINE'*) line "      vm:  ${text#  }" ;;
                esac
        done
}

# ended LANE: is it? Then job_status is its exit status.
ended() {
        local fd
        show_live "$1"
        ! kill -0 "${job_pid[$1]}" 2>/dev/null || return 1
        job_status=0
        wait "${job_pid[$1]}" || job_status=$?
        show_live "$1"
        fd=${job_live[$1]:-}
        [[ -z $fd ]] || exec {fd}<&-
        unset "job_pid[$1]" "job_live[$1]"
}

# result LANE [TEXT]: closes the job's step.
result() {
        line "${job_title[$1]}  $((SECONDS - job_since[$1]))s${2:+  $2}"
}

# What runs, every second on a terminal and every 30 s elsewhere.
show_running() {
        local lane text='' width
        if ((tty)); then
                ((SECONDS != shown_at)) || return 0
        else
                ((SECONDS >= next_sign)) || return 0
        fi
        shown_at=$SECONDS next_sign=$((SECONDS + 30))
        for lane in "${!job_pid[@]}"; do
                text+="   ${job_title[$lane]} $((SECONDS - job_since[$lane]))s"
                ((!tty)) || text+=" $(last_words "${job_log[$lane]}")"
        done
        if ((tty)); then
                width=$(tput cols 2>/dev/null || echo 80)
                printf '\r\e[K%s' "${text:2:width - 3}"
        else
                echo "      running for ${SECONDS}s:$text"
        fi
}

last_words() {
        tail -c 500 "$1" | tr '\r\t' '\n ' | sed 's/\x1b\[[0-9;]*[a-zA-Z]//g' | grep -v '^ *$' | tail -n 1 | cut -c1-40 || true
}

show_log() {
        echo "--- the end of $1"
        tail -n 30 "$1" | sed 's/^/    /'
        echo "---"
}

# step TITLE LOG COMMAND…: one job, alone; shows the log's end when it fails.
step() {
        start only "$@"
        until ended only; do
                show_running
                sleep 0.1
        done
        if ((job_status == 0)); then
                result only
        else
                result only FAILED
                show_log "${job_log[only]}"
                return 1
        fi
}

# run_lanes LANE…: each names an array of jobs; those of the array `shared` are for the lanes that have done their own. A job is
# a KIND and its arguments: start_KIND LANE ARG… starts it, or returns 1 where it cannot run; end_KIND LANE STATUS ARG… judges it.
run_lanes() {
        local lane
        for lane; do next_job "$lane"; done
        while ((${#job_pid[@]})); do
                for lane; do
                        [[ -n ${job_pid[$lane]:-} ]] || continue
                        ended "$lane" || continue
                        end_job "$lane"
                        next_job "$lane"
                done
                show_running
                sleep 0.2
        done
}

end_job() {
        local -a words
        read -ra words <<<"${job_words[$1]}"
        "end_${words[0]}" "$1" "$job_status" "${words[@]:1}"
}

next_job() {
        local lane=$1
        local -n jobs=$1
        local -a words
        while ((${#jobs[@]})) || { ((${#shared[@]})) && jobs=("${shared[0]}") && shared=("${shared[@]:1}"); }; do
                job_words[$lane]=${jobs[0]}
                read -ra words <<<"${jobs[0]}"
                jobs=("${jobs[@]:1}")
                ! "start_${words[0]}" "$lane" "${words[@]:1}" || return 0
        done
}

end_all_jobs() {
        local lane
        for lane in "${!job_pid[@]}"; do
                kill -- "-${job_pid[$lane]}" 2>/dev/null || true
        done
}

interrupted() {
        echo
        end_all_jobs
        exit "$1"
}
trap 'interrupted 130' INT
trap 'interrupted 143' TERM
trap 'interrupted 129' HUP
