#include <string.h>
#include <sys/stat.h>

#include "tidbnumad/daemon/undo/undo-change.h"
#include "tidbnumad/daemon/undo/undo-release.h"
#include "tidbnumad/daemon/units/unit-start.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/worker/ask.h"

/* Files that a command line may name, of which few are scripts. */
enum { FILES_MAX = 8 };

static const char revoked[] = "it failed or was started again within a minute of a prepared start, "
                              "so its preparation was "
                              "taken back until its unit or its policy changes";

/* --- what it asks for --- */

/* FNV-1a */
static void hash_text(uint64_t *hash, const char *text) {
        for (; *text; text++)
                *hash = (*hash ^ (uint8_t)*text) * UINT64_C(1099511628211);
        *hash = (*hash ^ 0xff) * UINT64_C(1099511628211);
}

/* The folders of unit files are root's, and local; what a link in them leads to may be not. */
static void hash_file(uint64_t *hash, const char *path) {
        struct stat st;
        char text[64] = "";

        if (*path && lstat(path, &st) == 0)
                (void)snprintf(text, sizeof(text), "%lld.%ld", (long long)st.st_mtim.tv_sec,
                               st.st_mtim.tv_nsec);
        hash_text(hash, path);
        hash_text(hash, text);
}

/* Those of `systemctl set-property`, and ours, are not about its start. */
static bool is_control_drop_in(const char *path) {
        return strstr(path, "/system.control/") != NULL;
}

typedef struct Start {
        Host *host;
        StartLimits limits;
        uint64_t hash;
        unsigned n_files;
        bool unread;
} Start;

static void start_read_script(Start *start, const char *path) {
        _cleanup_free_ char *text = NULL;
        int r;

        r = start->n_files++ < FILES_MAX
                    ? worker_read_script(&start->host->workers, &start->host->sysroot, path, false,
                                         &text)
                    : -E2BIG;
        if (r >= 0) {
                hash_text(&start->hash, text);
                start_limits_add_script(&start->limits, text);
        } else if (r != -ENOEXEC && r != -ENOENT && r != -ENOTDIR && r != -EINVAL) {
                start_limits_add_unreadable(&start->limits);
                start->unread = r != -E2BIG;
        }
}

/* `/bin/bash -c '/data/tidb-4000/scripts/run_tidb.sh'`: a path may be a word, or in one. */
static void start_read_word(Start *start, const char *word) {
        _cleanup_free_ char *copy = strdup(word);
        char *rest = NULL;

        hash_text(&start->hash, word);
        if (!copy)
                return;
        for (char *path = strtok_r(copy, " \t\n;'\"", &rest); path;
             path = strtok_r(NULL, " \t\n;'\"", &rest))
                if (path[0] == '/')
                        start_read_script(start, path);
}

void unit_start_note(Unit *u, const BusUnit *read) {
        const Topology *topology = &u->units->host->topology;
        Start start = { .host = u->units->host, .hash = UINT64_C(14695981039346656037) };

        start_limits_add_affinity(&start.limits, &read->affinity);
        start_limits_add_numa(&start.limits, topology, read->numa_policy, &read->numa_mask,
                              read->affinity_from_numa);
        start_limits_add_command(&start.limits, read->exec, read->n_exec);
        for (size_t i = 0; i < read->n_exec; i++)
                start_read_word(&start, read->exec[i]);
        hash_file(&start.hash, read->fragment);
        for (size_t i = 0; i < read->n_drop_ins; i++)
                if (!is_control_drop_in(read->drop_ins[i]))
                        hash_file(&start.hash, read->drop_ins[i]);
        u->start_unread = start.unread;
        if (start.unread && u->start_hash != 0)
                return; /* what was read before still holds, as far as is known */
        if (start.hash != u->start_hash)
                unit_start_forgive(u);
        u->start_hash = start.hash;
        if (!start_limits_equal(&start.limits, &u->place.start))
                host_mark(u->units->host, HOST_MARK_PLAN);
        u->place.start = start.limits;
}

/* --- how it went --- */

static bool is_prepared(const Unit *u) {
        return u->place.cpus.ours || u->mems.ours;
}

static bool is_failure(const char *state) {
        return strcmp(state, "failed") == 0 || strcmp(state, "auto-restart") == 0;
}

static bool is_end(const char *state) {
        return is_failure(state) || strcmp(state, "inactive") == 0;
}

/* A start that nobody saw has just gone by. */
static bool is_young(const Unit *u) {
        return u->started_usec == 0 || clock_monotonic_usec() < u->started_usec + UNIT_START_USEC;
}

bool unit_start_is_watched(const Unit *u) {
        return u->place.known && is_prepared(u) && is_young(u);
}

static void note_start(Unit *u, uint64_t usec) {
        u->started_usec = usec;
        u->start_inside = is_prepared(u);
}

static bool began_inside(const Unit *u) {
        return u->started_usec == 0 ? is_prepared(u) : u->start_inside;
}

/* It failed soon after its start. True: perhaps because of values of ours. */
static bool judge(Unit *u, bool inside) {
        if (!inside)
                unit_start_forgive(u);
        return inside;
}

bool unit_start_note_state(Unit *u, const char *active_state) {
        const bool seen = u->started_usec != 0, young = u->place.known && is_young(u),
                   inside = began_inside(u);

        if (!is_end(active_state)) {
                if (!seen)
                        note_start(u, clock_monotonic_usec());
                return false;
        }
        u->started_usec = 0;
        u->end_seen = true;
        if (!seen)
                return false; /* or a signal of another property: the read tells */
        u->end_judged = true;
        return is_failure(active_state) && young && judge(u, inside);
}

bool unit_start_note_read(Unit *u, const BusUnit *read) {
        const char *state = read->active_state;
        /* Not by the time of its last change, which its states within a wait for a restart have
         * too. */
        const bool ended = u->place.known && is_failure(state) && !u->end_judged &&
                           read->begun_usec != u->begun_usec;
        /* systemd counts a restart when it begins: one whose end was seen is no news. */
        const bool again = u->place.known && read->n_restarts > u->n_restarts && !u->end_seen;
        const bool too_soon = is_young(u) && (ended || again), inside = began_inside(u);

        u->begun_usec = read->begun_usec;
        u->n_restarts = read->n_restarts;
        u->end_seen = is_end(state);
        u->end_judged = false;
        if (is_end(state))
                u->started_usec = 0;
        else if (u->started_usec == 0 || again)
                note_start(u, read->active_usec != 0 && strcmp(state, "active") == 0
                                      ? read->active_usec
                                      : clock_monotonic_usec());
        return too_soon && judge(u, inside);
}

void unit_start_forgive(Unit *u) {
        u->start_refused = NULL;
        u->start_failed_again = false;
}

void unit_start_revoke(Unit *u) {
        UndoRecord *record = undo_of_unit(u->units->undo, u->place.name);
        const JournalFields fields = { .message_id = JOURNAL_REVOKED,
                                       .instance = u->place.label,
                                       .reason = REASON_START_FAILED };

        u->start_failed_again = u->start_refused != NULL;
        u->start_refused = revoked;
        u->units->n_revoked++;
        u->state = "unprepared";
        u->reason = revoked;
        u->code = REASON_START_FAILED;
        journal_log(&u->units->host->journal, LOG_WARNING, &fields,
                    "%s failed or was started again within a minute of a prepared start: its "
                    "preparation is taken back, and it is "
                    "not prepared again until its unit or its policy changes; %s",
                    u->place.name, reason_to_remedy(REASON_START_FAILED));
        if (record)
                undo_release_begin(u->units->undo, record, "its prepared start failed");
        host_mark(u->units->host, HOST_MARK_PUBLISH);
}

const char *unit_start_refuses(const Unit *u, const CpuSet *cpus, const NodeSet *mems,
                               bool *ret_cpus) {
        *ret_cpus = false;
        return u->start_refused ? u->start_refused
                                : start_limits_refuse(&u->place.start, &u->units->host->topology,
                                                      cpus, mems, ret_cpus);
}
