#include <errno.h>
#include <string.h>

#include "tidbnumad/sys/sysfs-device.h"
#include "tidbnumad/world/block-stack.h"
#include "tidbnumad/world/disk.h"

enum {
        LEVELS_MAX = 16,   /* encrypted volumes on LVM on md on partitions are 6 */
        DEVICES_MAX = 512, /* /sys has no circles; a broken dump may */
};

/* --- which device --------------------------------------------------------------------------- */

static int resolve_class(const Sysroot *sysroot, const char *name, char ret[static PATH_MAX]) {
        return sysfs_resolve_in(sysroot, "class/block", name, ret) < 0 ? -ENODEV : 0;
}

/* A search for a device by the content of one of its files. */
typedef struct Search {
        const Sysroot *sysroot;
        const char *file;
        const char *content;
        char *path;
} Search;

static int compare_file(const char *name, void *userdata) {
        Search *search = userdata;
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
        Search search = { .sysroot = sysroot, .file = file, .content = content, .path = ret };
        int r = sysfs_foreach(sysroot, "class/block", compare_file, &search);

        return r == -ECANCELED ? 0 : -ENODEV;
}

int block_stack_resolve_number(const Sysroot *sysroot, uint32_t major, uint32_t minor,
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

int block_stack_resolve_name(const Sysroot *sysroot, const char *name, char ret[static PATH_MAX]) {
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

typedef struct Walk {
        const Sysroot *sysroot;
        DeviceList *disks;
        Text *chain;
        size_t n_devices;
} Walk;

/* Names in their order: a device list sorts them; what else a device has stays empty. */
static int add_name(const char *name, void *userdata) {
        _cleanup_(device_done) Device device = { .kind = DEVICE_DISK, .name = strdup(name) };

        return device.name ? device_list_add(userdata, &device) : -ENOMEM;
}

/* "lvm", "crypt", "raid1"; of the device mapper's others the first word of their uuid. */
static void append_kind(Walk *walk, const char *path) {
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

static int add_disk(Walk *walk, const char *path) {
        _cleanup_(device_done) Device device = { 0 };
        int r;

        if (!disk_is_whole(walk->sysroot, path) ||
            device_list_find(walk->disks, DEVICE_DISK, basename(path)))
                return 0;
        r = disk_load(walk->sysroot, path, &device);
        return r < 0 ? r : device_list_add(walk->disks, &device);
}

static int walk_down(Walk *walk, const char *path, unsigned level);

static int walk_slaves(Walk *walk, const char *path, const DeviceList *slaves, unsigned level) {
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

static int walk_down(Walk *walk, const char *path, unsigned level) {
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

int block_stack_add(const Sysroot *sysroot, const char *path, DeviceList *disks, Text *chain) {
        Walk walk = { .sysroot = sysroot, .disks = disks, .chain = chain };
        int r = walk_down(&walk, path, 0);

        return r < 0 ? r : chain->error;
}
