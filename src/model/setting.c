#include <errno.h>
#include <string.h>

#include "tidbnumad/model/setting.h"

static const char *const words[N_SETTING_KINDS] = {
        [SETTING_VECTOR] = "vector",
        [SETTING_XPS] = "xps",
        [SETTING_RPS] = "rps",
        [SETTING_NUMA_BALANCING] = "numa-balancing",
};

const char *setting_kind_to_string(SettingKind kind) {
        return words[kind];
}

int setting_kind_from_string(const char *word, SettingKind *ret) {
        for (unsigned i = 0; i < N_SETTING_KINDS; i++)
                if (strcmp(words[i], word) == 0) {
                        *ret = (SettingKind)i;
                        return 0;
                }
        return -EINVAL;
}

bool setting_is_queue(SettingKind kind) {
        return kind == SETTING_XPS || kind == SETTING_RPS;
}

bool setting_key_equal(const SettingKey *a, const SettingKey *b) {
        return a->kind == b->kind && a->number == b->number && a->ifindex == b->ifindex &&
               (setting_is_queue(a->kind) || strcmp(a->device, b->device) == 0);
}

bool setting_is_mask(SettingKind kind) {
        return kind != SETTING_NUMA_BALANCING;
}

bool setting_value_equal(const SettingValue *a, const SettingValue *b) {
        return a->number == b->number && id_set_equal(&a->cpus, &b->cpus);
}
