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
#include "tidbnumad/base/utf8.h"
#include "tidbnumad/sys/devices.h"
#include "tidbnumad/sys/namespace.h"
#include "tidbnumad/sys/proc.h"
#include "tidbnumad/world/devices.h"
#include "tidbnumad/world/storage.h"

/* --- block-stack --- */

enum {
        LEVELS_MAX = 16,   /* encrypted volumes on LVM on md on partitions are 6 */
        DEVICES_MAX = 512, /* /sys has no circles; a broken dump may */
};

/* --- which device --------------------------------------------------------------------------- */

static int resolve_class(const Sysroot *sysroot, const char *name, char ret[static PATH_MAX]) {
        return sysfs_resolve_in(sysroot, "class/block", name, ret) < 0 ? -ENODEV : 0;
}

/* A search for a device by the content of one of its files. */
typedef struct BlockSearch {
        const Sysroot *sysroot;
        const char *file;
        const char *content;
        char *path;
} BlockSearch;

static int compare_file(const char *name, void *userdata) {
        BlockSearch *search = userdata;
        char path[PATH_MAX], text[256];

        if (resolve_class(search->sysroot, name, path) < 0 ||
            sysfs_read(search->sysroot, path, search->file, text, sizeof(text)) <= 0 ||
            strcmp(text, search->content) != 0)
                return 0;
        (void)strcpy(search->path, path);
        return -ECANCELED;
}

static int find_by_file(const Sysroot *sysroot, const char *file, const char *content,
                        char ret[static PATH_MAX]) {
        BlockSearch search = { .sysroot = sysroot, .file = file, .content = content, .path = ret };
        int r = sysfs_foreach(sysroot, "class/block", compare_file, &search);

        return r == -ECANCELED ? 0 : -ENODEV;
}

static int block_stack_resolve_number(const Sysroot *sysroot, uint32_t major, uint32_t minor,
                                      char ret[static PATH_MAX]) {
        char number[32], path[64];

        (void)snprintf(number, sizeof(number), "%u:%u", major, minor);
        (void)snprintf(path, sizeof(path), "dev/block/%s", number);
        if (sysfs_resolve(sysroot, path, ret) >= 0)
                return 0;
        return find_by_file(sysroot, "dev", number, ret); /* dumps often lack sys/dev */
}

/* As LVM names volumes for the device mapper: "vg/data" is "vg-data", and hyphens are doubled. */
static bool render_volume(const char *name, char *buffer, size_t size) {
        size_t length = 0;

        for (; *name; name++) {
                if (length + 3 > size)
                        return false;
                if (*name == '-')
                        buffer[length++] = '-';
                buffer[length++] = *name == '/' ? '-' : *name;
        }
        buffer[length] = '\0';
        return true;
}

static int block_stack_resolve_name(const Sysroot *sysroot, const char *name,
                                    char ret[static PATH_MAX]) {
        static const char dev[] = "/dev/", mapper[] = "/dev/mapper/";
        char volume[256];

        if (strncmp(name, mapper, strlen(mapper)) == 0)
                return find_by_file(sysroot, "dm/name", name + strlen(mapper), ret);
        if (strncmp(name, dev, strlen(dev)) != 0)
                return -ENODEV;
        name += strlen(dev);
        if (!strchr(name, '/'))
                return *name && name[0] != '.' ? resolve_class(sysroot, name, ret) : -ENODEV;
        if (!render_volume(name, volume, sizeof(volume)))
                return -ENODEV;
        return find_by_file(sysroot, "dm/name", volume, ret);
}

/* --- the devices below --- */

typedef struct BlockWalk {
        const Sysroot *sysroot;
        DeviceList *disks;
        Text *chain;
        size_t n_devices;
} BlockWalk;

/* Names in their order: a device list sorts them; what else a device has stays empty. */
static int add_name(const char *name, void *userdata) {
        _cleanup_(device_done) Device device = { .kind = DEVICE_DISK, .name = strdup(name) };

        return device.name ? device_list_add(userdata, &device) : -ENOMEM;
}

/* "lvm", "crypt", "raid1"; of the device mapper's others the first word of their uuid. */
static void append_kind(BlockWalk *walk, const char *path) {
        char uuid[256], level[32];

        if (sysfs_read(walk->sysroot, path, "dm/uuid", uuid, sizeof(uuid)) >= 0) {
                size_t length = strcspn(uuid, "-");

                for (size_t i = 0; i < length; i++)
                        if (uuid[i] >= 'A' && uuid[i] <= 'Z')
                                uuid[i] += 'a' - 'A';
                if (strncmp(uuid, "mpath-", 6) == 0)
                        text_append(walk->chain, " (multipath)");
                else if (uuid[length] == '-' && length > 0)
                        text_appendf(walk->chain, " (%.*s)", (int)length, uuid);
                else
                        text_append(walk->chain, " (device mapper)");
        } else if (sysfs_read(walk->sysroot, path, "md/level", level, sizeof(level)) > 0)
                text_appendf(walk->chain, " (%s)", level);
}

static int add_disk(BlockWalk *walk, const char *path) {
        _cleanup_(device_done) Device device = { 0 };
        int r;

        if (!disk_is_whole(walk->sysroot, path) ||
            device_list_find(walk->disks, DEVICE_DISK, basename(path)))
                return 0;
        r = disk_load(walk->sysroot, path, &device);
        return r < 0 ? r : device_list_add(walk->disks, &device);
}

static int walk_down(BlockWalk *walk, const char *path, unsigned level);

static int walk_slaves(BlockWalk *walk, const char *path, const DeviceList *slaves,
                       unsigned level) {
        const char *before = slaves->n_devices > 1 ? " on [" : " on ";
        int r = 0;

        append_kind(walk, path);
        for (size_t i = 0; i < slaves->n_devices && r >= 0; i++) {
                char below[PATH_MAX];

                text_append(walk->chain, i == 0 ? before : ", ");
                if (resolve_class(walk->sysroot, slaves->devices[i].name, below) >= 0)
                        r = walk_down(walk, below, level + 1);
                else
                        text_append(walk->chain, slaves->devices[i].name);
        }
        if (slaves->n_devices > 1)
                text_append(walk->chain, "]");
        return r;
}

static int walk_down(BlockWalk *walk, const char *path, unsigned level) {
        _cleanup_device_list_ DeviceList slaves = { 0 };
        char folder[PATH_MAX];
        int r;

        text_append(walk->chain, basename(path));
        if (level == LEVELS_MAX || walk->n_devices++ >= DEVICES_MAX ||
            snprintf(folder, sizeof(folder), "%s/slaves", path) >= PATH_MAX)
                return 0;
        if (disk_is_partition(walk->sysroot, path)) {
                (void)strcpy(folder, path);
                (void)sysfs_to_parent(folder);
                text_append(walk->chain, " on ");
                return walk_down(walk, folder, level + 1);
        }
        r = sysfs_foreach(walk->sysroot, folder, add_name, &slaves);
        if (r == -ENOMEM)
                return r;
        return slaves.n_devices > 0 ? walk_slaves(walk, path, &slaves, level)
                                    : add_disk(walk, path);
}

static int block_stack_add(const Sysroot *sysroot, const char *path, DeviceList *disks,
                           Text *chain) {
        BlockWalk walk = { .sysroot = sysroot, .disks = disks, .chain = chain };
        int r = walk_down(&walk, path, 0);

        return r < 0 ? r : chain->error;
}

/* --- storage --- */

/* The disks of a directory: its mount, the file system on it, and the devices below that. */

enum {
        LOOPS_MAX = 4, /* loop devices whose file is on a loop device */
};

void storage_devices_done(StorageDevices *storage) {
        device_list_done(&storage->disks);
        free(storage->chain);
        *storage = (StorageDevices){ 0 };
}

typedef struct Walk {
        const Sysroot *sysroot;
        const MountTable *table;
        DeviceList disks;
        Text chain;
        unsigned n_loops;
} Walk;

static void walk_done(Walk *walk) {
        device_list_done(&walk->disks);
        text_done(&walk->chain);
}

/* A mount point can have any name, and the chain is printed on terminals. */
static void append_path(Text *text, const char *path) {
        for (const char *p = path; *p; p++)
                text_appendf(text, "%c", (unsigned char)*p < 0x20 || *p == 0x7f ? '?' : *p);
}

static int add_mount(Walk *walk, const Mount *mount);

/* The file of a loop device is on another mount. */
static int add_backing_file(Walk *walk, const char *path) {
        char file[PATH_MAX];
        const Mount *mount;

        if (sysfs_read(walk->sysroot, path, "loop/backing_file", file, sizeof(file)) <= 0 ||
            walk->n_loops++ == LOOPS_MAX)
                return 0;
        mount = mount_table_find(walk->table, file);
        if (!mount)
                return 0;
        text_append(&walk->chain, " on ");
        return add_mount(walk, mount);
}

static int add_device(Walk *walk, const char *path) {
        int r = block_stack_add(walk->sysroot, path, &walk->disks, &walk->chain);

        return r < 0 ? r : add_backing_file(walk, path);
}

/* --- file systems of several devices -------------------------------------------------------- */

/* btrfs lists the devices of each of its file systems in /sys/fs/btrfs/UUID/devices. */
typedef struct Members {
        Walk *walk;
        const char *one; /* of the file system that is searched for */
        char folder[PATH_MAX];
        size_t n;
} Members;

static int find_members(const char *uuid, void *userdata) {
        Members *members = userdata;

        if (snprintf(members->folder, sizeof(members->folder), "fs/btrfs/%s/devices", uuid) >=
            PATH_MAX)
                return 0;
        return sysfs_has(members->walk->sysroot, members->folder, members->one) ? -ECANCELED : 0;
}

static int add_member(const char *name, void *userdata) {
        Members *members = userdata;
        char path[PATH_MAX];

        if (strcmp(name, members->one) == 0 ||
            sysfs_resolve_in(members->walk->sysroot, "class/block", name, path) < 0)
                return 0;
        text_append(&members->walk->chain, ", ");
        return add_device(members->walk, path);
}

static int add_btrfs(Walk *walk, const char *path) {
        Members members = { .walk = walk, .one = basename(path) };
        int r = add_device(walk, path);

        if (r < 0)
                return r;
        if (sysfs_foreach(walk->sysroot, "fs/btrfs", find_members, &members) != -ECANCELED)
                return 0;
        return sysfs_foreach(walk->sysroot, members.folder, add_member, &members);
}

/* bcachefs names all of its devices as its source: "/dev/sda:/dev/sdb". */
static int add_sources(Walk *walk, const char *source) {
        _cleanup_free_ char *copy = strdup(source);
        char path[PATH_MAX], *rest = copy;
        bool found = false;
        int r = 0;

        if (!copy)
                return -ENOMEM;
        for (char *one; r >= 0 && (one = strsep(&rest, ":"));) {
                if (block_stack_resolve_name(walk->sysroot, one, path) < 0)
                        continue;
                text_append(&walk->chain, found ? ", " : "");
                r = add_device(walk, path);
                found = true;
        }
        return r < 0 ? r : found ? 0 : -ENODEV;
}

/* --- one mount ------------------------------------------------------------------------------ */

/* File systems whose number is not that of a device, although they are on devices. */
static int add_unnumbered(Walk *walk, const Mount *mount) {
        char path[PATH_MAX];

        if (strcmp(mount->type, "bcachefs") == 0)
                return add_sources(walk, mount->source);
        if (strcmp(mount->type, "btrfs") != 0 ||
            block_stack_resolve_name(walk->sysroot, mount->source, path) < 0)
                return -ENODEV;
        return add_btrfs(walk, path);
}

static int add_mount(Walk *walk, const Mount *mount) {
        char path[PATH_MAX];

        append_path(&walk->chain, mount->point);
        if (*mount->type)
                text_appendf(&walk->chain, ": %s", mount->type);
        text_append(&walk->chain, " on ");
        if (mount->major == 0)
                return add_unnumbered(walk, mount);
        if (block_stack_resolve_number(walk->sysroot, mount->major, mount->minor, path) < 0)
                return -ENODEV;
        return add_device(walk, path);
}

/* `table` is searched for the file of a loop device. As storage_find(). */
static int find_by_mount(const Sysroot *sysroot, const MountTable *table, const Mount *mount,
                         StorageDevices *ret) {
        _cleanup_(walk_done) Walk walk = { .sysroot = sysroot, .table = table };
        StorageDevices storage = { 0 };
        int r = add_mount(&walk, mount);

        if (r < 0 || walk.chain.error < 0)
                return r < 0 ? r : walk.chain.error;
        storage.disks = walk.disks;
        walk.disks = (DeviceList){ 0 };
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
        return mount ? find_by_mount(sysroot, &table, mount, ret) : -ENOENT;
}

/* --- the mount of a directory ---
 *
 * On the live machine the kernel reports the mount of the opened directory, with links and chroots
 * resolved. In a dump there are only paths. */

/* A directory that does not exist yet will be where the one above it is. */
static int open_nearest(int root_fd, const char *dir) {
        char path[PATH_MAX];

        if (dir[0] != '/' || strlen(dir) >= sizeof(path))
                return -EINVAL;
        (void)strcpy(path, dir);
        for (;;) {
                int fd = open_below(root_fd, path);
                char *slash;

                if (fd != -ENOENT && fd != -ENOTDIR)
                        return fd;
                slash = strrchr(path, '/');
                if (slash == path)
                        return fd == -ENOENT && path[1] == '\0' ? fd : open_below(root_fd, "/");
                *slash = '\0';
        }
}

/* In a chroot whose root is no mount point, mountinfo does not show its mount. */
static int find_by_number(const Sysroot *sysroot, const MountTable *table, int fd, const char *dir,
                          StorageDevices *ret) {
        Mount mount = { .point = dir, .type = "", .source = "" };
        struct stat st;

        if (fstat(fd, &st) < 0)
                return -errno;
        mount.major = major(st.st_dev);
        mount.minor = minor(st.st_dev);
        return find_by_mount(sysroot, table, &mount, ret);
}

static int find_live(const Sysroot *sysroot, int root_fd, const char *mountinfo, const char *dir,
                     StorageDevices *ret) {
        _cleanup_mount_table_ MountTable table = { 0 };
        _cleanup_close_ int fd = open_nearest(root_fd, dir);
        const Mount *mount;
        uint64_t id;
        int r;

        if (fd < 0)
                return fd;
        r = mountinfo_parse(mountinfo, &table);
        if (r >= 0)
                r = mount_id_read(sysroot, fd, &id);
        if (r < 0)
                return r;
        mount = mount_table_find_id(&table, id);
        return mount ? find_by_mount(sysroot, &table, mount, ret)
                     : find_by_number(sysroot, &table, fd, dir, ret);
}

static int find_dumped(const Sysroot *sysroot, int proc_fd, const char *name, const char *dir,
                       StorageDevices *ret) {
        _cleanup_free_ char *mountinfo = NULL;
        int r;

        if (dir[0] != '/' || path_has_dot_dot(dir)) /* that depends on links, which no dump shows */
                return -EINVAL;
        r = path_read_alloc(proc_fd, &mountinfo, NULL, "%s", name);
        return r < 0 ? r : storage_find(sysroot, mountinfo, dir, ret);
}

static int find_of_process(const Sysroot *sysroot, int proc_pid_fd, const char *dir,
                           StorageDevices *ret) {
        _cleanup_free_ char *mountinfo = NULL;
        _cleanup_close_ int root = openat(proc_pid_fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
        int r;

        if (root < 0)
                return mountinfo_error(-errno);
        r = path_read_alloc(proc_pid_fd, &mountinfo, NULL, "mountinfo");
        return r < 0 ? mountinfo_error(r) : find_live(sysroot, root, mountinfo, dir, ret);
}

int storage_find_process(const Sysroot *sysroot, int proc_pid_fd, const char *dir,
                         StorageDevices *ret) {
        int r;

        if (sysroot->live)
                return find_of_process(sysroot, proc_pid_fd, dir, ret);
        r = find_dumped(sysroot, proc_pid_fd, "mountinfo", dir, ret);
        /* Many dumps hold the host's mounts only. */
        if (r == -ENOENT && faccessat(proc_pid_fd, "mountinfo", F_OK, 0) < 0)
                r = find_dumped(sysroot, sysroot->proc_fd, "1/mountinfo", dir, ret);
        return r;
}

/* --- data-dir --- */

/* --- the command line ----------------------------------------------------------------------- */

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

static const char *data_dir_of(const char *argument, const char *next) {
        const char *value = long_value(argument, "data-dir", next);

        if (value)
                return value;
        value = long_value(argument, "store", next);
        if (value && !looks_like_path(value))
                value = NULL; /* TiDB's --store=tikv is the kind of its store */
        return value ? value : short_value(argument, 's', next);
}

const char *data_dir_parse_cmdline(const char *bytes, size_t size) {
        const char *data_dir = NULL, *next;
        const char *argument = cmdline_next(bytes, size, NULL); /* the program's name */

        for (argument = argument ? cmdline_next(bytes, size, argument) : NULL; argument;
             argument = next) {
                const char *value;

                next = cmdline_next(bytes, size, argument);
                value = data_dir_of(argument, next);
                if (!value)
                        continue;
                data_dir = value;
                if (value == next)
                        next = cmdline_next(bytes, size, value);
        }
        return data_dir && *data_dir ? data_dir : NULL;
}

/* --- paths ---------------------------------------------------------------------------------- */

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
static int read_link(const ProcHandle *handle, const char *name, char *buffer) {
        ssize_t n = readlinkat(handle->dir_fd, name, buffer, PATH_MAX);

        if (n < 0)
                return errno == ENOENT ? -ESRCH : -errno;
        if (n == PATH_MAX)
                return -ENODATA;
        buffer[n] = '\0';
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

static int load_root(DirSearch *search) {
        if (search->sysroot->live)
                return read_link(search->handle, "root", search->root);
        (void)strcpy(search->root, "/");
        return 0;
}

static int load_cwd(DirSearch *search) {
        char link[PATH_MAX];
        int r = read_link(search->handle, "cwd", link);
        const char *cwd;

        search->cwd[0] = '\0';
        if (r < 0) /* a dump may lack it; a process that is gone is noticed at the end */
                return r == -ENODATA || r == -ESRCH ? 0 : r;
        cwd = below_root(search->root, link);
        if (cwd)
                (void)strcpy(search->cwd, cwd);
        return 0;
}

static int search_cmdline(DirSearch *search) {
        _cleanup_free_ char *bytes = NULL;
        const char *data_dir;
        size_t size;
        int r = cmdline_read(search->handle, &bytes, &size);

        if (r < 0)
                return r;
        data_dir = data_dir_parse_cmdline(bytes, size);
        return data_dir ? data_dir_join(search->cwd[0] ? search->cwd : NULL, data_dir,
                                        &search->found)
                        : -ENODATA;
}

/* --- the open files ------------------------------------------------------------------------- */

/* "000123.log", "000123.sst": RocksDB's names. A program's own log has a name of letters. */
static bool is_numbered(const char *name) {
        size_t digits = strspn(name, "0123456789");

        return digits > 0 &&
               (strcmp(name + digits, ".log") == 0 || strcmp(name + digits, ".sst") == 0);
}

/* "flags:\t0100002" of /proc/PID/fdinfo/FD, proc(5), in octal. A dump has no such file. */
static bool is_open_for_writing(const DirSearch *search, int fd) {
        static const char key[] = "flags:";
        char name[32], text[1024];
        const char *flags;
        ssize_t n;

        (void)snprintf(name, sizeof(name), "fdinfo/%d", fd);
        n = path_read(search->handle->dir_fd, text, sizeof(text), "%s", name);
        if (n < 0)
                return !search->sysroot->live;
        flags = strstr(text, key);
        return flags && (strtoul(flags + strlen(key), NULL, 8) & O_ACCMODE) != O_RDONLY;
}

static int note_folder(DirSearch *search, const char *target, const char *slash) {
        char folder[PATH_MAX];
        const char *path;

        (void)snprintf(folder, sizeof(folder), "%.*s", (int)(slash - target), target);
        path = below_root(search->root, slash == target ? "/" : folder);
        if (!path)
                return 0;
        free(search->found);
        search->found = NULL;
        return data_dir_join(NULL, path, &search->found);
}

static int check_file(int fd, const char *target, void *userdata) {
        DirSearch *search = userdata;
        const char *slash = strrchr(target, '/');
        bool is_lock = slash && strcmp(slash, "/LOCK") == 0;
        int r;

        if (!is_lock && (search->found || !slash || !is_numbered(slash + 1)))
                return 0;
        if (search->n_checked++ >= OTHERS_DATA_FILES_MAX)
                return -ECANCELED;
        if (!is_open_for_writing(search, fd))
                return 0;
        r = note_folder(search, target, slash);
        return r < 0 || !is_lock || !search->found ? r : -ECANCELED;
}

static int search_open_files(DirSearch *search) {
        int r = open_files_foreach(search->handle, check_file, search);

        if (search->found)
                return 0;
        return r < 0 && r != -ECANCELED ? r : -ENODATA;
}

int data_dir_read(const Sysroot *sysroot, const ProcHandle *handle, char **ret) {
        DirSearch search = { .sysroot = sysroot, .handle = handle };
        int r = load_root(&search);

        if (r >= 0)
                r = load_cwd(&search);
        if (r >= 0)
                r = search_cmdline(&search);
        if (r == -ENODATA)
                r = search_open_files(&search);
        if (!proc_is_alive(handle))
                r = -ESRCH;
        if (r < 0) {
                free(search.found);
                return r;
        }
        *ret = search.found;
        return 0;
}
