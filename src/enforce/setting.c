#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/text.h"
#include "tidbnumad/enforce/setting.h"
#include "tidbnumad/sys/devices.h"
#include "tidbnumad/sys/self.h"

/* --- which file --- */

static bool may_be_in_path(const char *name) {
        return *name && strlen(name) < 64 && !strchr(name, '/') && strcmp(name, ".") != 0 &&
               strcmp(name, "..") != 0;
}

int setting_path(const SettingKey *key, char buffer[static SETTING_TEXT_MAX]) {
        const size_t size = SETTING_TEXT_MAX;

        if (setting_is_queue(key->kind) && (!may_be_in_path(key->device) || key->ifindex == 0))
                return -EINVAL;
        switch (key->kind) {
        case SETTING_VECTOR:
                (void)snprintf(buffer, size, "irq/%u/smp_affinity_list", key->number);
                return 0;
        case SETTING_XPS:
                (void)snprintf(buffer, size, "queues/tx-%u/xps_cpus", key->number);
                return 0;
        case SETTING_RPS:
                (void)snprintf(buffer, size, "queues/rx-%u/rps_cpus", key->number);
                return 0;
        case SETTING_NUMA_BALANCING:
                (void)snprintf(buffer, size, "sys/kernel/numa_balancing");
                return 0;
        case N_SETTING_KINDS:
                break;
        }
        return -EINVAL;
}

/* --- interfaces --- */

typedef struct Search {
        const Sysroot *sysroot;
        uint32_t ifindex;
        int fd; /* its folder; of a renamed interface it stays valid */
} Search;

/* -EEXIST: found. The index is read through the opened folder, for the name may be another
 * interface's by then. */
static int try_interface(const char *name, void *userdata) {
        Search *search = userdata;
        _cleanup_close_ int fd =
                path_open(search->sysroot->sys_fd, O_PATH | O_DIRECTORY, "class/net/%.64s", name);
        uint64_t ifindex;

        if (fd < 0)
                return fd == -ENOENT || fd == -ENOTDIR ? 0 : fd;
        if (path_read_u64(fd, UINT64_MAX, &ifindex, "ifindex") < 0 || ifindex != search->ifindex)
                return 0;
        search->fd = TAKE_FD(fd);
        return -EEXIST;
}

/* By its last known name; after a rename by its index. The caller closes the folder. */
static int open_interface(const Sysroot *sysroot, const SettingKey *key) {
        Search search = { .sysroot = sysroot, .ifindex = key->ifindex };
        int r = try_interface(key->device, &search);

        if (r == 0)
                r = path_foreach(sysroot->sys_fd, try_interface, &search, "class/net");
        if (r == -EEXIST)
                return search.fd;
        return r == 0 || r == -ENOENT ? -ENODEV : r;
}

/* The file is `ret_path` below the folder that is returned; the caller closes it. */
static int open_folder(const Sysroot *sysroot, const SettingKey *key,
                       char ret_path[static SETTING_TEXT_MAX]) {
        int r = setting_path(key, ret_path);

        if (r < 0)
                return r;
        if (setting_is_queue(key->kind))
                return open_interface(sysroot, key);
        r = openat(sysroot->proc_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
        return r < 0 ? -errno : r;
}

/* --- the files --- */

static int read_file(const Sysroot *sysroot, const SettingKey *key,
                     char buffer[static SETTING_TEXT_MAX]) {
        char path[SETTING_TEXT_MAX];
        _cleanup_close_ int dir_fd = open_folder(sysroot, key, path);
        ssize_t n;

        if (dir_fd < 0)
                return dir_fd;
        n = path_read(dir_fd, buffer, SETTING_TEXT_MAX, "%s", path);
        return n < 0 ? (int)n : 0;
}

/* The kernel wants CAP_NET_ADMIN for the CPUs of a queue, and the daemon has put it down. */
static ssize_t write_as_network_admin(int fd, const char *text) {
        const int raised = capability_set_effective(CAP_NET_ADMIN, true);
        ssize_t n;

        do
                n = write(fd, text, strlen(text));
        while (n < 0 && errno == EINTR);
        if (n < 0)
                n = -errno;
        if (raised > 0)
                (void)capability_set_effective(CAP_NET_ADMIN, false);
        return n;
}

static int write_file(const Sysroot *sysroot, const SettingKey *key, const char *text) {
        char path[SETTING_TEXT_MAX];
        _cleanup_close_ int dir_fd = open_folder(sysroot, key, path);
        _cleanup_close_ int fd = -EBADF;
        struct stat st;
        ssize_t n;

        if (dir_fd < 0)
                return dir_fd;
        /* Linux 6.12 and later show a vector of their own by the mode. */
        if (fstatat(dir_fd, path, &st, 0) < 0)
                return -errno;
        if ((st.st_mode & S_IWUSR) == 0)
                return -EPERM;
        fd = openat(dir_fd, path, O_WRONLY | O_CLOEXEC | O_NONBLOCK);
        if (fd < 0)
                return errno == EROFS ? -EPERM : -errno; /* /proc/sys, see the daemon's unit */
        n = write_as_network_admin(fd, text);
        if (n < 0)
                return (int)n;
        return (size_t)n == strlen(text) ? 0 : -EMSGSIZE;
}

const SettingOps SETTING_FILES = { .read = read_file, .write = write_file };

/* --- values --- */

int setting_parse(SettingKind kind, const char *text, SettingValue *ret) {
        SettingValue value = { 0 };
        uint64_t number = 0;
        int r;

        if (kind == SETTING_VECTOR)
                r = id_set_parse_list(text, &value.cpus);
        else if (setting_is_mask(kind))
                r = id_set_parse_mask(text, &value.cpus);
        else
                r = parse_u64(text, &number);
        if (r < 0)
                return r;
        value.number = (uint32_t)number;
        *ret = value;
        return 0;
}

int setting_render(SettingKind kind, const SettingValue *value,
                   char buffer[static SETTING_TEXT_MAX]) {
        int n;

        if (kind == SETTING_VECTOR)
                n = id_set_render_list(&value->cpus, buffer, SETTING_TEXT_MAX);
        else if (setting_is_mask(kind))
                n = id_set_render_mask(&value->cpus, buffer, SETTING_TEXT_MAX);
        else
                n = snprintf(buffer, SETTING_TEXT_MAX, "%u", value->number);
        return n < 0 ? n : 0;
}

/* --- applying --- */

static int write_value(const SettingOps *ops, const Sysroot *sysroot, const SettingKey *key,
                       const SettingValue *value) {
        char text[SETTING_TEXT_MAX];
        int r = setting_render(key->kind, value, text);

        return r < 0 ? r : ops->write(sysroot, key, text);
}

static int read_value(const SettingOps *ops, const Sysroot *sysroot, const SettingKey *key,
                      SettingValue *ret) {
        char text[SETTING_TEXT_MAX];
        int r = ops->read(sysroot, key, text);

        return r < 0 ? r : setting_parse(key->kind, text, ret);
}

/* Tries the other CPUs that serve the device, one after the other. */
static int write_elsewhere(const SettingOps *ops, const Sysroot *sysroot, const SettingKey *key,
                           const SettingValue *wanted, const uint32_t *order, size_t n_order,
                           SettingValue *ret) {
        int r = -ENOSPC;

        for (size_t i = 0; i < n_order && r == -ENOSPC; i++) {
                SettingValue one = { 0 };

                id_set_add(&one.cpus, order[i]);
                if (setting_value_equal(&one, wanted))
                        continue;
                r = write_value(ops, sysroot, key, &one);
                if (r >= 0)
                        *ret = one;
        }
        return r;
}

int setting_apply(const SettingOps *ops, const Sysroot *sysroot, const SettingKey *key,
                  const SettingValue *wanted, const uint32_t *order, size_t n_order,
                  SettingValue *ret_ours) {
        SettingValue given = *wanted, shown;
        int r = write_value(ops, sysroot, key, wanted);

        if (r == -ENOSPC && key->kind == SETTING_VECTOR)
                r = write_elsewhere(ops, sysroot, key, wanted, order, n_order, &given);
        if (r >= 0)
                r = read_value(ops, sysroot, key, &shown);
        if (r < 0)
                return r;
        if (!setting_value_equal(&shown, &given))
                return -EAGAIN;
        *ret_ours = given;
        return 0;
}
