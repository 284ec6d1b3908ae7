/* The disks of a directory: its mount, the file system on it, and the devices below that. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "tidbnumad/sys/mountinfo.h"
#include "tidbnumad/sys/open-below.h"
#include "tidbnumad/sys/sysfs-device.h"
#include "tidbnumad/world/block-stack.h"
#include "tidbnumad/world/devices-load.h"

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
        r = read_file_alloc_at(proc_fd, name, &mountinfo, NULL);
        return r < 0 ? r : storage_find(sysroot, mountinfo, dir, ret);
}

static int find_of_process(const Sysroot *sysroot, int proc_pid_fd, const char *dir,
                           StorageDevices *ret) {
        _cleanup_free_ char *mountinfo = NULL;
        _cleanup_close_ int root = openat(proc_pid_fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
        int r;

        if (root < 0)
                return mountinfo_error(-errno);
        r = read_file_alloc_at(proc_pid_fd, "mountinfo", &mountinfo, NULL);
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
