/* Mounts as a process in its own namespace may make them, or a dump may hold them. The first line
 * is the directory that is looked for. */
#include <errno.h>

#include "fuzz.h"
#include "tidbnumad/sys/namespace.h"
#include "tidbnumad/world/storage.h"

static void check_table(const char *text, const char *dir) {
        _cleanup_mount_table_ MountTable table = { 0 };
        const Mount *mount;

        if (mountinfo_parse(text, &table) < 0) {
                check(!table.text && !table.mounts);
                return;
        }
        mount = mount_table_find(&table, dir);
        if (mount)
                check(strncmp(mount->point, dir, strlen(mount->point)) == 0);
        for (size_t i = 0; i < table.n_mounts; i++)
                check(table.mounts[i].point[0] == '/' &&
                      mount_table_find_id(&table, table.mounts[i].id));
}

/* The devices of whoever runs it: only that it answers. */
static void check_storage(const char *text, const char *dir) {
        _cleanup_sysroot_ Sysroot sysroot = SYSROOT_NONE;
        _cleanup_storage_devices_ StorageDevices storage = { 0 };
        int r;

        if (sysroot_open(NULL, &sysroot) < 0)
                return;
        r = storage_find(&sysroot, text, dir, &storage);
        check(r == 0 ? storage.chain != NULL : r < 0 && !storage.chain);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        char *text = fuzz_text(data, size), *newline;

        if (!text)
                return 0;
        newline = strchr(text, '\n');
        if (newline) {
                *newline = '\0';
                check_table(newline + 1, text);
                check_storage(newline + 1, text);
        }
        mountinfo_unescape(text);
        check(strlen(text) <= size);
        free(text);
        return 0;
}
