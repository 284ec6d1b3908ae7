/* Notes on devices in somebody's XML: what is read is written the same again. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/observe/device-note.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int condition) {
        if (!condition)
                abort();
}

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
        char *text = malloc(size + 1);
        int r;

        if (!text)
                return 0;
        if (size > 0)
                memcpy(text, data, size);
        text[size] = '\0';
        r = device_note_parse(text, &device);
        if (r == 0)
                check_again(&device);
        else
                check((r == -EBADMSG || r == -ENOMEM) && !device.name);
        free(text);
        return 0;
}
