/* Lists of numbers: whatever is taken is rendered so that it is taken as the same set again. */
#include <errno.h>

#include "fuzz.h"
#include "tidbnumad/base/id-set.h"

static void check_rendering(const CpuSet *set) {
        /* Room for the longest list of all: every second number. */
        char list[CPU_SET_MAX * 3];
        int length = id_set_render_list(set, list, sizeof(list));
        CpuSet again;

        check(length >= 0 && (size_t)length == strlen(list));
        check(id_set_parse_list(list, &again) == 0 && id_set_equal(set, &again));
        if (length > 0) { /* one byte too little */
                check(id_set_render_list(set, list, (size_t)length) == -ENOSPC);
                check(list[0] == '\0');
        }
}

/* Masks: what lists render is taken, and what is taken is rendered. */
static void check_mask(const CpuSet *set) {
        char mask[ID_SET_MASK_MAX];
        int length = id_set_render_mask(set, mask, sizeof(mask));
        CpuSet again;

        check(length >= 8 && (size_t)length == strlen(mask));
        check(id_set_parse_mask(mask, &again) == 0 && id_set_equal(set, &again));
}

static void check_as_mask(const char *text) {
        CpuSet set, untouched;
        int r;

        memset(&set, 0xa5, sizeof(set));
        memset(&untouched, 0xa5, sizeof(untouched));
        r = id_set_parse_mask(text, &set);
        if (r == 0)
                check_mask(&set);
        else
                check((r == -EINVAL || r == -ERANGE) && id_set_equal(&set, &untouched));
}

static void check_bytes(const CpuSet *set) {
        uint8_t bytes[CPU_SET_MAX / 8];
        size_t n = id_view_to_bytes(ID_VIEW(set), bytes);
        uint32_t count = 0;

        check(n <= sizeof(bytes) && (n == 0 || bytes[n - 1] != 0));
        for (size_t i = 0; i < n * 8; i++) {
                check((bytes[i / 8] >> (i % 8) & 1) == id_set_has(set, (uint32_t)i));
                count += bytes[i / 8] >> (i % 8) & 1;
        }
        check(count == id_set_count(set));
}

static void check_walk(const CpuSet *set) {
        uint32_t count = 0;

        ID_SET_FOREACH(id, set) {
                check(id_set_has(set, (uint32_t)id));
                count++;
        }
        check(count == id_set_count(set));
        check(id_set_is_empty(set) == (count == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        char *text = fuzz_text(data, size);
        CpuSet set, untouched;
        int r;

        if (!text)
                return 0;
        memset(&set, 0xa5, sizeof(set));
        memset(&untouched, 0xa5, sizeof(untouched));
        r = id_set_parse_list(text, &set);
        if (r == 0) {
                check_rendering(&set);
                check_bytes(&set);
                check_mask(&set);
                check_walk(&set);
        } else
                check((r == -EINVAL || r == -ERANGE) && id_set_equal(&set, &untouched));
        check_as_mask(text);
        free(text);
        return 0;
}
