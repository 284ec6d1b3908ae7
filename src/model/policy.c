/* Life and defaults of policies. */
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/model/policy.h"

static void policy_match_done(PolicyMatch *match) {
        free(match->exe);
        free(match->unit);
        free(match->user);
        free(match->args);
        free(match->ids);
        *match = (PolicyMatch){ 0 };
}

void policy_done(Policy *policy) {
        policy_match_done(&policy->match);
        for (size_t i = 0; i < policy->n_instances; i++)
                policy_match_done(&policy->instances[i].match);
        free(policy->instances);
        free(policy->metrics.count);
        free(policy->metrics.duration);
        free(policy->name);
        free(policy->file);
        *policy = (Policy){ 0 };
}

int word_list_add(WordList *list, const char *word) {
        char **words = reallocarray(list->words, list->n_words + 2, sizeof(*words));

        if (!words)
                return -ENOMEM;
        list->words = words;
        words[list->n_words + 1] = NULL;
        words[list->n_words] = strdup(word);
        if (!words[list->n_words])
                return -ENOMEM;
        list->n_words++;
        return 0;
}

bool word_list_has(const WordList *list, const char *word) {
        for (size_t i = 0; i < list->n_words; i++)
                if (strcmp(list->words[i], word) == 0)
                        return true;
        return false;
}

void word_list_done(WordList *list) {
        for (size_t i = 0; i < list->n_words; i++)
                free(list->words[i]);
        free(list->words);
        *list = (WordList){ 0 };
}

bool instance_is_named(const char *glob, const char *name, const char *unit) {
        return strcmp(glob, name) == 0 || fnmatch(glob, name, 0) == 0 ||
               (unit && (strcmp(glob, unit) == 0 || fnmatch(glob, unit, 0) == 0));
}

bool word_list_names(const WordList *globs, const char *name, const char *unit) {
        for (size_t i = 0; i < globs->n_words; i++)
                if (instance_is_named(globs->words[i], name, unit))
                        return true;
        return false;
}

void irq_policy_done(IrqPolicy *irq) {
        word_list_done(&irq->net);
        word_list_done(&irq->nvme);
        word_list_done(&irq->pci);
        free(irq->file);
        *irq = (IrqPolicy){ 0 };
}

void policy_set_init(PolicySet *set) {
        *set = (PolicySet){
                .mode = ENFORCEMENT_ENFORCE,
                .sampling_interval_usec = UINT64_C(10) * 1000 * 1000,
                .sampling_budget_ppm = 2000,
        };
}

void policy_set_done(PolicySet *set) {
        for (size_t i = 0; i < set->n_policies; i++)
                policy_done(&set->policies[i]);
        free(set->policies);
        word_list_done(&set->host.reserve.devices);
        word_list_done(&set->listing);
        for (size_t i = 0; i < set->n_irqs; i++)
                irq_policy_done(&set->irqs[i]);
        free(set->irqs);
        *set = (PolicySet){ 0 };
}

const Policy *policy_set_find(const PolicySet *set, const char *name) {
        for (size_t i = 0; i < set->n_policies; i++)
                if (strcmp(set->policies[i].name, name) == 0)
                        return &set->policies[i];
        return NULL;
}

size_t policy_set_count_written(const PolicySet *set) {
        size_t n = 0;

        for (size_t i = 0; i < set->n_policies; i++)
                n += !set->policies[i].built_in && !set->policies[i].adopted;
        return n;
}

static const char *const memory_mode_strings[] = {
        [MEMORY_BIND] = "bind",
        [MEMORY_PREFERRED] = "preferred",
        [MEMORY_NONE] = "none",
};
DEFINE_STRING_TABLE(memory_mode_to_string, MemoryMode, memory_mode_strings)
