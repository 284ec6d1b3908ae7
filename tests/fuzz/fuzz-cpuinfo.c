/* A /proc/cpuinfo with any content: what is refused leaves its output alone. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/sys/node.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int condition) {
        if (!condition)
                abort();
}

static void check_text(const char *text) {
        CpuInfo info = { .vendor = "before", .model = 1234 };
        int r = cpuinfo_parse(text, &info);

        if (r < 0) {
                check(r == -EBADMSG);
                check(strcmp(info.vendor, "before") == 0 && info.model == 1234);
                return;
        }
        check(r == 0);
        check(memchr(info.vendor, '\0', sizeof(info.vendor)) && !strchr(info.vendor, '\n'));
        check(info.vendor[0] != '\0' || strstr(text, "part")); /* of "CPU part", with any blanks */
}

/* As much as cpuinfo_read() reads. */
enum { TEXT_MAX = 4095 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        char *text;

        if (size > TEXT_MAX)
                size = TEXT_MAX;
        text = malloc(size + 1);
        if (!text)
                return 0;
        if (size > 0)
                memcpy(text, data, size);
        text[size] = '\0';
        check_text(text);
        free(text);
        return 0;
}
