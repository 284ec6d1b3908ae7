/* Policy text of any kind: no crash, no leak, and either a whole set or an untouched one. */
#include <errno.h>

#include "fuzz.h"
#include "tidbnumad/config/policy-load.h"

static void check_words(const WordList *list) {
        for (size_t i = 0; i < list->n_words; i++)
                check(list->words[i] && list->words[i][0]);
}

static void check_policy(const Policy *policy) {
        const Place *place = &policy->place;

        check(policy->name && policy->file && (policy->at.line > 0 || policy->built_in));
        check(policy->match.exe || policy->match.unit);
        check(policy->rate_bytes_per_sec > 0);
        check(policy->memory <= MEMORY_NONE && policy->migrate <= MIGRATE_NONE);
        check(policy->on_full <= ON_FULL_KEEP && policy->match.containers <= CONTAINERS_INCLUDED);
        check(place->count <= 1024 && place->near <= NEAR_NIC && place->share <= SHARE_SHARED);
        check((policy->cpus.choice == CPUS_LIST) == !id_set_is_empty(&policy->cpus.list));
        for (size_t j = 0; j < policy->n_instances; j++)
                check((policy->instances[j].match.unit || policy->instances[j].match.port > 0) &&
                      !id_set_is_empty(&policy->instances[j].nodes));
}

static void check_irq(const IrqPolicy *irq) {
        check(irq->file && irq->at.line > 0);
        check(irq->net.n_words + irq->nvme.n_words + irq->pci.n_words > 0);
        check_words(&irq->net);
        check_words(&irq->nvme);
        check_words(&irq->pci);
        check((irq->steer == STEER_CPUS) == !id_set_is_empty(&irq->cpus));
        check(irq->irqbalance <= IRQBALANCE_IGNORE && irq->rps <= RPS_OFF);
}

static void check_loaded(const PolicySet *set) {
        const Reserve *reserve = &set->host.reserve;

        check(set->n_policies > 0 && set->n_policies <= POLICIES_MAX);
        for (size_t i = 0; i < set->n_policies; i++)
                check_policy(&set->policies[i]);
        for (size_t i = 0; i < set->n_irqs; i++)
                check_irq(&set->irqs[i]);
        check((reserve->kind == RESERVE_LIST) == !id_set_is_empty(&reserve->nodes));
        check_words(&reserve->devices);
        check(set->sampling_budget_ppm >= 100 && set->sampling_budget_ppm <= 1000000);
}

/* One line each for a journal, and printable below it for a terminal. */
static void check_messages(const Diagnostics *diagnostics) {
        _cleanup_text_ Text text = { 0 };

        check(diagnostics->n_messages <= DIAGNOSTICS_MAX + 1);
        for (size_t i = 0; i < diagnostics->n_messages; i++) {
                check(!strchr(diagnostics->messages[i], '\n'));
                diagnostics_render(diagnostics, i, &text);
        }
        for (const char *p = text.data; p && *p; p++)
                check(*p == '\n' || *p == '\t' || (*p >= 0x20 && *p < 0x7f));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_diagnostics_ Diagnostics errors = { 0 }, warnings = { 0 };
        _cleanup_source_file_list_ SourceFileList files = { 0 };
        Node nodes[2] = { { .id = 0, .cpus.words[0] = 3 },
                          { .id = 1, .package = 1, .cpus.words[0] = 12 } };
        Topology topology = { .nodes = nodes, .n_nodes = 2 };
        PolicySet set, untouched;
        int r;

        if (source_file_list_add(&files, "fuzz.yaml", (const char *)data, size) < 0)
                return 0;
        memset(&set, 0xa5, sizeof(set));
        memset(&untouched, 0xa5, sizeof(untouched));
        r = policy_set_parse(&files, &topology, NULL, &set, &errors, &warnings);
        check_messages(&errors);
        check_messages(&warnings);
        if (r == 0) {
                check(errors.n_messages == 0);
                check_loaded(&set);
                policy_set_done(&set);
        } else {
                check(r == -ENOMEM || (r == -EINVAL && errors.n_messages > 0));
                check(memcmp(&set, &untouched, sizeof(set)) == 0);
        }
        return 0;
}
