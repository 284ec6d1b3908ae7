/* The disks of a directory: its mount, the file system on it, the devices below that; and the data
 * directory of a process. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "tidbnumad/base/limits-of-others.h"
#include "tidbnumad/base/text.h"
#include "tidbnumad/sys/devices.h"
#include "tidbnumad/sys/namespace.h"
#include "tidbnumad/sys/proc.h"
#include "tidbnumad/world/devices.h"
#include "tidbnumad/world/storage.h"

enum {
        LEVELS_MAX = 16,   /* encrypted volumes on LVM on md on partitions are 6 */
        DEVICES_MAX = 512, /* /sys has no circles; a broken dump may */
        LOOPS_MAX = 4,     /* loop devices whose file is on a loop device */
};

void storage_devices_done(StorageDevices *storage) {
        device_list_done(&storage->disks);
        free(storage->chain);
        *storage = (StorageDevices){ 0 };
}

/* --- which block device: its folder below /sys. -ENODEV: none that /sys knows --- */

/* By the content of one of its files. */
static int block_find_by_file(const Sysroot *sysroot, const char *file, const char *content,
                              char ret[static PATH_MAX]) {
        _cleanup_closedir_ DIR *dir = NULL;
        const char *name;
        char text[256];

        (void)path_open_dir(sysroot->sys_fd, &dir, "class/block");
        while ((name = path_next(dir)))
                if (sysfs_resolve(sysroot, ret, "class/block/%s", name) >= 0 &&
                    path_read(sysroot->sys_fd, text, sizeof(text), "%s/%s", ret, file) > 0 &&
                    strcmp(text, content) == 0)
                        return 0;
        return -ENODEV;
}

/* By its name in /dev: "/dev/sda1", "/dev/mapper/vg-data", "/dev/vg/data". */
static int block_find_by_name(const Sysroot *sysroot, const char *name, char ret[static PATH_MAX]) {
        static const char dev[] = "/dev/", mapper[] = "/dev/mapper/";
        char volume[256];
        size_t length = 0;

        if (strncmp(name, mapper, strlen(mapper)) == 0)
                return block_find_by_file(sysroot, "dm/name", name + strlen(mapper), ret);
        if (strncmp(name, dev, strlen(dev)) != 0)
                return -ENODEV;
        name += strlen(dev);
        if (!strchr(name, '/'))
                return *name && name[0] != '.' &&
                                       sysfs_resolve(sysroot, ret, "class/block/%s", name) >= 0
                               ? 0
                               : -ENODEV;
        /* As LVM names volumes for the device mapper: "vg/data" is "vg-data", and hyphens are
         * doubled. */
        for (; *name; name++) {
                if (length + 3 > sizeof(volume))
                        return -ENODEV;
                if (*name == '-')
                        volume[length++] = '-';
                volume[length++] = *name == '/' ? '-' : *name;
        }
        volume[length] = '\0';
        return block_find_by_file(sysroot, "dm/name", volume, ret);
}

/* --- the devices below: partitions, device mapper, md, down to whole disks --- */

typedef struct StorageWalk {
        const Sysroot *sysroot;
        const MountTable *table; /* for the file of a loop device */
        DeviceList disks;        /* each once */
        Text chain; /* the way there: "dm-3 (lvm) on nvme0n1p2 on nvme0n1"; several devices are in
                     * brackets */
        size_t n_devices; /* below the present one */
        unsigned n_loops;
} StorageWalk;

static void storage_walk_done(StorageWalk *walk) {
        device_list_done(&walk->disks);
        text_done(&walk->chain);
}

static int storage_walk_down(StorageWalk *walk, const char *path, unsigned level) {
        /* Names in their order: a device list sorts them; what else a device has stays empty. */
        _cleanup_device_list_ DeviceList slaves = { 0 };
        _cleanup_closedir_ DIR *dir = NULL;
        char below[PATH_MAX], uuid[256], raid[32];
        const char *slave;
        int r = 0;

        text_append(&walk->chain, basename(path));
        if (level == LEVELS_MAX || walk->n_devices++ >= DEVICES_MAX || strlen(path) >= PATH_MAX)
                return 0;
        if (disk_is_partition(walk->sysroot, path)) {
                (void)strcpy(below, path);
                (void)path_cut_last(below);
                text_append(&walk->chain, " on ");
                return storage_walk_down(walk, below, level + 1);
        }
        (void)path_open_dir(walk->sysroot->sys_fd, &dir, "%s/slaves", path);
        while ((slave = path_next(dir))) {
                _cleanup_(device_done)
                        Device device = { .kind = DEVICE_DISK, .name = strdup(slave) };

                if (!device.name || device_list_add(&slaves, &device) < 0)
                        return -ENOMEM;
        }
        if (slaves.n_devices == 0) {
                _cleanup_(device_done) Device device = { 0 };

                /* A device on no disk, such as a RAM disk, adds none. */
                if (!disk_is_whole(walk->sysroot, path) ||
                    device_list_find(&walk->disks, DEVICE_DISK, basename(path)))
                        return 0;
                r = disk_load(walk->sysroot, path, &device);
                return r < 0 ? r : device_list_add(&walk->disks, &device);
        }
        /* "lvm", "crypt", "raid1"; of the device mapper's others the first word of their uuid. */
        if (path_read(walk->sysroot->sys_fd, uuid, sizeof(uuid), "%s/dm/uuid", path) >= 0) {
                const size_t length = strcspn(uuid, "-");

                for (size_t i = 0; i < length; i++)
                        if (uuid[i] >= 'A' && uuid[i] <= 'Z')
                                uuid[i] += 'a' - 'A';
                if (strncmp(uuid, "mpath-", 6) == 0)
                        text_append(&walk->chain, " (multipath)");
                else if (uuid[length] == '-' && length > 0)
                        text_appendf(&walk->chain, " (%.*s)", (int)length, uuid);
                else
                        text_append(&walk->chain, " (device mapper)");
        } else if (path_read(walk->sysroot->sys_fd, raid, sizeof(raid), "%s/md/level", path) > 0)
                text_appendf(&walk->chain, " (%s)", raid);
        for (size_t i = 0; i < slaves.n_devices && r >= 0; i++) {
                const char *name = slaves.devices[i].name;

                text_append(&walk->chain, i > 0 ? ", " : slaves.n_devices > 1 ? " on [" : " on ");
                if (sysfs_resolve(walk->sysroot, below, "class/block/%s", name) >= 0)
                        r = storage_walk_down(walk, below, level + 1);
                else
                        text_append(&walk->chain, name);
        }
        if (slaves.n_devices > 1)
                text_append(&walk->chain, "]");
        return r;
}

static int storage_add_mount(StorageWalk *walk, const Mount *mount);

/* Of a loop device, its file is on another mount. */
static int storage_add_device(StorageWalk *walk, const char *path) {
        char file[PATH_MAX];
        const Mount *mount;
        int r;

        walk->n_devices = 0;
        r = storage_walk_down(walk, path, 0);
        if (r < 0 || walk->chain.error < 0)
                return r < 0 ? r : walk->chain.error;
        if (path_read(walk->sysroot->sys_fd, file, sizeof(file), "%s/loop/backing_file", path) <=
                    0 ||
            walk->n_loops++ == LOOPS_MAX)
                return 0;
        mount = mount_table_find(walk->table, file);
        if (!mount)
                return 0;
        text_append(&walk->chain, " on ");
        return storage_add_mount(walk, mount);
}

/* --- file systems of several devices --- */

/* btrfs lists the devices of each of its file systems in /sys/fs/btrfs/UUID/devices: adds those
 * that are beside this one. */
static int storage_add_others(StorageWalk *walk, const char *one) {
        const int sys_fd = walk->sysroot->sys_fd;
        _cleanup_closedir_ DIR *all = NULL, *devices = NULL;
        const char *uuid, *name;
        char path[PATH_MAX];
        int r = 0;

        (void)path_open_dir(sys_fd, &all, "fs/btrfs");
        while ((uuid = path_next(all)) && !path_exists(sys_fd, "fs/btrfs/%s/devices/%s", uuid, one))
                ;
        if (uuid)
                r = path_open_dir(sys_fd, &devices, "fs/btrfs/%s/devices", uuid);
        while (r >= 0 && (name = path_next(devices))) {
                if (strcmp(name, one) == 0 ||
                    sysfs_resolve(walk->sysroot, path, "class/block/%s", name) < 0)
                        continue;
                text_append(&walk->chain, ", ");
                r = storage_add_device(walk, path);
        }
        return r;
}

/* --- one mount --- */

static int storage_add_mount(StorageWalk *walk, const Mount *mount) {
        char number[32], path[PATH_MAX];
        int r;

        /* A mount point can have any name, and the chain is printed on terminals. */
        for (const char *p = mount->point; *p; p++)
                text_appendf(&walk->chain, "%c", (unsigned char)*p < 0x20 || *p == 0x7f ? '?' : *p);
        if (*mount->type)
                text_appendf(&walk->chain, ": %s", mount->type);
        text_append(&walk->chain, " on ");
        if (mount->major != 0) {
                (void)snprintf(number, sizeof(number), "%u:%u", mount->major, mount->minor);
                if (sysfs_resolve(walk->sysroot, path, "dev/block/%s", number) < 0 &&
                    block_find_by_file(walk->sysroot, "dev", number, path) <
                            0) /* dumps often lack sys/dev */
                        return -ENODEV;
                return storage_add_device(walk, path);
        }
        /* File systems whose number is not that of a device, although they are on devices.
         * bcachefs names all of its devices as its source: "/dev/sda:/dev/sdb". */
        if (strcmp(mount->type, "bcachefs") == 0) {
                _cleanup_free_ char *copy = strdup(mount->source);
                char *rest = copy;
                bool found = false;

                if (!copy)
                        return -ENOMEM;
                for (char *one; (one = strsep(&rest, ":"));) {
                        if (block_find_by_name(walk->sysroot, one, path) < 0)
                                continue;
                        text_append(&walk->chain, found ? ", " : "");
                        r = storage_add_device(walk, path);
                        if (r < 0)
                                return r;
                        found = true;
                }
                return found ? 0 : -ENODEV;
        }
        if (strcmp(mount->type, "btrfs") != 0 ||
            block_find_by_name(walk->sysroot, mount->source, path) < 0)
                return -ENODEV;
        r = storage_add_device(walk, path);
        return r < 0 ? r : storage_add_others(walk, basename(path));
}

/* `table` is searched for the file of a loop device. As storage_find(). */
static int storage_find_by_mount(const Sysroot *sysroot, const MountTable *table,
                                 const Mount *mount, StorageDevices *ret) {
        _cleanup_(storage_walk_done) StorageWalk walk = { .sysroot = sysroot, .table = table };
        StorageDevices storage = { 0 };
        int r = storage_add_mount(&walk, mount);

        if (r < 0 || walk.chain.error < 0)
                return r < 0 ? r : walk.chain.error;
        storage.disks = TAKE_STRUCT(walk.disks);
        storage.chain = TAKE_PTR(walk.chain.data);
        for (size_t i = 0; i < storage.disks.n_devices; i++)
                if (storage.disks.devices[i].node != DEVICE_NODE_UNKNOWN)
                        id_set_add(&storage.nodes, (uint32_t)storage.disks.devices[i].node);
        *ret = storage;
        return 0;
}

int storage_find(const Sysroot *sysroot, const char *mountinfo, const char *dir,
                 StorageDevices *ret) {
        _cleanup_mount_table_ MountTable table = { 0 };
        const Mount *mount;
        int r = mountinfo_parse(mountinfo, &table);

        if (r < 0)
                return r;
        mount = mount_table_find(&table, dir);
        return mount ? storage_find_by_mount(sysroot, &table, mount, ret) : -ENOENT;
}

/* --- the mount of a directory ---
 *
 * On the live machine the kernel reports the mount of the opened directory, with links and chroots
 * resolved. In a dump there are only paths. */

int storage_find_process(const Sysroot *sysroot, int proc_pid_fd, const char *dir,
                         StorageDevices *ret) {
        _cleanup_mount_table_ MountTable table = { 0 };
        _cleanup_free_ char *mountinfo = NULL;
        _cleanup_close_ int root_fd = -EBADF, fd = -ENOENT;
        const Mount *mount;
        char path[PATH_MAX];
        struct stat st;
        uint64_t id;
        int r;

        if (!sysroot->live) {
                /* ".." depends on links, which no dump shows. */
                if (dir[0] != '/' || path_has_dot_dot(dir))
                        return -EINVAL;
                r = path_read_alloc(proc_pid_fd, &mountinfo, NULL, "mountinfo");
                if (r == -ENOENT) /* many dumps hold the host's mounts only */
                        r = path_read_alloc(sysroot->proc_fd, &mountinfo, NULL, "1/mountinfo");
                return r < 0 ? r : storage_find(sysroot, mountinfo, dir, ret);
        }
        root_fd = path_open(proc_pid_fd, O_PATH | O_DIRECTORY, "root");
        r = root_fd < 0 ? root_fd : path_read_alloc(proc_pid_fd, &mountinfo, NULL, "mountinfo");
        if (r < 0)
                return mountinfo_error(r);
        if (dir[0] != '/' || strlen(dir) >= sizeof(path))
                return -EINVAL;
        /* A directory that does not exist yet will be where the one above it is. */
        (void)strcpy(path, dir);
        do
                fd = open_below(root_fd, path);
        while ((fd == -ENOENT || fd == -ENOTDIR) && path_cut_last(path));
        if (fd < 0)
                return fd;
        r = mountinfo_parse(mountinfo, &table);
        if (r >= 0)
                r = mount_id_read(sysroot, fd, &id);
        if (r < 0)
                return r;
        mount = mount_table_find_id(&table, id);
        if (mount)
                return storage_find_by_mount(sysroot, &table, mount, ret);
        /* In a chroot whose root is no mount point, mountinfo does not show its mount. */
        return fstat(fd, &st) < 0 ? -errno
                                  : storage_find_by_mount(sysroot, &table,
                                                          &(Mount){ .point = dir,
                                                                    .type = "",
                                                                    .source = "",
                                                                    .major = major(st.st_dev),
                                                                    .minor = minor(st.st_dev) },
                                                          ret);
}

/* --- the data directory of a process: by its command line --- */

static bool looks_like_path(const char *text) {
        return text[0] == '/' || text[0] == '.';
}

/* The value behind a long option's `name`; `next` is the argument after this one, or NULL. */
static const char *long_value(const char *argument, const char *name, const char *next) {
        size_t length = strlen(name);

        if (*argument++ != '-')
                return NULL;
        argument += *argument == '-';
        if (strncmp(argument, name, length) != 0)
                return NULL;
        if (argument[length] == '=')
                return argument + length + 1;
        return argument[length] == '\0' ? next : NULL;
}

/* "-s DIR", "-s=DIR", "-sDIR". The last two only with a value that begins like a path: the options
 * of Go programs begin with one dash as well ("-status=10080"). */
static const char *short_value(const char *argument, char name, const char *next) {
        if (argument[0] != '-' || argument[1] != name)
                return NULL;
        argument += 2;
        if (*argument == '\0')
                return next;
        argument += *argument == '=';
        return looks_like_path(argument) ? argument : NULL;
}

const char *data_dir_parse_cmdline(const char *bytes, size_t size) {
        const char *data_dir = NULL, *next;
        const char *argument = cmdline_next(bytes, size, NULL); /* the program's name */

        for (argument = argument ? cmdline_next(bytes, size, argument) : NULL; argument;
             argument = next) {
                const char *value;

                next = cmdline_next(bytes, size, argument);
                value = long_value(argument, "data-dir", next);
                if (!value) {
                        value = long_value(argument, "store", next);
                        if (value && !looks_like_path(value))
                                value = NULL; /* TiDB's --store=tikv is the kind of its store */
                }
                if (!value)
                        value = short_value(argument, 's', next);
                if (!value)
                        continue;
                data_dir = value;
                if (value == next)
                        next = cmdline_next(bytes, size, value);
        }
        return data_dir && *data_dir ? data_dir : NULL;
}

/* --- paths --- */

/* Appends the parts of `path` to `out` but for "." and empty ones. ".." stays: what it means
 * depends on links. */
static int append_parts(char *out, size_t *length, const char *path) {
        while (*path) {
                size_t n = strcspn(path, "/");

                if (n > 0 && !(n == 1 && path[0] == '.')) {
                        if (*length + n + 2 > PATH_MAX)
                                return -EBADMSG;
                        out[(*length)++] = '/';
                        memcpy(out + *length, path, n);
                        *length += n;
                }
                path += n + (path[n] == '/');
        }
        return 0;
}

int data_dir_join(const char *base, const char *path, char **ret) {
        char joined[PATH_MAX];
        size_t length = 0;
        int r = 0;

        if (path[0] != '/') {
                if (!base)
                        return -ENODATA;
                if (base[0] != '/')
                        return -EBADMSG;
                r = append_parts(joined, &length, base);
        }
        if (r >= 0)
                r = append_parts(joined, &length, path);
        if (r < 0)
                return r;
        if (length == 0)
                joined[length++] = '/';
        joined[length] = '\0';
        if (utf8_has_control(joined))
                return -EBADMSG;
        *ret = strdup(joined);
        return *ret ? 0 : -ENOMEM;
}

/* A link of /proc/PID. -ENODATA: it is too long, or its target is gone. */
static int read_process_link(const ProcHandle *handle, const char *name, char *buffer) {
        ssize_t n = path_read_link(handle->dir_fd, buffer, PATH_MAX, "%s", name);

        if (n < 0)
                return n == -ENAMETOOLONG ? -ENODATA : proc_error((int)n);
        return text_ends_with(buffer, " (deleted)") ? -ENODATA : 0;
}

/* The process's view of a path from a link in /proc, which begins at the root of its mount
 * namespace, though the process may live in a chroot. NULL: outside of that. */
static const char *below_root(const char *root, const char *path) {
        size_t length = strcmp(root, "/") == 0 ? 0 : strlen(root);

        if (path[0] != '/' || strncmp(path, root, length) != 0)
                return NULL;
        if (path[length] == '\0')
                return "/";
        return path[length] == '/' ? path + length : NULL;
}

/* The process whose directory is wanted. */
typedef struct DirSearch {
        const Sysroot *sysroot;
        const ProcHandle *handle;
        char root[PATH_MAX];
        char cwd[PATH_MAX]; /* working directory as the process sees it; empty: not known */
        size_t n_checked;   /* of its open files, at how they are open */
        char *found;        /* owned */
} DirSearch;

/* --- the open files --- */

static int check_file(int fd, const char *target, void *userdata) {
        DirSearch *search = userdata;
        static const char flags_key[] = "flags:";
        const char *slash = strrchr(target, '/'), *name = slash ? slash + 1 : "", *path, *flags;
        const size_t digits = strspn(name, "0123456789");
        const bool is_lock = strcmp(name, "LOCK") == 0;
        char folder[PATH_MAX], text[1024];
        int r;

        /* "000123.log", "000123.sst": RocksDB's names. A program's own log has a name of letters.
         */
        if (!is_lock &&
            (search->found || digits == 0 ||
             (strcmp(name + digits, ".log") != 0 && strcmp(name + digits, ".sst") != 0)))
                return 0;
        if (search->n_checked++ >= OTHERS_DATA_FILES_MAX)
                return -ECANCELED;
        /* Is it open for writing? "flags:\t0100002" of /proc/PID/fdinfo/FD, proc(5), in octal. A
         * dump has no such file. */
        if (path_read(search->handle->dir_fd, text, sizeof(text), "fdinfo/%d", fd) >= 0) {
                flags = strstr(text, flags_key);
                if (!flags || (strtoul(flags + strlen(flags_key), NULL, 8) & O_ACCMODE) == O_RDONLY)
                        return 0;
        } else if (search->sysroot->live) {
                return 0;
        }
        (void)snprintf(folder, sizeof(folder), "%.*s", (int)(slash - target), target);
        path = below_root(search->root, slash == target ? "/" : folder);
        if (!path)
                return is_lock && search->found ? -ECANCELED : 0;
        free(search->found);
        search->found = NULL;
        r = data_dir_join(NULL, path, &search->found);
        return r < 0 || !is_lock ? r : -ECANCELED;
}

int data_dir_read(const Sysroot *sysroot, const ProcHandle *handle, char **ret) {
        DirSearch search = { .sysroot = sysroot, .handle = handle, .root = "/" };
        _cleanup_free_ char *cmdline = NULL;
        char link[PATH_MAX];
        const char *cwd, *data_dir;
        size_t size;
        int r = sysroot->live ? read_process_link(handle, "root", search.root) : 0;

        if (r >= 0) {
                r = read_process_link(handle, "cwd", link);
                cwd = r >= 0 ? below_root(search.root, link) : NULL;
                if (cwd)
                        (void)strcpy(search.cwd, cwd);
                if (r == -ENODATA || r == -ESRCH)
                        r = 0; /* a dump may lack it; a process that is gone is noticed at the end
                                */
        }
        if (r >= 0)
                r = cmdline_read(handle, &cmdline, &size);
        if (r >= 0) {
                data_dir = data_dir_parse_cmdline(cmdline, size);
                r = data_dir ? data_dir_join(search.cwd[0] ? search.cwd : NULL, data_dir,
                                             &search.found)
                             : -ENODATA;
        }
        if (r == -ENODATA) {
                r = open_files_foreach(handle, check_file, &search);
                if (search.found)
                        r = 0;
                else if (r >= 0 || r == -ECANCELED)
                        r = -ENODATA;
        }
        if (!proc_is_alive(handle))
                r = -ESRCH;
        if (r < 0) {
                free(search.found);
                return r;
        }
        *ret = search.found;
        return 0;
}
