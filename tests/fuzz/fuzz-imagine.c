/* A list of imagined instances, with any content. */
#include <errno.h>

#include "fuzz.h"
#include "tidbnumad/ctl/instances.h"

static uint64_t count(const ImagineList *list) {
        uint64_t n = 0;

        for (size_t i = 0; i < list->n_entries; i++) {
                check(list->entries[i].count > 0 && *list->entries[i].policy != '\0');
                n += list->entries[i].count;
        }
        return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        Policy policies[] = { { .name = (char *)"tidb" },
                              { .name = (char *)"a", .place.near = NEAR_STORAGE } };
        const PolicySet set = { .policies = policies, .n_policies = 2 };
        Device disk = { .kind = DEVICE_DISK, .name = (char *)"d" };
        const DeviceList devices = { .devices = &disk, .n_devices = 1 };
        _cleanup_host_instances_ HostInstances imagined = { 0 };
        _cleanup_imagine_list_ ImagineList list = { 0 };
        _cleanup_error_ Error error = { 0 };
        _cleanup_free_ char *text = fuzz_text(data, size);
        int r;

        if (!text)
                return 0;
        r = imagine_parse(text, &list, &error);
        check((r == -EINVAL) == (error.sentence != NULL));
        if (r < 0)
                return 0;
        check(count(&list) <= IMAGINE_INSTANCES_MAX);
        r = imagine_instances(&list, &set, &devices, &imagined, &error);
        check((r == -EINVAL) == (error.sentence != NULL));
        check(r < 0 || imagined.n_instances == count(&list));
        return 0;
}
