/* One known unit. Only idle units are written: binding handles a running one, and moves memory
 * before it narrows the nodes. */
#include <string.h>
#include <sys/stat.h>

#include "tidbnumad/daemon/placing/place.h"
#include "tidbnumad/daemon/undo/undoing.h"
#include "tidbnumad/daemon/units/units.h"
#include "tidbnumad/sys/bus-units.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/worker/worker.h"

/* A start script may wait for a disk before it executes the server. */
#define MISUSED_USEC (UINT64_C(60) * 1000 * 1000)

/* On cgroup v1 systemd has no CPUs and memory nodes of units, but it has memory limits. */
static bool sets_limits_alone(const Units *units) {
        const Host *h = units->host;

        if (backend_kind(&h->backend) != BACKEND_CGROUP1 || !backend_systemd_runs(&h->sysroot))
                return false;
        for (size_t i = 0; i < h->policies.n_policies; i++)
                if (h->policies.policies[i].memory_limit != MEMORY_LIMIT_NONE)
                        return true;
        return false;
}

bool units_enforce(const Units *units) {
        return host_enforces(units->host) && !units->host->args->once &&
               (backend_kind(&units->host->backend) == BACKEND_SYSTEMD || sets_limits_alone(units));
}

static UndoRecord *unit_record(const Unit *u) {
        return undo_of_unit(u->units->undo, u->place.name);
}

bool unit_is_prepared(const Unit *u) {
        const UndoRecord *record = u->place.known ? unit_record(u) : NULL;

        return record && undo_record_has_unit(record);
}

uint64_t unit_limit_of_ours(const Unit *u) {
        const IdView limit = ID_VIEW(&u->place.now[UNIT_LIMIT]);

        return id_view_next(limit, 0) >= 0 && undo_record_is_ours(unit_record(u), UNIT_LIMIT, limit)
                       ? unit_bytes(limit)
                       : 0;
}

static void unit_set_report(Unit *u, const char *state, const char *reason, Reason code) {
        u->state = state;
        u->reason = reason;
        u->code = code;
}

int unit_new(Units *units, const char *name, Unit **ret) {
        Unit *u = calloc(1, sizeof(*u));

        if (!u)
                return -ENOMEM;
        u->units = units;
        unit_set_report(u, "unprepared", "", REASON_NONE);
        u->place.name = strdup(name);
        u->place.label = strndup(name, strlen(name) - strlen(".service"));
        if (!u->place.name || !u->place.label || place_add_unit(units->placing, &u->place) < 0) {
                unit_free(u);
                return -ENOMEM;
        }
        *ret = u;
        return 0;
}

Unit *unit_free(Unit *unit) {
        if (!unit)
                return NULL;
        place_remove_unit(unit->units->placing, &unit->place);
        sd_bus_slot_unref(unit->call);
        sd_bus_slot_unref(unit->state_match);
        sd_bus_slot_unref(unit->job_match);
        free(unit->user);
        free(unit->place.name);
        free(unit->place.label);
        free(unit);
        return NULL;
}

/* What is ours after the write in flight. */
static UndoChange unit_change(const Unit *u) {
        UndoChange change = { .exclusive = true };

        for (size_t i = 0; i < N_UNIT_PROPERTIES; i++)
                if (u->sets[i])
                        change.properties[i] = ID_VIEW(&u->next[i]);
        return change;
}

static void unit_end_write(Unit *u, bool done) {
        const UndoChange change = unit_change(u);

        undo_after(u->units->undo, unit_record(u), &change, done);
}

int unit_watch(Unit *u) {
        u->call = sd_bus_slot_unref(u->call);
        unit_end_write(u, false);
        u->state_match = sd_bus_slot_unref(u->state_match);
        u->job_match = sd_bus_slot_unref(u->job_match);
        u->place.known = u->again = false;
        return bus_manager_watch_unit(&u->units->bus, u->place.name, &u->state_match,
                                      &u->job_match);
}

/* --- writing --- */

static bool is_wanted(const UnitDesired *w) {
        return !id_set_is_empty(&w->cpus) || w->limit_bytes > 0;
}

/* All values are as desired. */
static void unit_settle(Unit *u, const UnitDesired *w) {
        unit_set_report(u,
                        u->place.released ? "released"
                        : is_wanted(w)    ? "prepared"
                                          : "unprepared",
                        w->reason, w->code);
        u->failures = 0;
        host_queue(u->units->host, HOST_WORK_PUBLISH);
}

static void unit_not_prepared(Unit *u, Reason code, const Error *error) {
        if (u->failures++ == 0)
                journal_log(&u->units->host->journal, LOG_WARNING,
                            &(JournalFields){ .instance = u->place.label, .reason = code },
                            "%s is not prepared: %s; trying again at each scan", u->place.name,
                            error_sentence(error));
        unit_set_report(u, "failed", reason_to_sentence(code), code);
        u->place.known = false;
        host_queue(u->units->host, HOST_WORK_PUBLISH);
}

static void on_written(const Error *error, void *userdata) {
        Unit *u = userdata;
        _cleanup_text_ Text what = { 0 };
        bool cpus;
        UnitDesired w;

        u->call = sd_bus_slot_unref(u->call);
        unit_end_write(u, error->code >= 0);
        if (error->code < 0) {
                unit_not_prepared(u, reason_of_error(error->code), error);
                return;
        }
        /* First: the former values are no longer known as ours. */
        (void)memcpy(u->place.now, u->next, sizeof(u->next));
        w = unit_desired_make(u);
        cpus = !id_set_is_empty(&w.cpus);
        if (cpus)
                text_appendf(&what, "CPUs %s, memory nodes %s", id_set_list(&w.cpus),
                             id_set_is_empty(&w.mems) ? "as they are" : id_set_list(&w.mems));
        if (w.limit_bytes > 0)
                text_appendf(&what, "%smemory limit %.0f MiB", cpus ? ", " : "",
                             (double)w.limit_bytes / (1 << 20));
        if (is_wanted(&w) && what.error == 0)
                journal_log(&u->units->host->journal, LOG_INFO,
                            &(JournalFields){ .message_id = JOURNAL_PREPARED,
                                              .instance = u->place.label,
                                              .policy = w.policy->name },
                            "%s is prepared for its next start: %s%s%s", u->place.name, what.data,
                            *w.reason ? "; " : "", w.reason);
        unit_settle(u, &w);
        if (u->again)
                unit_reconcile(u);
}

static bool unit_is_being_released(const Unit *u) {
        const UndoRecord *record = unit_record(u);

        return record && record->releasing;
}

void unit_decide(Unit *u) {
        UnitDesired w = { .reason = u->reason };
        IdView wanted[N_UNIT_PROPERTIES] = { 0 }, values[N_UNIT_PROPERTIES] = { 0 };
        UndoRecord *record;
        UndoChange change;
        bool writes = false;
        int r;

        if (!u->place.known || u->call || u->units->gathering || !host_enforces(u->units->host) ||
            unit_is_being_released(u))
                return;
        if (!u->place.loaded) {
                unit_set_report(u, "missing", "", REASON_NONE);
                return;
        }
        if (!u->place.released)
                w = unit_desired_make(u);
        if (!u->idle)
                return; /* a running unit is not written */
        /* Nothing is desired any more, and values of tidbnumad are still set. */
        if (!is_wanted(&w) && unit_is_prepared(u)) {
                unit_set_report(u, "unprepared", w.reason, w.code);
                undo_release_begin(u->units->undo, unit_record(u),
                                   *w.reason  ? w.reason
                                   : w.policy ? "its policy prepares nothing for its start"
                                              : "no policy names it any more");
                return;
        }
        wanted[UNIT_CPUS] = ID_VIEW(&w.cpus);
        wanted[UNIT_MEMS] = ID_VIEW(&w.mems);
        if (w.limit_bytes > 0)
                wanted[UNIT_LIMIT] = UNIT_BYTES(&w.limit_bytes);
        record = unit_record(u);
        for (size_t i = 0; i < N_UNIT_PROPERTIES; i++) {
                const IdView now = ID_VIEW(&u->place.now[i]);

                u->sets[i] = id_view_next(wanted[i], 0) >= 0;
                id_view_convert(u->sets[i] ? wanted[i] : undo_record_own(record, i, now),
                                ID_TARGET(&u->next[i]));
                if (id_view_equal(now, ID_VIEW(&u->next[i])))
                        continue;
                values[i] = ID_VIEW(&u->next[i]);
                writes = true;
        }
        if (!writes) {
                unit_settle(u, &w);
                return;
        }
        change = unit_change(u);
        r = undo_note_idle(u->units->undo, u->place.name, u->place.label, u->place.now,
                           u->sets[UNIT_LIMIT], &record);
        if (r >= 0)
                r = undo_before(u->units->undo, record, &change);
        if (r < 0) {
                _cleanup_error_ Error error = { 0 };

                (void)error_prefix(&error, r, "the original values cannot be saved: ");
                unit_not_prepared(u, REASON_RECORD_UNWRITABLE, &error);
                return;
        }
        r = unit_set_properties(u->units->bus.bus, u->place.name, values, on_written, u, &u->call);
        if (r < 0) {
                unit_end_write(u, false);
                unit_not_prepared(u, reason_of_error(r), &(Error){ .code = r });
        }
}

void unit_scan(Unit *u) {
        UndoRecord *record = unit_record(u);

        if (u->place.released || u->active_since_usec == 0 || !unit_is_prepared(u) ||
            clock_monotonic_usec() < u->active_since_usec + MISUSED_USEC ||
            registry_has_unit(u->units->registry, u->place.name)) {
                unit_decide(u);
                return;
        }
        if (u->call)
                return; /* the next scan retries it */
        u->place.released = true;
        host_queue(u->units->host, HOST_WORK_PLAN);
        unit_set_report(u, "released", "no process in it matched its policy", REASON_NONE);
        journal_log(&u->units->host->journal, LOG_WARNING,
                    &(JournalFields){ .instance = u->place.label },
                    "%s was prepared, but for a minute no process in it has matched its policy; "
                    "its original CPUs and memory nodes are restored, until policies are loaded "
                    "again",
                    u->place.name);
        undo_release_begin(u->units->undo, record, u->reason);
}

/* --- reading --- */

static void unit_note_state(Unit *u, const char *active_state) {
        u->idle = strcmp(active_state, "inactive") == 0 || strcmp(active_state, "failed") == 0;
        if (strcmp(active_state, "active") != 0)
                u->active_since_usec = 0;
        else if (u->active_since_usec == 0)
                u->active_since_usec = clock_monotonic_usec();
        if (u->idle || u->place.released)
                return;
        if (strcmp(u->state, "failed") == 0) /* it is too late for what could not be set */
                unit_set_report(u, "running", "", REASON_NONE);
        u->state = "running"; /* its reason is why it was not prepared */
}

static void on_read(int error, const BusUnit *read, void *userdata) {
        Unit *u = userdata;
        const bool planned = u->place.known && u->place.loaded, uid_known = u->place.uid_known,
                   container = u->place.container;
        const uid_t uid = u->place.uid;
        Host *host = u->units->host;
        char *user;
        bool failed;

        u->call = sd_bus_slot_unref(u->call);
        if (error < 0) {
                unit_not_prepared(u, reason_of_error(error), &(Error){ .code = error });
                return;
        }
        failed = unit_start_note_read(u, read);
        /* An alias: the unit itself is known by its own name. */
        u->place.loaded =
                strcmp(read->load_state, "loaded") == 0 && strcmp(read->id, u->place.name) == 0;
        unit_note_state(u, read->active_state);
        /* A user's name is resolved only when it changes, because this may query a directory
         * service. */
        if (read->dynamic_user && read->user[0] == '\0') {
                u->place.uid_known = false; /* the workers are started later */
        } else if (!u->user || !u->place.uid_known || strcmp(u->user, read->user) != 0) {
                u->place.uid = 0;
                u->place.uid_known = read->user[0] == '\0' ||
                                     worker_look_up_user(host->workers, &host->sysroot, read->user,
                                                         &u->place.uid) == 0;
                user = strdup(read->user);
                if (user) { /* else the user is read once more */
                        free(u->user);
                        u->user = user;
                }
        }
        for (size_t i = 0; i < N_UNIT_PROPERTIES; i++)
                id_view_convert(unit_property_of(read, i), ID_TARGET(&u->place.now[i]));
        unit_start_note(u, read);
        if (failed)
                unit_start_revoke(u);
        u->place.container = read->container;
        u->place.known = true;
        if (planned != u->place.loaded || uid_known != u->place.uid_known || uid != u->place.uid ||
            container != u->place.container)
                host_queue(host, HOST_WORK_PLAN);
        if (u->again)
                unit_reconcile(u);
        else
                unit_decide(u);
}

void unit_reconcile(Unit *u) {
        int r;

        u->again = u->call != NULL;
        if (u->again)
                return;
        r = bus_manager_read_unit(u->units->bus.bus, u->place.name, on_read, u, &u->call);
        if (r < 0)
                unit_not_prepared(u, reason_of_error(r), &(Error){ .code = r });
}

void unit_set_state(Unit *u, const char *active_state) {
        const bool failed = unit_start_note_state(u, active_state);

        unit_note_state(u, active_state);
        if (failed)
                unit_start_revoke(u);
        /* A unit that fails or is started again at once may be active whenever it is looked at. */
        if (u->idle || unit_start_is_watched(u))
                unit_reconcile(u);
}

void unit_note_release(Unit *u) {
        const bool was_releasing = u->releasing;

        u->releasing = unit_is_being_released(u);
        if (was_releasing && !u->releasing)
                unit_reconcile(u);
}

/* Without free memory the nodes are not set: the kernel would kill a process on a full node while
 * others are empty. */
static bool unit_has_room(const Unit *u, const Placement *p) {
        const Units *units = u->units;
        _cleanup_free_ NodeRoom *rooms = NULL;
        size_t n_rooms;
        NodeSet mems;
        bool narrow;

        id_set_convert(&u->place.now[UNIT_MEMS], &mems);
        narrow = id_set_equal(&mems, &p->nodes) &&
                 undo_record_is_ours(unit_record(u), UNIT_MEMS, ID_VIEW(&mems));
        return room_on(units->placing, &p->nodes, NULL, &rooms, &n_rooms) == 0 &&
               fit_check(rooms, n_rooms,
                         known_unit_room_bytes(&units->host->topology, &p->nodes, narrow));
}

static const char huge_unknown[] =
        "other nodes have reserved huge pages, and whether it maps some is not known before it has "
        "run: only its CPUs until then";
static const char huge_short[] =
        "its nodes have fewer free huge pages than it had reserved when it last ran, so its start "
        "would fail there: only its CPUs";

/* Inside nodes with too few of them a start that reserves huge pages fails (ENOMEM). NULL: it does
 * not. */
static const char *unit_lacks_huge_pages(const Unit *u, const Placement *p, Reason *ret_code) {
        const Topology *topology = &u->units->host->topology;
        _cleanup_huge_pools_ HugePools pools = { 0 };
        HugeNeed need = u->place.facts.huge;

        *ret_code = REASON_NONE;
        if (huge_room_read(u->units->placing, &pools) < 0)
                return huge_unknown;
        if (!u->place.facts.huge_known)
                return huge_pools_have_elsewhere(&pools, topology, &p->nodes) ? huge_unknown : NULL;
        huge_room_add_others(u->units->placing, NULL, &p->nodes, &need);
        if (!huge_pools_lack(&pools, topology, &need, &p->nodes, NULL))
                return NULL;
        *ret_code = REASON_HUGE_POOL;
        return huge_short;
}

/* What others have set. */
static IdView unit_own(const Unit *u, UnitProperty property) {
        return undo_record_own(unit_record(u), property, ID_VIEW(&u->place.now[property]));
}

UnitDesired unit_desired_make(const Unit *u) {
        Units *units = u->units;
        UnitDesired w = { 0 };
        const char *why;
        bool cpus_alone;
        CpuSet cpus;
        Placement p;

        if (requests_release(&units->host->requests, u->place.label, u->place.name)) {
                w.reason = "its release was requested";
                return w;
        }
        w.policy = known_unit_policy(&units->host->policies, u->place.name, u->place.uid_known,
                                     u->place.uid, u->place.container, &w.reason);
        if (!w.policy)
                return w;
        if (w.policy->backend == POLICY_BACKEND_AFFINITY || u->shared) {
                w.reason = u->shared ? "unrelated processes shared it when it last ran: its "
                                       "instance is bound by affinity when it runs"
                                     : "its policy sets `backend: affinity`: it is bound when it "
                                       "runs";
                return w;
        }
        if (!u->place.planned.known || u->place.planned.again)
                place_refresh(units->placing);
        if (!u->place.planned.known) {
                w.reason = "its policy places it near its data directory, which is known after it "
                           "has run once";
                return w;
        }
        p = u->place.planned.placement;
        w.reason = p.reason;
        if (id_set_is_empty(&p.nodes))
                return w;
        /* Within whatever CPUs it starts: it needs none of them for this. A smaller limit of its
         * own stays, and what is prepared is not the reason why it failed. */
        if (!u->start_refused && unit_bytes(unit_own(u, UNIT_LIMIT)) > u->place.planned.limit_bytes)
                w.limit_bytes = u->place.planned.limit_bytes;
        if (sets_limits_alone(units))
                return w;
        /* systemd writes a request into the drop-in 50-AllowedCPUs.conf and merges the sets of all
         * files of a unit. When it loads the unit again, as it does for a unit without references,
         * a later file such as the override.conf of `systemctl edit` adds its own values. */
        if (id_view_next(unit_own(u, UNIT_CPUS), 0) >= 0 ||
            id_view_next(unit_own(u, UNIT_MEMS), 0) >= 0) {
                w.reason = "it sets AllowedCPUs= or AllowedMemoryNodes= itself: it is bound within "
                           "these when it runs";
                return w;
        }
        w.cpus = p.cpus;
        if (p.memory == MEMORY_BIND)
                w.reason = unit_lacks_huge_pages(u, &p, &w.code);
        if (p.memory == MEMORY_BIND && !w.reason) {
                w.reason = p.reason;
                if (unit_has_room(u, &p)) {
                        w.mems = topology_memory_nodes(&units->host->topology);
                        id_set_intersect(&w.mems, &p.nodes);
                } else {
                        w.reason = "its nodes have too little room for a strict binding before it "
                                   "starts: only its CPUs, until it runs and its memory is seen to "
                                   "fit";
                }
        }
        /* Inside other CPUs or nodes than its start asks for, numactl, CPUAffinity= and the like
         * fail, and the service with them. */
        id_set_convert(&w.cpus, &cpus);
        why = unit_start_refuses(u, &cpus, &w.mems, &cpus_alone);
        if (!why)
                return w;
        w.reason = why;
        w.code = u->start_refused ? REASON_START_FAILED : REASON_START_LIMITS;
        w.mems = (NodeSet){ 0 };
        if (!cpus_alone)
                w.cpus = (CpuSet){ 0 };
        return w;
}

/* Files that a command line may name, of which few are scripts. */
enum { FILES_MAX = 8 };

/* A start that ends sooner is taken for one that its preparation prevents. */
#define UNIT_START_USEC (UINT64_C(60) * 1000 * 1000)

#define WORD_ENDS " \t\n;'\""

static const char revoked[] = "it failed or was started again within a minute of a prepared start, "
                              "so its preparation was "
                              "taken back until its unit or its policy changes";

/* --- what it asks for --- */

static void hash_text(uint64_t *hash, const char *text) {
        *hash = hash_bytes(*hash, text, strlen(text) + 1);
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

void unit_start_note(Unit *u, const BusUnit *read) {
        Host *host = u->units->host;
        StartLimits limits = { 0 };
        uint64_t hash = HASH_BEGIN;
        char *files[FILES_MAX]; /* that were asked for; owned */
        size_t n_files = 0;
        bool unread = false, late = false; /* late: an answer is not there yet */
        const bool was_unread = u->start_unread;

        start_limits_add_affinity(&limits, &read->affinity);
        start_limits_add_numa(&limits, &host->topology, read->numa_policy, &read->numa_mask,
                              read->affinity_from_numa);
        start_limits_add_command(&limits, read->exec, read->n_exec);
        for (size_t i = 0; i < read->n_exec; i++) {
                _cleanup_free_ char *copy = strdup(read->exec[i]);
                char *rest = NULL;

                hash_text(&hash, read->exec[i]);
                /* `/bin/bash -c '/data/tidb-4000/scripts/run_tidb.sh'`: a path may be a word, or in
                 * one. */
                for (char *path = copy ? strtok_r(copy, WORD_ENDS, &rest) : NULL; path;
                     path = strtok_r(NULL, WORD_ENDS, &rest)) {
                        _cleanup_free_ char *text = NULL;
                        int r = n_files < FILES_MAX ? -ENOMEM : -E2BIG;
                        char *file;

                        if (path[0] != '/')
                                continue;
                        file = n_files < FILES_MAX ? strdup(path) : NULL;
                        if (file) {
                                files[n_files++] = file;
                                r = worker_read_script(host->workers, &host->sysroot, path, false,
                                                       &text);
                        }
                        if (r >= 0) {
                                hash_text(&hash, text);
                                start_limits_add_script(&limits, text);
                        } else if (r != -ENOEXEC && r != -ENOENT && r != -ENOTDIR && r != -EINVAL) {
                                start_limits_add_unreadable(&limits);
                                unread |= r != -E2BIG;
                                late |= r == -ETIME;
                        }
                }
        }
        hash_file(&hash, read->fragment);
        /* Those of `systemctl set-property`, and ours, are not about its start. */
        for (size_t i = 0; i < read->n_drop_ins; i++)
                if (!strstr(read->drop_ins[i], "/system.control/"))
                        hash_file(&hash, read->drop_ins[i]);
        /* While one of several answers is late the others are kept, or all of them would never be
         * there at once. */
        for (size_t i = 0; i < n_files; i++) {
                if (!late)
                        worker_forget_script(host->workers, &host->sysroot, files[i]);
                free(files[i]);
        }
        u->start_unread = unread;
        if (unread && u->start_hash != 0)
                return; /* what was read before still holds, as far as is known */
        if (!late && hash != u->start_hash)
                unit_start_forgive(u);
        if (!late)
                u->start_hash = hash;
        if (!start_limits_equal(&limits, &u->place.start)) {
                host_queue(host, HOST_WORK_PLAN);
                /* Meanwhile it was bound as if its script asked for anything. */
                REGISTRY_FOREACH(i, u->units->registry)
                if (was_unread && text_equal(i->unit, u->place.name))
                        instance_queue(i, WORK_ADMIN);
        }
        u->place.start = limits;
}

/* --- how it went --- */

static bool state_is_failure(const char *state) {
        return strcmp(state, "failed") == 0 || strcmp(state, "auto-restart") == 0;
}

static bool state_is_end(const char *state) {
        return state_is_failure(state) || strcmp(state, "inactive") == 0;
}

/* A start that nobody saw has just gone by. */
static bool start_is_young(const Unit *u) {
        return u->started_usec == 0 || clock_monotonic_usec() < u->started_usec + UNIT_START_USEC;
}

bool unit_start_is_watched(const Unit *u) {
        return unit_is_prepared(u) && start_is_young(u);
}

static void start_note(Unit *u, uint64_t usec) {
        u->started_usec = usec;
        u->start_inside = unit_is_prepared(u);
}

static bool start_began_inside(const Unit *u) {
        return u->started_usec == 0 ? unit_is_prepared(u) : u->start_inside;
}

/* It failed soon after its start. True: perhaps because of values of ours. */
static bool start_judge(Unit *u, bool inside) {
        if (!inside)
                unit_start_forgive(u);
        return inside;
}

bool unit_start_note_state(Unit *u, const char *active_state) {
        const bool seen = u->started_usec != 0, young = u->place.known && start_is_young(u),
                   inside = start_began_inside(u);

        if (!state_is_end(active_state)) {
                if (!seen)
                        start_note(u, clock_monotonic_usec());
                return false;
        }
        u->started_usec = 0;
        u->end_seen = true;
        if (!seen)
                return false; /* or a signal of another property: the read tells */
        u->end_judged = true;
        return state_is_failure(active_state) && young && start_judge(u, inside);
}

bool unit_start_note_read(Unit *u, const BusUnit *read) {
        const char *state = read->active_state;
        /* Not by the time of its last change, which its states within a wait for a restart have
         * too. */
        const bool ended = u->place.known && state_is_failure(state) && !u->end_judged &&
                           read->begun_usec != u->begun_usec;
        /* systemd counts a restart when it begins: one whose end was seen is no news. */
        const bool again = u->place.known && read->n_restarts > u->n_restarts && !u->end_seen;
        const bool too_soon = start_is_young(u) && (ended || again), inside = start_began_inside(u);

        u->begun_usec = read->begun_usec;
        u->n_restarts = read->n_restarts;
        u->end_seen = state_is_end(state);
        u->end_judged = false;
        if (state_is_end(state))
                u->started_usec = 0;
        else if (u->started_usec == 0 || again)
                start_note(u, read->active_usec != 0 && strcmp(state, "active") == 0
                                      ? read->active_usec
                                      : clock_monotonic_usec());
        return too_soon && start_judge(u, inside);
}

void unit_start_forgive(Unit *u) {
        u->start_refused = NULL;
        u->start_failed_again = false;
}

void unit_start_revoke(Unit *u) {
        UndoRecord *record = unit_record(u);
        const JournalFields fields = { .message_id = JOURNAL_REVOKED,
                                       .instance = u->place.label,
                                       .reason = REASON_START_FAILED };
        _cleanup_text_ Text remedy = { 0 };

        reason_append_remedy(&remedy, REASON_START_FAILED, u->place.name);
        u->start_failed_again = u->start_refused != NULL;
        u->start_refused = revoked;
        u->units->n_revoked++;
        unit_set_report(u, "unprepared", revoked, REASON_START_FAILED);
        journal_log(&u->units->host->journal, LOG_WARNING, &fields,
                    "%s failed or was started again within a minute of a prepared start: its "
                    "preparation is taken back, and it is "
                    "not prepared again until its unit or its policy changes; %s",
                    u->place.name, text_string(&remedy));
        if (record)
                undo_release_begin(u->units->undo, record, "its prepared start failed");
        host_queue(u->units->host, HOST_WORK_PUBLISH);
}

const char *unit_start_refuses(const Unit *u, const CpuSet *cpus, const NodeSet *mems,
                               bool *ret_cpus) {
        *ret_cpus = false;
        return u->start_refused ? u->start_refused
                                : start_limits_refuse(&u->place.start, &u->units->host->topology,
                                                      cpus, mems, ret_cpus);
}
