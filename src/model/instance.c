/* The table of the fields of an instance, and the words of its states. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/model/instance.h"

bool facts_in_scope(const InstanceFacts *f) {
        const char *scope = f->n_members > 0 ? f->members[0].process.scope : NULL;

        for (size_t i = 1; scope && i < f->n_members; i++)
                if (!f->members[i].process.scope || strcmp(f->members[i].process.scope, scope) != 0)
                        return false;
        return scope;
}

bool facts_in_container(const InstanceFacts *f) {
        for (size_t i = 0; i < f->n_members; i++)
                if (f->members[i].process.foreign != FOREIGN_NONE)
                        return true;
        return false;
}

bool facts_own(const InstanceFacts *f, const Process *process) {
        for (size_t i = 0; process->scope && i < f->n_members; i++)
                if (f->members[i].process.scope &&
                    strcmp(f->members[i].process.scope, process->scope) == 0)
                        return true;
        if (unit_is_service(process->unit))
                return f->unit && strcmp(f->unit, process->unit) == 0;
        return facts_find(f, process->id.pid) >= 0;
}

ssize_t facts_find(const InstanceFacts *f, pid_t pid) {
        const size_t at = ARRAY_LOWER_BOUND(f->n_members, i, f->members[i].process.id.pid < pid);

        return at < f->n_members && f->members[at].process.id.pid == pid ? (ssize_t)at : -1;
}

int facts_choose_name(const InstanceFacts *f, NameTaken is_taken, void *userdata, char **ret) {
        const bool service = unit_is_service(f->unit);
        const char *base = service ? f->unit : basename(f->exe);
        const int pid = f->members[0].process.id.pid;
        const int number = f->n_ports > 0 ? f->ports[0] : pid;

        for (unsigned rank = 0; rank < INSTANCE_NAME_RANKS; rank++) {
                char *name;
                int r;

                if (service)
                        r = rank == 0   ? asprintf(&name, "%.*s",
                                                   (int)(strlen(base) - strlen(".service")), base)
                            : rank == 1 ? asprintf(&name, "%s", base)
                                        : asprintf(&name, "%s:%d", base, pid);
                else
                        r = rank == 0   ? asprintf(&name, "%s:%d", base, number)
                            : rank == 1 ? asprintf(&name, "%s:%d:%d", base, number, pid)
                                        : asprintf(&name, "%s:%d:%d:%" PRIu64, base, number, pid,
                                                   f->members[0].process.id.start_ticks);
                if (r < 0)
                        return -ENOMEM;
                if (!is_taken(name, userdata)) {
                        *ret = name;
                        return 0;
                }
                free(name);
        }
        return -EEXIST;
}

static const char *const instance_state_strings[N_INSTANCE_STATES] = {
        [INSTANCE_WAITING] = "waiting",     [INSTANCE_WATCHED] = "watched",
        [INSTANCE_RELEASED] = "released",   [INSTANCE_PLANNED] = "planned",
        [INSTANCE_BINDING] = "binding",     [INSTANCE_MOVING] = "moving",
        [INSTANCE_NARROWING] = "narrowing", [INSTANCE_SETTLING] = "settling",
        [INSTANCE_BOUND] = "bound",         [INSTANCE_WIDENED] = "widened",
        [INSTANCE_PARTLY] = "partly",       [INSTANCE_REFUSED] = "refused",
};
DEFINE_STRING_TABLE(instance_state_to_string, InstanceState, instance_state_strings)

bool instance_state_binds(InstanceState state) {
        return state != INSTANCE_WATCHED && state != INSTANCE_RELEASED && state != INSTANCE_REFUSED;
}

static const struct {
        const char *word, *sentence;
} limit_states[N_LIMIT_STATES] = {
        [LIMIT_NONE] = { "none", "" },
        [LIMIT_WAITING] = { "waiting", "not set yet: its place or its memory is not known" },
        [LIMIT_NO_UNIT] = { "no-unit", "not set: it has no service to itself, or is bound by "
                                       "affinity, so there is no unit whose limit could be set" },
        [LIMIT_SMALLER] = { "smaller", "not set: MemoryMax= of its unit is smaller, or was set by "
                                       "somebody else, and stays" },
        [LIMIT_HELD] = { "held", "not set: it holds nine tenths of the limit or more. It is set "
                                 "when it holds less, or between a stop of its unit and the next "
                                 "start (systemctl stop, then start; a restart leaves no time)" },
        [LIMIT_PLANNED] = { "planned", "would be set" },
        [LIMIT_PENDING] = { "pending", "being set" },
        [LIMIT_SET] = { "set", "in force since before its start" },
        [LIMIT_NEXT_START] = { "next-start", "in force; it takes effect for the sizes of the "
                                             "server at its next start" },
        [LIMIT_LIFTED] = { "lifted",
                           "lifted, because memory that cannot be reclaimed was about to reach it; "
                           "set again after a minute with room, or between a stop of its unit "
                           "and the next start" },
};

const char *limit_state_to_string(LimitState state) {
        return limit_states[state].word;
}

const char *limit_state_to_sentence(LimitState state) {
        return limit_states[state].sentence;
}

static const Field memory_rows[] = {
        FIELD_OF_KIND("node", FIELD_NODE_ID, InstanceMemory, node),
        FIELD("anon_bytes", InstanceMemory, anon_bytes),
        FIELD("file_bytes", InstanceMemory, file_bytes),
        FIELD("shmem_bytes", InstanceMemory, shmem_bytes),
};
static FIELD_TABLE(memory_fields, InstanceMemory, memory_rows);

#define PUT(key, member, ...) FIELD(key, InstanceInfo, member, __VA_ARGS__)
#define WHEN(member) FIELD_WHEN(InstanceInfo, member)
#define GAUGE(name, text) .metric = (name), .type = "gauge", .help = (text)
#define COUNTER(name, text) .metric = (name), .type = "counter", .help = (text)

/* In the order of status.json. */
/* clang-format off */
static const Field rows[] = {
        PUT("name", name, .flags = FIELD_REQUIRED),
        PUT("policy", policy, .flags = FIELD_REQUIRED),
        PUT("unit", unit),
        PUT("exe", exe, .flags = FIELD_REQUIRED),
        FIELD_OF_KIND("pid", FIELD_PID, InstanceInfo, pid, .flags = FIELD_REQUIRED),
        PUT("processes", n_processes),
        FIELD_OF_KIND("ports", FIELD_PORTS, InstanceInfo, ports, .n_offset = offsetof(InstanceInfo, n_ports)),
        PUT("data_dir", data_dir),
        PUT("storage", storage, WHEN(storage)),
        PUT("storage_nodes", storage_nodes, WHEN(storage)),
        PUT("backend", backend),
        PUT("bound_by", bound_by),
        PUT("bound_by_reason", bound_by_reason),
        FIELD_REASON("bound_by_reason_code", InstanceInfo, bound_by_code),
        PUT("start_cpus_by", start_cpus_by),
        PUT("start_memory_by", start_memory_by),
        FIELD_ENUM("state", InstanceInfo, state, instance_state_to_string, N_INSTANCE_STATES, .flags = FIELD_REQUIRED),
        PUT("reason", reason, .flags = FIELD_REQUIRED),
        FIELD_REASON("reason_code", InstanceInfo, reason_code),
        FIELD_OF_KIND("remedy", FIELD_REMEDY, InstanceInfo, reason_code, .n_offset = offsetof(InstanceInfo, unit)),
        PUT("nodes", nodes, .flags = FIELD_REQUIRED),
        PUT("cpus", cpus),
        FIELD_ENUM("memory_mode", InstanceInfo, memory, memory_mode_to_string, MEMORY_NONE + 1, .missing = MEMORY_NONE, .unknown = MEMORY_NONE),
        FIELD_ENUM("basis", InstanceInfo, basis, placement_basis_to_string, BASIS_CHOSEN + 1, .missing = BASIS_CHOSEN, .unknown = BASIS_CHOSEN),
        FIELD_ENUM("refusal", InstanceInfo, refusal, placement_refusal_to_id, N_REFUSALS, WHEN(refusal)),
        FIELD_OF_KIND("warnings", FIELD_WARNINGS, InstanceInfo, warnings),
        PUT(NULL, bind_wanted, GAUGE("tidbnumad_instance_bind_wanted", "Whether an instance is to be bound: 0 without a written policy or when released on request.")),
        PUT("cpu_bound", cpu_bound),
        PUT("memory_bound", memory_bound),
        PUT("threads", n_threads, GAUGE("tidbnumad_instance_threads", "Threads of an instance.")),
        PUT("threads_outside", n_threads_outside, GAUGE("tidbnumad_instance_threads_outside", "Threads of an instance whose CPUs are not exactly those of its place.")),
        FIELD_OF_KIND("memory_by_node", FIELD_LIST, InstanceInfo, memory_by_node, .flags = FIELD_ELSE_NULL, WHEN(memory_by_node),
                      .n_offset = offsetof(InstanceInfo, n_memory), .of = &memory_fields),
        PUT("memory_method", memory_method),
        PUT("remote_memory_ratio", remote_ratio,
            GAUGE("tidbnumad_instance_remote_memory_ratio", "Share of the anonymous memory of an instance that is outside its nodes.")),
        PUT("remote_memory_ratio_halfwidth", remote_ratio_halfwidth,
            GAUGE("tidbnumad_instance_remote_memory_ratio_halfwidth", "Half-width of the 95 % confidence interval of the remote memory ratio, 0 if that is exact.")),
        FIELD_OF_KIND("dram_accesses", FIELD_COUNTS, InstanceInfo, accesses, .to_string = locality_to_string, .n_words = N_LOCALITIES, WHEN(access_known)),
        PUT("remote_access_ratio", remote_access_ratio, WHEN(access_known),
            GAUGE("tidbnumad_instance_remote_access_ratio", "Share of the memory accesses of an instance that were remote, in the last sampling interval.")),
        PUT("access_coverage_ratio", access_coverage, WHEN(access_known),
            GAUGE("tidbnumad_instance_access_coverage_ratio", "Share of the thread time of an instance that was covered by counters, in the last sampling interval.")),
        PUT("bind_attempts", bind_attempts),
        PUT("bind_failures", bind_failures),
        PUT("migrated_bytes", migrated_bytes, COUNTER("tidbnumad_migrated_bytes_total", "Bytes moved to the nodes of an instance.")),
        PUT("pending_bytes", pending_bytes,
            GAUGE("tidbnumad_migration_pending_bytes", "Anonymous memory of an instance that has yet to be moved.")),
        PUT("migration_bytes_per_second", migration_bytes_per_sec,
            GAUGE("tidbnumad_migration_rate_bytes_per_second", "Present rate limit for moving memory of an instance; 0 if no move is in progress.")),
        PUT("migration_left_seconds", migration_left_seconds, .flags = FIELD_OR_ZERO,
            GAUGE("tidbnumad_migration_left_seconds", "Estimated time until the memory of an instance is moved; 0 if no move is in progress.")),
        PUT("failed_pages", failed_pages, COUNTER("tidbnumad_migration_failed_pages_total", "Pages of an instance that the kernel refused to move.")),
        PUT("memory_widened", memory_widened,
            GAUGE("tidbnumad_memory_widened", "Whether a strictly bound instance may use other nodes because its own are or were nearly full.")),
        PUT("memory_extra_nodes", memory_extra_nodes),
        PUT("memory_widenings", memory_widenings,
            COUNTER("tidbnumad_memory_widenings_total", "Times that a strictly bound instance got an additional memory node because its own were nearly full.")),
        PUT("memory_limit_bytes", memory_limit_bytes, WHEN(memory_limit_state)),
        FIELD_ENUM("memory_limit", InstanceInfo, memory_limit_state, limit_state_to_string, N_LIMIT_STATES, WHEN(memory_limit_state),
                   .missing = LIMIT_NONE, .unknown = LIMIT_NONE),
        PUT("bind_seconds", bind_seconds),
        PUT("bound_after_start", bound_after_start, WHEN(bound_after_start)),
        PUT("changed", changed, WHEN(changed)),
};
/* clang-format on */
FIELD_TABLE(instance_fields, InstanceInfo, rows);

const Field *instance_metric(size_t offset) {
        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                if (rows[i].metric && rows[i].offset == offset)
                        return &rows[i];
        return NULL;
}
