/* Routing tables with any content: the answer is a name that may stand in a path. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/sys/default-route.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int condition) {
        if (!condition)
                abort();
}

static void check_answer(int r, const char *name, const char *text) {
        if (r == 0)
                check(*name && strlen(name) < IF_NAMESIZE && !strchr(name, '/') &&
                      strcmp(name, "..") != 0 && strstr(text, name));
        else
                check(r == -ENOENT && strcmp(name, "untouched") == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        char name[IF_NAMESIZE] = "untouched", name6[IF_NAMESIZE] = "untouched";
        char *text = malloc(size + 1);

        if (!text)
                return 0;
        if (size > 0)
                memcpy(text, data, size);
        text[size] = '\0';
        check_answer(default_route_parse(text, name), name, text);
        check_answer(default_route6_parse(text, name6), name6, text);
        free(text);
        return 0;
}
