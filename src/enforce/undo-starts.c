#include <jansson.h>
#include <stdlib.h>
#include <unistd.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/enforce/undo-json.h"
#include "tidbnumad/enforce/undo-starts.h"
#include "tidbnumad/sys/atomic-file.h"

/* A line of 5 KiB for each policy of a machine of 1,024 CPUs. */
#define MAX_BYTES ((size_t)4 << 20)

void undo_starts_done(UndoStarts *starts) {
        free(starts->cpus);
        *starts = (UndoStarts){ 0 };
}

int undo_starts_add(UndoStarts *starts, const CpuSet *cpus) {
        for (size_t i = 0; i < starts->n; i++)
                if (id_set_equal(&starts->cpus[i], cpus))
                        return 0;
        if (ARRAY_RESERVE(starts->cpus, starts->allocated, starts->n + 1) < 0)
                return -ENOMEM;
        starts->cpus[starts->n++] = *cpus;
        return 0;
}

int undo_starts_write(int dir_fd, const UndoStarts *starts) {
        _cleanup_free_ char *text = NULL;
        json_t *list;
        size_t size;
        int r;

        if (dir_fd < 0)
                return -EBADF;
        if (starts->n == 0)
                return unlinkat(dir_fd, UNDO_STARTS_FILE, 0) < 0 && errno != ENOENT ? -errno : 0;
        list = json_array();
        for (size_t i = 0; i < starts->n; i++)
                undo_json_append(&list, undo_json_from_set(ID_VIEW(&starts->cpus[i])));
        r = undo_json_render(json_pack("{s:o}", "cpus", list), &text, &size);
        return r < 0 ? r : atomic_file_write(dir_fd, UNDO_STARTS_FILE, text, size, 0600);
}

int undo_starts_parse(const char *text, size_t size, UndoStarts *ret) {
        _cleanup_undo_starts_ UndoStarts starts = { 0 };
        _cleanup_(json_decrefp) json_t *root = NULL;
        const json_t *list, *item;
        size_t i;
        int r = undo_json_parse(text, size, &root);

        if (r < 0)
                return r;
        list = json_object_get(root, "cpus");
        if (!json_is_array(list))
                return -EBADMSG;
        json_array_foreach(list, i, item) {
                CpuSet cpus;

                r = undo_json_to_set(item, ID_TARGET(&cpus));
                if (r >= 0)
                        r = id_set_is_empty(&cpus) ? -EBADMSG : undo_starts_add(&starts, &cpus);
                if (r < 0)
                        return r;
        }
        *ret = TAKE_STRUCT(starts);
        return 0;
}

int undo_starts_read(int dir_fd, UndoStarts *ret) {
        _cleanup_free_ char *text = NULL;
        size_t size;
        int r = private_file_read(dir_fd, UNDO_STARTS_FILE, MAX_BYTES, &text, &size);

        return r < 0 ? r : undo_starts_parse(text, size, ret);
}
