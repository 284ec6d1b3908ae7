/* Values of which there may be several: numbers of nodes and CPUs, names of devices. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tidbnumad/config/policy-list.h"
#include "tidbnumad/config/policy-text.h"
#include "tidbnumad/model/policy.h"

static const char no_node[] = "no machine has a node of that number";
static const char no_cpu[] = "no machine has a CPU of that number";

static int add_ids(const char *text, const char *too_high, IdTarget target,
                   const char **ret_reason) {
        IdSet set = { 0 };
        int r;

        r = id_target_parse_list(text, (IdTarget){ set.words, target.n_words });
        if (r == -ERANGE)
                *ret_reason = too_high;
        else if (r == 0 && id_set_is_empty(&set))
                *ret_reason = "it is empty";
        if (r < 0 || id_set_is_empty(&set))
                return -EINVAL;
        id_target_union(target, ID_VIEW(&set));
        return 0;
}

/* The kernel's form: with the domain, in small letters. */
static int add_pci(const char *text, WordList *target) {
        char address[POLICY_PCI_ADDRESS_LENGTH + 1];

        (void)snprintf(address, sizeof(address), "%s%s",
                       strlen(text) < POLICY_PCI_ADDRESS_LENGTH ? "0000:" : "", text);
        for (char *p = address; *p; p++)
                *p = (char)tolower((unsigned char)*p);
        return word_list_add(target, address);
}

static int add_word(const PolicyKey *key, const char *text, WordList *target,
                    const char **ret_reason) {
        *ret_reason = policy_text_fault(key->type, text);
        if (*ret_reason)
                return -EINVAL;
        return key->type == POLICY_KEY_PCI_ADDRESSES ? add_pci(text, target)
                                                     : word_list_add(target, text);
}

bool policy_list_is(const PolicyKey *key) {
        return key->type >= POLICY_KEY_NODES && key->type <= POLICY_KEY_PCI_ADDRESSES;
}

void policy_list_clear(const PolicyKey *key, void *target) {
        switch (key->type) {
        case POLICY_KEY_NODES:
                *(NodeSet *)target = (NodeSet){ 0 };
                break;
        case POLICY_KEY_CPUS:
                *(PolicyCpus *)target = (PolicyCpus){ .choice = CPUS_LIST };
                break;
        case POLICY_KEY_RESERVE:
                ((Reserve *)target)->kind = RESERVE_LIST;
                ((Reserve *)target)->nodes = (NodeSet){ 0 };
                break;
        case POLICY_KEY_STEER:
                ((IrqPolicy *)target)->steer = STEER_CPUS;
                ((IrqPolicy *)target)->cpus = (CpuSet){ 0 };
                break;
        default:
                word_list_done(target);
        }
}

int policy_list_add(const PolicyKey *key, const char *text, void *target, const char **ret_reason) {
        *ret_reason = NULL;
        switch (key->type) {
        case POLICY_KEY_NODES:
                return add_ids(text, no_node, ID_TARGET((NodeSet *)target), ret_reason);
        case POLICY_KEY_CPUS:
                return add_ids(text, no_cpu, ID_TARGET(&((PolicyCpus *)target)->list), ret_reason);
        case POLICY_KEY_RESERVE:
                return add_ids(text, no_node, ID_TARGET(&((Reserve *)target)->nodes), ret_reason);
        case POLICY_KEY_STEER:
                return add_ids(text, no_cpu, ID_TARGET(&((IrqPolicy *)target)->cpus), ret_reason);
        default:
                return add_word(key, text, target, ret_reason);
        }
}

IdView policy_list_ids(const PolicyKey *key, const void *target, bool *ret_cpus) {
        *ret_cpus = key->type == POLICY_KEY_CPUS || key->type == POLICY_KEY_STEER;
        switch (key->type) {
        case POLICY_KEY_NODES:
                return ID_VIEW((const NodeSet *)target);
        case POLICY_KEY_CPUS:
                return ID_VIEW(&((const PolicyCpus *)target)->list);
        case POLICY_KEY_RESERVE:
                return ID_VIEW(&((const Reserve *)target)->nodes);
        case POLICY_KEY_STEER:
                return ID_VIEW(&((const IrqPolicy *)target)->cpus);
        default:
                return (IdView){ NULL, 0 };
        }
}

/* The word that may be in place of a list of this type, or none of them. */
static bool parse_keyword(const PolicyKey *key, const char *text, void *target) {
        int i = key->choices ? policy_word_find(key->choices, text) : -EINVAL;

        if (i < 0)
                return false;
        policy_list_clear(key, target);
        if (key->type == POLICY_KEY_CPUS)
                ((PolicyCpus *)target)->choice = (CpuChoice)i;
        else if (key->type == POLICY_KEY_RESERVE)
                ((Reserve *)target)->kind = (ReserveKind)i;
        else
                ((IrqPolicy *)target)->steer = (IrqSteer)i;
        return true;
}

/* One value where a list is allowed. A fault must leave `target` as it was. */
int policy_list_parse(const PolicyKey *key, const char *text, void *target,
                      const char **ret_reason) {
        IdSet ids = { 0 };
        IdView present;
        bool cpus;
        int r;

        if (parse_keyword(key, text, target))
                return 0;
        present = policy_list_ids(key, target, &cpus);
        if (present.n_words > 0) {
                r = add_ids(text, cpus ? no_cpu : no_node, (IdTarget){ ids.words, present.n_words },
                            ret_reason);
                if (r < 0)
                        return r;
        } else {
                *ret_reason = policy_text_fault(key->type, text);
                if (*ret_reason)
                        return -EINVAL;
        }
        policy_list_clear(key, target);
        return policy_list_add(key, text, target, ret_reason);
}
