/* Names of interrupt handlers. Each driver has its own habit; see request_irq() in drivers/net. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "tidbnumad/observe/irq-name.h"

enum {
        NAME_MAX_BYTES = 128,
        QUEUE_MAX = 65535, /* more is part of a name, and no queue */
};

/* Of the first handler, without "@pci:0000:3b:00.0" and the bracket of "eth0 (queue 3)". */
static void take_first(const char *name, char buffer[static NAME_MAX_BYTES]) {
        size_t n = strcspn(name, ",@");

        while (n > 0 && (name[n - 1] == ')' || name[n - 1] == ' '))
                n--;
        (void)snprintf(buffer, NAME_MAX_BYTES, "%.*s", (int)n, name);
}

/* Cuts the number at the end off, and what separates it. -1: there is none. */
static int32_t cut_number(char *name) {
        size_t length = strlen(name), begin = length;
        int32_t number = 0;

        while (begin > 0 && isdigit((unsigned char)name[begin - 1]))
                begin--;
        if (begin == length || begin == 0 || length - begin > 5)
                return -1;
        for (size_t i = begin; i < length; i++)
                number = number * 10 + (name[i] - '0');
        while (begin > 0 && strchr("-._ ", name[begin - 1]))
                begin--;
        name[begin] = '\0';
        return number <= QUEUE_MAX ? number : -1;
}

static bool ends_with(const char *text, const char *end) {
        size_t n = strlen(text), m = strlen(end);

        return n >= m && strcasecmp(text + n - m, end) == 0;
}

/* What stands before the number of a queue. "eth0-q" is be2net's, "eth0" alone mlx4's and mlx5's,
 * "comp" that of their firmware's names. */
static IrqRole role_of(const char *device, const char *stem) {
        static const char *const pairs[] = {
                "TxRx", "Tx-Rx", "rxtx", "fp", "comp", "(queue", "req"
        };
        const size_t n = strlen(device);

        for (size_t i = 0; i < ELEMENTSOF(pairs); i++)
                if (ends_with(stem, pairs[i]))
                        return IRQ_ROLE_RXTX;
        if (ends_with(stem, "rx") || ends_with(stem, "input"))
                return IRQ_ROLE_RX;
        if (ends_with(stem, "tx") || ends_with(stem, "output"))
                return IRQ_ROLE_TX;
        if (strncmp(stem, device, n) == 0 && (stem[n] == '\0' || strcmp(stem + n, "-q") == 0))
                return IRQ_ROLE_RXTX;
        return IRQ_ROLE_OTHER;
}

/* "nvme0q3" */
static IrqRole nvme_role(const char *device, const char *stem, int32_t queue) {
        const size_t n = strlen(device);

        if (queue < 0 || strncmp(stem, device, n) != 0 || strcmp(stem + n, "q") != 0)
                return IRQ_ROLE_OTHER;
        return queue == 0 ? IRQ_ROLE_ADMIN : IRQ_ROLE_RXTX;
}

IrqRole irq_name_parse(IrqDeviceKind kind, const char *device, const char *name,
                       int32_t *ret_queue) {
        char stem[NAME_MAX_BYTES];
        IrqRole role = IRQ_ROLE_OTHER;
        int32_t queue = -1;

        take_first(name, stem);
        if (strcmp(stem, device) != 0) /* else the number is the card's */
                queue = cut_number(stem);
        if (kind == IRQ_DEVICE_NVME)
                role = nvme_role(device, stem, queue);
        else if (queue >= 0)
                role = role_of(device, stem);
        *ret_queue = role == IRQ_ROLE_OTHER ? -1 : queue;
        return role;
}

bool irq_name_holds(const char *name, const char *device) {
        const size_t n = strlen(device);

        for (const char *at = strstr(name, device); at && n > 0; at = strstr(at + 1, device))
                if ((at == name || !isalnum((unsigned char)at[-1])) &&
                    !isalnum((unsigned char)at[n]))
                        return true;
        return false;
}
