/* The mounts that a process sees, and which one holds a path. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/base/parse.h"
#include "tidbnumad/sys/mountinfo.h"

void mount_table_done(MountTable *table) {
        free(table->text);
        free(table->mounts);
        *table = (MountTable){ 0 };
}

static bool is_octal(char c) {
        return c >= '0' && c <= '7';
}

void mountinfo_unescape(char *text) {
        char *to = text;

        for (const char *p = text; *p; to++) {
                if (p[0] == '\\' && p[1] >= '0' && p[1] <= '3' && is_octal(p[2]) &&
                    is_octal(p[3]) && memcmp(p + 1, "000", 3) != 0) {
                        *to = (char)((p[1] - '0') << 6 | (p[2] - '0') << 3 | (p[3] - '0'));
                        p += 4;
                } else
                        *to = *p++;
        }
        *to = '\0';
}

static int parse_device(char *text, Mount *mount) {
        const char *major = strsep(&text, ":");
        uint64_t a, b;

        if (!text || parse_u64(major, &a) < 0 || parse_u64(text, &b) < 0 || a > UINT32_MAX ||
            b > UINT32_MAX)
                return -EBADMSG;
        mount->major = (uint32_t)a;
        mount->minor = (uint32_t)b;
        return 0;
}

/* "36 35 98:0 /root /point rw,noatime master:1 shared:2 - ext3 /dev/root rw". The source may be
 * empty: fields are separated by single blanks. */
static int parse_line(char *line, Mount *ret) {
        enum { ID, PARENT, DEVICE, ROOT, POINT, OPTIONS, N_FIELDS };
        char *fields[N_FIELDS], *field, *type, *source;
        Mount mount = { 0 };

        for (size_t i = 0; i < N_FIELDS; i++) {
                fields[i] = strsep(&line, " ");
                if (!fields[i])
                        return -EBADMSG;
        }
        do
                field = strsep(&line, " ");
        while (field && strcmp(field, "-") != 0);
        type = strsep(&line, " ");
        source = strsep(&line, " ");
        if (!source || !line || fields[POINT][0] != '/' || parse_u64(fields[ID], &mount.id) < 0 ||
            parse_u64(fields[PARENT], &mount.parent) < 0 ||
            parse_device(fields[DEVICE], &mount) < 0)
                return -EBADMSG;
        mountinfo_unescape(fields[POINT]);
        mountinfo_unescape(type);
        mountinfo_unescape(source);
        mount.root = fields[ROOT];
        mount.point_options = fields[OPTIONS];
        mount.options = line;
        mount.point = fields[POINT];
        mount.type = type;
        mount.source = source;
        *ret = mount;
        return 0;
}

int mountinfo_error(int r) {
        return r == -ENOENT || r == -EINVAL ? -ESRCH : r;
}

int mountinfo_parse(const char *text, MountTable *ret) {
        _cleanup_mount_table_ MountTable table = { .text = strdup(text) };
        char *rest = table.text;

        if (!table.text)
                return -ENOMEM;
        while (rest && *rest) {
                char *line = strsep(&rest, "\n");
                int r;

                if (ARRAY_RESERVE(table.mounts, table.allocated, table.n_mounts + 1) < 0)
                        return -ENOMEM;
                r = parse_line(line, &table.mounts[table.n_mounts]);
                if (r < 0)
                        return r;
                table.n_mounts++;
        }
        *ret = TAKE_STRUCT(table);
        return 0;
}

static bool begins_read_only(const char *options) {
        return strcmp(options, "ro") == 0 || strncmp(options, "ro,", strlen("ro,")) == 0;
}

/* The kernel shows "ro" or "rw" first of all options (show_mnt_opts(), show_sb_opts()). */
bool mount_is_read_only(const Mount *mount) {
        return begins_read_only(mount->point_options) || begins_read_only(mount->options);
}

const Mount *mount_table_find_id(const MountTable *table, uint64_t id) {
        for (size_t i = 0; i < table->n_mounts; i++)
                if (table->mounts[i].id == id)
                        return &table->mounts[i];
        return NULL;
}

static bool holds(const Mount *mount, const char *path) {
        size_t length = strlen(mount->point);

        if (strcmp(mount->point, "/") == 0)
                return path[0] == '/';
        return strncmp(mount->point, path, length) == 0 &&
               (path[length] == '/' || path[length] == '\0');
}

/* Where the way to the path begins: on a mount that is mounted on none of these. In a whole
 * table that is the one at "/"; of several, as in a part of one, the deepest. */
static const Mount *find_first(const MountTable *table, const char *path) {
        const Mount *first = NULL;

        for (size_t i = 0; i < table->n_mounts; i++) {
                const Mount *mount = &table->mounts[i], *below;

                if (!holds(mount, path))
                        continue;
                below = mount_table_find_id(table, mount->parent);
                if (below && below != mount && holds(below, path))
                        continue;
                if (!first || strlen(mount->point) >= strlen(first->point))
                        first = mount;
        }
        return first;
}

/* What the way to the path meets first on that mount. */
static const Mount *find_next(const MountTable *table, const Mount *on, const char *path) {
        const Mount *next = NULL;

        for (size_t i = 0; i < table->n_mounts; i++) {
                const Mount *mount = &table->mounts[i];

                if (mount != on && mount->parent == on->id && holds(mount, path) &&
                    (!next || strlen(mount->point) <= strlen(next->point)))
                        next = mount;
        }
        return next;
}

/* As the kernel walks: not the deepest mount point counts, for a later mount above it hides it. */
const Mount *mount_table_find(const MountTable *table, const char *path) {
        const Mount *mount = find_first(table, path);

        for (size_t n = 0; mount && n < table->n_mounts; n++) {
                const Mount *next = find_next(table, mount, path);

                if (!next)
                        break;
                mount = next;
        }
        return mount;
}

/* "mnt_id:\t27" of /proc/PID/fdinfo/FD, proc(5). */
int mount_id_read(const Sysroot *sysroot, int fd, uint64_t *ret) {
        char path[64], text[1024];
        ssize_t n;

        (void)snprintf(path, sizeof(path), "self/fdinfo/%d", fd);
        n = read_file_at(sysroot->proc_fd, path, text, sizeof(text));
        return n < 0 ? (int)n : parse_field(text, "\nmnt_id:", ret);
}
