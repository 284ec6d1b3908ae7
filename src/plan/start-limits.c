/* What the start of a unit itself asks for, and to what a running instance is restricted by
 * something else than the daemon. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/id-set.h"
#include "tidbnumad/plan/start-limits.h"

/* Policies of set_mempolicy(2) with a mask; the others take the whole of what is allowed. */
enum { POLICY_PREFERRED = 1, POLICY_BIND = 2, POLICY_INTERLEAVE = 3, POLICY_PREFERRED_MANY = 5 };

/* Words of one command that are read. */
enum { WORDS_MAX = 64 };

#define SOURCE(name, word)                                                                         \
        {                                                                                          \
                name,                                                                              \
                        word " asks for other CPUs or nodes than those of its place: prepared, "   \
                             "it could not start",                                                 \
                        word " asks for more memory nodes than those of its place: only its CPUs " \
                             "are prepared, until it runs",                                        \
                        word " is not understood: prepared, it might not start"                    \
        }

static const struct {
        const char *name, *other_cpus, *other_mems, *unknown;
} sources[N_START_SOURCES] = {
        [START_NOTHING] = { "", "", "", "" },
        [START_AFFINITY] = SOURCE("CPUAffinity=", "CPUAffinity= of its unit"),
        [START_NUMA] = SOURCE("NUMAPolicy=", "NUMAPolicy= or NUMAMask= of its unit"),
        [START_NUMACTL] = SOURCE("numactl", "numactl in its start"),
        [START_TASKSET] = SOURCE("taskset", "taskset in its start"),
        [START_SCRIPT] = { "script", "", "",
                           "its start script cannot be read: prepared, it might not start" },
};

const char *start_source_to_string(StartSource source) {
        return sources[source].name;
}

StartSource start_source_from_string(const char *name) {
        for (StartSource source = 0; name && source < N_START_SOURCES; source++)
                if (strcmp(name, sources[source].name) == 0)
                        return source;
        return START_NOTHING;
}

static void start_limits_note(StartLimits *limits, StartSource source) {
        if (!limits->unknown)
                limits->source = source;
}

static void start_limits_add_unknown(StartLimits *limits, StartSource source) {
        start_limits_note(limits, source);
        limits->unknown = true;
}

void start_limits_add_unreadable(StartLimits *limits) {
        start_limits_add_unknown(limits, START_SCRIPT);
}

static void start_limits_add_any_cpus(StartLimits *limits, const CpuSet *cpus) {
        if (limits->any_cpus_set)
                id_set_intersect(&limits->any_cpus, cpus);
        else
                limits->any_cpus = *cpus;
        limits->any_cpus_set = true;
}

static void start_limits_note_cpus(StartLimits *limits, StartSource source) {
        limits->cpu_source = source;
        start_limits_note(limits, source);
}

static void start_limits_note_memory(StartLimits *limits, StartSource source) {
        limits->memory_source = source;
        start_limits_note(limits, source);
}

void start_limits_add_affinity(StartLimits *limits, const CpuSet *cpus) {
        if (id_set_is_empty(cpus))
                return;
        start_limits_add_any_cpus(limits, cpus);
        start_limits_note_cpus(limits, START_AFFINITY);
}

void start_limits_add_numa(StartLimits *limits, const Topology *topology, int policy,
                           const NodeSet *mask, bool affinity_too) {
        const bool masked = policy == POLICY_PREFERRED || policy == POLICY_BIND ||
                            policy == POLICY_INTERLEAVE || policy == POLICY_PREFERRED_MANY;

        if (id_set_is_empty(mask))
                return;
        if (affinity_too) {
                const CpuSet cpus = topology_cpus_of(topology, mask);

                start_limits_add_any_cpus(limits, &cpus);
                start_limits_note_cpus(limits, START_NUMA);
        }
        if (!masked)
                return;
        limits->any_nodes = *mask;
        limits->any_nodes_set = true;
        start_limits_note_memory(limits, START_NUMA);
}

/* --- commands --- */

typedef enum ArgKind { ARG_NONE, ARG_NODES, ARG_CPU_NODES, ARG_CPUS, ARG_OTHER } ArgKind;

typedef struct Option {
        const char *name;
        char letter;
        ArgKind arg;
} Option;

/* numactl(8) 2.0.12 to 2.0.18. Its `--cpubind` is the old name of `--cpunodebind`. */
static const Option numactl_options[] = {
        { "interleave", 'i', ARG_NODES },
        { "weighted-interleave", 'w', ARG_NODES },
        { "membind", 'm', ARG_NODES },
        { "preferred", 'p', ARG_NODES },
        { "preferred-many", 'P', ARG_NODES },
        { "cpunodebind", 'N', ARG_CPU_NODES },
        { "cpubind", 'c', ARG_CPU_NODES },
        { "physcpubind", 'C', ARG_CPUS },
        { "localalloc", 'l', ARG_NONE },
        { "all", 'a', ARG_NONE },
        { "balancing", 'b', ARG_NONE },
        { "strict", 't', ARG_NONE },
        { "touch", 'T', ARG_NONE },
        { "huge", 'u', ARG_NONE },
        { "dump", 'd', ARG_NONE },
        { "dump-nodes", 'D', ARG_NONE },
        { "shmid", 'I', ARG_OTHER },
        { "shm", 'S', ARG_OTHER },
        { "file", 'f', ARG_OTHER },
        { "offset", 'o', ARG_OTHER },
        { "length", 'l', ARG_OTHER },
        { "shmmode", 'M', ARG_OTHER },
};

static const Option taskset_options[] = {
        { "all-tasks", 'a', ARG_NONE },
        { "cpu-list", 'c', ARG_NONE },
        { "pid", 'p', ARG_NONE },
};

static const Option *option_find(const Option *options, size_t n, const char *word,
                                 const char **ret_value) {
        const char *equal = strchr(word, '=');
        const size_t length = equal ? (size_t)(equal - word) : strlen(word);

        *ret_value = NULL;
        for (size_t i = 0; i < n; i++) {
                const Option *o = &options[i];

                if (word[1] == '-') {
                        /* getopt_long(3) takes a beginning that is clear; two letters are asked for
                         * here. */
                        if (length < 4 || length - 2 > strlen(o->name) ||
                            strncmp(word + 2, o->name, length - 2) != 0)
                                continue;
                        *ret_value = equal ? equal + 1 : NULL;
                        return o;
                }
                if (word[1] == o->letter) {
                        if (o->arg != ARG_NONE && word[2])
                                *ret_value = word + 2 + (word[2] == '=');
                        return o;
                }
        }
        return NULL;
}

static void numactl_add_unknown(StartLimits *asked) {
        start_limits_note_cpus(asked, START_NUMACTL);
        start_limits_note_memory(asked, START_NUMACTL);
        start_limits_add_unknown(asked, START_NUMACTL);
}

static void limits_add_numactl(StartLimits *limits, const char *const *words, size_t n) {
        bool all = false; /* any node that the host has may be named then */
        StartLimits asked = { 0 };

        if (n > 0 && words[0][0] == '$') /* `numactl $OPTIONS program` */
                numactl_add_unknown(&asked);
        for (size_t i = 0;
             i < n && words[i][0] == '-' && words[i][1] && strcmp(words[i], "--") != 0; i++) {
                const char *value;
                const Option *o =
                        option_find(numactl_options, ELEMENTSOF(numactl_options), words[i], &value);
                NodeSet nodes;
                CpuSet cpus;

                if (!o) {
                        /* --hardware and --show start nothing. */
                        if (strncmp(words[i], "--h", 3) == 0 || strncmp(words[i], "--s", 3) == 0 ||
                            strcmp(words[i], "-H") == 0 || strcmp(words[i], "-s") == 0)
                                return;
                        start_limits_add_unknown(limits, START_NUMACTL);
                        return;
                }
                all |= o->letter == 'a';
                if (o->arg == ARG_NONE)
                        continue;
                if (!value)
                        value = ++i < n ? words[i] : "";
                /* All that is allowed restricts nothing. */
                if (o->arg == ARG_OTHER || strcmp(value, "all") == 0)
                        continue;
                if (o->arg == ARG_CPUS && id_target_parse_list(value, ID_TARGET(&cpus)) >= 0 &&
                    !id_set_is_empty(&cpus)) {
                        id_set_union(&asked.all_cpus, &cpus);
                        start_limits_note_cpus(&asked, START_NUMACTL);
                } else if (o->arg != ARG_CPUS &&
                           id_target_parse_list(value, ID_TARGET(&nodes)) >= 0 &&
                           !id_set_is_empty(&nodes)) {
                        id_set_union(&asked.all_nodes, &nodes);
                        if (o->arg == ARG_CPU_NODES) {
                                id_set_union(&asked.cpu_nodes, &nodes);
                                start_limits_note_cpus(&asked, START_NUMACTL);
                        } else {
                                start_limits_note_memory(&asked, START_NUMACTL);
                        }
                } else { /* "+0", "!0", "netdev:eth0", variables */
                        numactl_add_unknown(&asked);
                }
        }
        if (all && !asked.unknown) {
                /* It then checks less, and the kernel still wants something in common. */
                asked.any_cpus_set = !id_set_is_empty(&asked.all_cpus);
                asked.any_cpus = asked.all_cpus;
                asked.all_cpus = (CpuSet){ 0 };
        }
        if (asked.source == START_NOTHING)
                return;
        id_set_union(&limits->all_cpus, &asked.all_cpus);
        id_set_union(&limits->all_nodes, &asked.all_nodes);
        id_set_union(&limits->cpu_nodes, &asked.cpu_nodes);
        if (asked.any_cpus_set)
                start_limits_add_any_cpus(limits, &asked.any_cpus);
        if (asked.cpu_source != START_NOTHING)
                limits->cpu_source = START_NUMACTL;
        if (asked.memory_source != START_NOTHING)
                limits->memory_source = START_NUMACTL;
        if (asked.unknown)
                start_limits_add_unknown(limits, START_NUMACTL);
        else
                start_limits_note(limits, START_NUMACTL);
}

static void taskset_add_unknown(StartLimits *limits) {
        start_limits_note_cpus(limits, START_TASKSET);
        start_limits_add_unknown(limits, START_TASKSET);
}

/* `assigned`: the command follows elsewhere. */
static void limits_add_taskset(StartLimits *limits, const char *const *words, size_t n,
                               bool assigned) {
        bool list = false;
        CpuSet cpus;
        size_t i = 0;
        int r;

        for (; i < n && words[i][0] == '-' && words[i][1]; i++) {
                const char *value;

                /* Letters may stand together: "-ac". */
                list |= words[i][1] == '-' ? strncmp(words[i], "--c", 3) == 0
                                           : strchr(words[i], 'c') != NULL;
                if (!option_find(taskset_options, ELEMENTSOF(taskset_options), words[i], &value) ||
                    (words[i][1] == '-' ? strncmp(words[i], "--p", 3) == 0
                                        : strchr(words[i], 'p') != NULL))
                        return; /* of a process that runs: not this start's own */
        }
        if (i + !assigned >= n)
                return; /* without a command it starts nothing */
        r = list ? id_target_parse_list(words[i], ID_TARGET(&cpus))
                 : id_target_parse_mask(words[i] + (strncmp(words[i], "0x", 2) == 0 ? 2 : 0),
                                        ID_TARGET(&cpus));
        if (r < 0 || id_set_is_empty(&cpus)) {
                taskset_add_unknown(limits);
                return;
        }
        start_limits_add_any_cpus(limits, &cpus);
        start_limits_note_cpus(limits, START_TASKSET);
}

static bool is_program(const char *word, const char *name) {
        return strcmp(basename(word), name) == 0;
}

/* The value in `NAME=VALUE`; NULL: the word is something else. */
static const char *assigned_value(const char *word) {
        const char *end = word;

        while (isalnum((unsigned char)*end) || *end == '_')
                end++;
        return end > word && *end == '=' ? end + 1 : NULL;
}

static void limits_add_script(StartLimits *limits, const char *text, bool assigned);

static void limits_add_words(StartLimits *limits, const char *const *words, size_t n,
                             bool assigned) {
        for (size_t i = 0; i < n; i++) {
                const char *value = assigned_value(words[i]);

                /* For `$NUMACTL --membind=1 program`: with which options is not known. */
                if (value && is_program(value, "numactl"))
                        numactl_add_unknown(limits);
                else if (value && is_program(value, "taskset"))
                        taskset_add_unknown(limits);
                else if (is_program(words[i], "numactl"))
                        limits_add_numactl(limits, words + i + 1, n - i - 1);
                else if (is_program(words[i], "taskset"))
                        limits_add_taskset(limits, words + i + 1, n - i - 1, assigned);
                else if (strchr(words[i], ' ')) /* `bash -c '…'`, NUMA='numactl …' */
                        limits_add_script(limits, value ? value : words[i], value);
        }
}

void start_limits_add_command(StartLimits *limits, const char *const *words, size_t n) {
        limits_add_words(limits, words, n, false);
}

/* --- scripts --- */

/* The next command of a script: its words, without quotes, in `buffer`. A backslash joins lines, a
 * comment ends one. Not a shell: what a variable holds is not known, and so not understood. */
static const char *next_command(const char *at, char *buffer, const char **words, size_t *ret_n) {
        size_t n = 0;
        char quote = '\0';
        bool in_word = false;

        for (; *at; at++) {
                if (quote) {
                        if (*at == quote)
                                quote = '\0';
                        else
                                *buffer++ = *at;
                        continue;
                }
                if (at[0] == '\\' && at[1] == '\n') {
                        at++;
                        if (in_word)
                                *buffer++ = '\0';
                        in_word = false;
                        continue;
                }
                if (*at == '#' && !in_word) {
                        at += strcspn(at, "\n");
                        break;
                }
                if (strchr("\n;|&(){}", *at))
                        break;
                if (isspace((unsigned char)*at)) {
                        if (in_word)
                                *buffer++ = '\0';
                        in_word = false;
                        continue;
                }
                if (!in_word && n < WORDS_MAX)
                        words[n++] = buffer;
                in_word = true;
                if (*at == '"' || *at == '\'')
                        quote = *at;
                else if (at[0] == '\\' && at[1])
                        *buffer++ = *++at;
                else
                        *buffer++ = *at;
        }
        *buffer = '\0';
        *ret_n = n;
        return *at ? at + 1 : at;
}

static void limits_add_script(StartLimits *limits, const char *text, bool assigned) {
        _cleanup_free_ char *buffer = NULL;
        const char *words[WORDS_MAX];
        size_t n;

        if (!strstr(text, "numactl") && !strstr(text, "taskset"))
                return;
        buffer = malloc(strlen(text) + 1);
        if (!buffer) {
                start_limits_add_unreadable(limits);
                return;
        }
        while (*text) {
                text = next_command(text, buffer, words, &n);
                limits_add_words(limits, words, n, assigned);
        }
}

void start_limits_add_script(StartLimits *limits, const char *text) {
        limits_add_script(limits, text, false);
}

/* --- questions --- */

CpuSet start_limits_cpus(const StartLimits *limits, const Topology *topology) {
        CpuSet cpus = { 0 };

        if (limits->unknown)
                return cpus;
        cpus = topology_cpus_of(topology, id_set_is_empty(&limits->cpu_nodes) ? &limits->all_nodes
                                                                              : &limits->cpu_nodes);
        if (!id_set_is_empty(&limits->all_cpus))
                cpus = limits->all_cpus;
        if (limits->any_cpus_set && id_set_is_empty(&cpus))
                cpus = limits->any_cpus;
        if (limits->any_nodes_set && id_set_is_empty(&cpus))
                cpus = topology_cpus_of(topology, &limits->any_nodes);
        return cpus;
}

bool start_limits_allow(const StartLimits *limits, const Topology *topology, const CpuSet *cpus,
                        const NodeSet *mems) {
        if (limits->source == START_NOTHING)
                return true;
        if (limits->unknown)
                return id_set_is_empty(cpus) && id_set_is_empty(mems);
        if (!id_set_is_empty(mems) &&
            (!id_set_is_subset(&limits->all_nodes, mems) ||
             (limits->any_nodes_set && !id_set_intersects(&limits->any_nodes, mems))))
                return false;
        if (id_set_is_empty(cpus))
                return true;
        if (!id_set_is_subset(&limits->all_cpus, cpus) ||
            (limits->any_cpus_set && !id_set_intersects(&limits->any_cpus, cpus)))
                return false;
        for (size_t i = 0; i < topology->n_nodes; i++)
                if (id_set_has(&limits->cpu_nodes, topology->nodes[i].id) &&
                    !id_set_intersects(&topology->nodes[i].cpus, cpus))
                        return false;
        return true;
}

const char *start_limits_refuse(const StartLimits *limits, const Topology *topology,
                                const CpuSet *cpus, const NodeSet *mems, bool *ret_cpus) {
        static const NodeSet as_they_are = { 0 };
        const NodeSet nodes = topology_nodes_of(topology, cpus);
        const bool conflict = start_limits_conflict(limits, &nodes);

        *ret_cpus = !conflict && start_limits_allow(limits, topology, cpus, &as_they_are);
        if (!conflict && start_limits_allow(limits, topology, cpus, mems))
                return NULL;
        return limits->unknown ? sources[limits->source].unknown
               : *ret_cpus     ? sources[limits->source].other_mems
                               : sources[limits->source].other_cpus;
}

StartSource start_limits_leave_out(const StartLimits *limits, const Topology *topology,
                                   const CpuSet *cpus) {
        CpuSet left = *cpus;

        if (limits->unknown)
                return limits->cpu_source;
        if (limits->any_cpus_set)
                id_set_intersect(&left, &limits->any_cpus);
        id_set_limit(&left, &limits->all_cpus);
        if (!id_set_is_empty(&limits->cpu_nodes)) {
                const CpuSet of = topology_cpus_of(topology, &limits->cpu_nodes);

                id_set_intersect(&left, &of);
        }
        return id_set_equal(&left, cpus) ? START_NOTHING : limits->cpu_source;
}

bool start_limits_conflict(const StartLimits *limits, const NodeSet *nodes) {
        NodeSet asked = limits->all_nodes;

        if (limits->any_nodes_set)
                id_set_union(&asked, &limits->any_nodes);
        return !id_set_is_empty(&asked) && !id_set_intersects(&asked, nodes);
}

bool start_limits_equal(const StartLimits *a, const StartLimits *b) {
        return a->any_cpus_set == b->any_cpus_set && a->any_nodes_set == b->any_nodes_set &&
               a->unknown == b->unknown && a->source == b->source &&
               a->cpu_source == b->cpu_source && a->memory_source == b->memory_source &&
               id_set_equal(&a->any_cpus, &b->any_cpus) &&
               id_set_equal(&a->any_nodes, &b->any_nodes) &&
               id_set_equal(&a->all_cpus, &b->all_cpus) &&
               id_set_equal(&a->all_nodes, &b->all_nodes) &&
               id_set_equal(&a->cpu_nodes, &b->cpu_nodes);
}

/* Is it all that it could have? */
static bool is_whole(const ByHandInput *in, const CpuSet *cpus, const CpuSet *offer) {
        const CpuSet without_asking = id_set_minus(offer, &in->topology->isolated_cpus);

        return id_set_is_empty(cpus) || id_set_is_subset(&without_asking, cpus);
}

ByHand by_hand_find(const ByHandInput *in) {
        const bool in_unit = !id_set_is_empty(in->unit_cpus);
        CpuSet offer = topology_cpus(in->topology);
        NodeSet open = topology_memory_nodes(in->topology), place = open;
        ByHand found = { 0 };

        id_set_limit(&offer, in->above_cpus);
        id_set_limit(&open, in->above_nodes);
        id_set_intersect(&place, in->place_nodes);
        /* That of a daemon is no hand. */
        if (!in->bound_by_daemon && !id_set_equal(in->unit_cpus, in->place_cpus) &&
            !is_whole(in, in->unit_cpus, &offer))
                found.cpuset_cpus = *in->unit_cpus;
        if (!in->bound_by_daemon && !id_set_is_empty(in->mems) && !id_set_equal(in->mems, &place) &&
            !id_set_is_subset(&open, in->mems))
                found.cpuset_nodes = *in->mems;
        /* Without a cpuset the daemon sets the threads themselves. */
        if (!(in->bound_by_daemon && !in_unit) && !id_set_equal(in->thread_cpus, in->place_cpus) &&
            !is_whole(in, in->thread_cpus, in_unit ? in->unit_cpus : &offer)) {
                found.thread_cpus = *in->thread_cpus;
                found.start = in->cpu_source;
        }
        return found;
}

CpuSet by_hand_left(const ByHand *found, const CpuSet *cpus) {
        CpuSet left = *cpus;

        id_set_limit(&left, &found->cpuset_cpus);
        id_set_limit(&left, &found->thread_cpus);
        return id_set_is_empty(&left) ? *cpus : left;
}
