/* Names of interrupt handlers with any content: a queue is told where there is one, and only there.
 * The first line is the device's name, the second the handler's. */
#include "fuzz.h"
#include "tidbnumad/world/irq-load.h"

static void check_name(DeviceKind kind, const char *device, const char *name) {
        int32_t queue = -7;
        IrqRole role = irq_name_parse(kind, device, name, &queue);

        check(role < N_IRQ_ROLES && queue >= -1 && queue <= 65535);
        check((role == IRQ_ROLE_OTHER) == (queue == -1));
        check(role != IRQ_ROLE_ADMIN || (kind == DEVICE_NVME && queue == 0));
        (void)irq_name_holds(name, device);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        char *text = fuzz_text(data, size), *name;

        if (!text)
                return 0;
        name = strchr(text, '\n');
        if (name) {
                *name++ = '\0';
                for (unsigned kind = 0; kind <= DEVICE_OTHER; kind++)
                        check_name(kind, text, name);
        }
        free(text);
        return 0;
}
