/* Command lines that processes write for themselves, and the paths in them. */
#include <errno.h>
#include <limits.h>

#include "fuzz.h"
#include "tidbnumad/sys/proc.h"
#include "tidbnumad/world/storage.h"

static void check_path(const char *base, const char *path) {
        char *joined = NULL;
        int r = data_dir_join(base, path, &joined);

        if (r < 0) {
                check((r == -ENODATA || r == -EBADMSG || r == -ENOMEM) && !joined);
                return;
        }
        check(joined[0] == '/' && strlen(joined) < PATH_MAX);
        for (const char *p = joined; *p; p++)
                check((unsigned char)*p >= 0x20 && *p != 0x7f);
        check(!strstr(joined, "//") && !strstr(joined, "/./"));
        free(joined);
}

static void check_line(const char *bytes, size_t size) {
        const char *data_dir = data_dir_parse_cmdline(bytes, size);
        char *joined = NULL;

        check(!data_dir || (data_dir > bytes && data_dir < bytes + size));
        if (data_dir)
                check_path("/srv/tikv", data_dir);
        check_path(NULL, bytes);
        if (cmdline_join(bytes, size, &joined) == 0)
                check(strlen(joined) == (size > 0 ? size - 1 : 0));
        free(joined);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        char *bytes = fuzz_text(data, size); /* as cmdline_read() sees to */

        if (!bytes)
                return 0;
        check_line(bytes, size + 1);
        free(bytes);
        return 0;
}
