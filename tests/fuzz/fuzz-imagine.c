/* A list of imagined instances, with any content. */
#include <errno.h>

#include "fuzz.h"
#include "tidbnumad/ctl/instances.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        Policy policies[] = { { .name = (char *)"tidb" },
                              { .name = (char *)"a", .place.near = NEAR_STORAGE } };
        const PolicySet set = { .policies = policies, .n_policies = 2 };
        Device disk = { .kind = DEVICE_DISK, .name = (char *)"d" };
        const DeviceList devices = { .devices = &disk, .n_devices = 1 };
        _cleanup_host_instances_ HostInstances imagined = { 0 };
        _cleanup_error_ Error error = { 0 };
        _cleanup_free_ char *text = fuzz_text(data, size);
        int r;

        if (!text)
                return 0;
        r = imagine_instances(text, &set, &devices, &imagined, &error);
        check((r == -EINVAL) == (error.sentence != NULL));
        check(r < 0 || imagined.n_instances > 0);
        check(imagined.n_instances <= IMAGINE_INSTANCES_MAX);
        return 0;
}
