/* Notes on devices in somebody's XML: what is read is written the same again. */
#include <errno.h>

#include "fuzz.h"
#include "tidbnumad/world/topology-hwloc.h"

static void check_again(const Device *device) {
        _cleanup_(device_done) Device again = { 0 };
        _cleanup_text_ Text first = { 0 }, second = { 0 };

        device_note_render(device, &first);
        check(first.error == 0 && device_note_parse(first.data, &again) == 0);
        device_note_render(&again, &second);
        check(strcmp(first.data, second.data) == 0);
        check(strcmp(device->name, again.name) == 0 && device->node == again.node &&
              device->kind == again.kind && device->speed_mbps == again.speed_mbps);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_(device_done) Device device = { 0 };
        char *text = fuzz_text(data, size);
        int r;

        if (!text)
                return 0;
        r = device_note_parse(text, &device);
        if (r == 0)
                check_again(&device);
        else
                check((r == -EBADMSG || r == -ENOMEM) && !device.name);
        free(text);
        return 0;
}
