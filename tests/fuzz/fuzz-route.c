/* Routing tables with any content: the answer is a name that may stand in a path. */
#include <errno.h>

#include "fuzz.h"
#include "tidbnumad/sys/devices.h"

static void check_answer(int r, const char *name, const char *text) {
        if (r == 0)
                check(*name && strlen(name) < INTERFACE_NAME_SIZE && !strchr(name, '/') &&
                      strcmp(name, "..") != 0 && strstr(text, name));
        else
                check(r == -ENOENT && strcmp(name, "untouched") == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        char name[INTERFACE_NAME_SIZE] = "untouched", name6[INTERFACE_NAME_SIZE] = "untouched";
        char *text = fuzz_text(data, size);

        if (!text)
                return 0;
        check_answer(default_route_parse(text, name), name, text);
        check_answer(default_route6_parse(text, name6), name6, text);
        free(text);
        return 0;
}
