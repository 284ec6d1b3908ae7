/* A configuration of another user, with any content. */
#include <errno.h>

#include "fuzz.h"
#include "tidbnumad/base/toml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        static const char *const tables[] = { NULL, "storage" };

        for (size_t i = 0; i < 2; i++) {
                char *value = NULL;
                int r = toml_find_string((const char *)data, size, tables[i], "data-dir", &value);

                if (r == 0) {
                        check(value && strlen(value) + 2 <= size);
                        free(value);
                } else
                        check((r == -ENOENT || r == -EBADMSG || r == -ENOMEM) && !value);
        }
        return 0;
}
