/* Settings of the kernel that belong to no process. */
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/text.h"
#include "tidbnumad/change/setting.h"
#include "tidbnumad/sys/atomic-file.h"
#include "tidbnumad/sys/devices.h"
#include "tidbnumad/sys/self.h"

/* --- the kinds --- */

/* The file is `folder`, then the number and `file`, where there is one. */
static const struct {
        const char *folder, *file;
        enum { FORM_LIST, FORM_MASK, FORM_NUMBER } form;
} KINDS[N_SETTING_KINDS] = {
        [SETTING_VECTOR] = { "irq/", "/smp_affinity_list", FORM_LIST },
        [SETTING_XPS] = { "queues/tx-", "/xps_cpus", FORM_MASK },
        [SETTING_RPS] = { "queues/rx-", "/rps_cpus", FORM_MASK },
        [SETTING_NUMA_BALANCING] = { "sys/kernel/numa_balancing", NULL, FORM_NUMBER },
};

int setting_parse(SettingKind kind, const char *text, SettingValue *ret) {
        SettingValue value = { 0 };
        uint64_t number = 0;
        int r = KINDS[kind].form == FORM_LIST   ? id_set_parse_list(text, &value.cpus)
                : KINDS[kind].form == FORM_MASK ? id_set_parse_mask(text, &value.cpus)
                                                : parse_u64(text, &number);

        if (r < 0)
                return r;
        value.number = (uint32_t)number;
        *ret = value;
        return 0;
}

int setting_render(SettingKind kind, const SettingValue *value,
                   char buffer[static SETTING_TEXT_MAX]) {
        int n = KINDS[kind].form == FORM_LIST
                        ? id_set_render_list(&value->cpus, buffer, SETTING_TEXT_MAX)
                : KINDS[kind].form == FORM_MASK
                        ? id_set_render_mask(&value->cpus, buffer, SETTING_TEXT_MAX)
                        : snprintf(buffer, SETTING_TEXT_MAX, "%u", value->number);

        return n < 0 ? n : 0;
}

int setting_path(const SettingKey *key, char buffer[static SETTING_TEXT_MAX]) {
        const char *name = key->device;

        if (setting_is_queue(key->kind) &&
            (*name == '\0' || strlen(name) >= 64 || strchr(name, '/') || strcmp(name, ".") == 0 ||
             strcmp(name, "..") == 0 || key->ifindex == 0))
                return -EINVAL;
        if (KINDS[key->kind].file)
                (void)snprintf(buffer, SETTING_TEXT_MAX, "%s%u%s", KINDS[key->kind].folder,
                               key->number, KINDS[key->kind].file);
        else
                (void)snprintf(buffer, SETTING_TEXT_MAX, "%s", KINDS[key->kind].folder);
        return 0;
}

/* --- interfaces --- */

/* The folder of the interface, which of a renamed one stays valid, or -ENODEV: it is another one.
 * The index is read through the opened folder, for the name may be another interface's by then. */
static int interface_open(const Sysroot *sysroot, const char *name, uint32_t ifindex) {
        _cleanup_close_ int fd =
                path_open(sysroot->sys_fd, O_PATH | O_DIRECTORY, "class/net/%.64s", name);
        uint64_t its;

        if (fd < 0)
                return fd == -ENOENT || fd == -ENOTDIR ? -ENODEV : fd;
        if (path_read_u64(fd, UINT64_MAX, &its, "ifindex") < 0 || its != ifindex)
                return -ENODEV;
        return TAKE_FD(fd);
}

/* The file is `ret_path` below the folder that is returned; the caller closes it. */
static int setting_open_folder(const Sysroot *sysroot, const SettingKey *key,
                               char ret_path[static SETTING_TEXT_MAX]) {
        _cleanup_closedir_ DIR *dir = NULL;
        const char *name;
        int fd, r = setting_path(key, ret_path);

        if (r < 0)
                return r;
        if (!setting_is_queue(key->kind)) {
                r = openat(sysroot->proc_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
                return r < 0 ? -errno : r;
        }
        /* An interface by its last known name; after a rename by its index. */
        fd = interface_open(sysroot, key->device, key->ifindex);
        r = fd == -ENODEV ? path_open_dir(sysroot->sys_fd, &dir, "class/net") : 0;
        if (r < 0)
                return r == -ENOENT ? -ENODEV : r;
        while (fd == -ENODEV && (name = path_next(dir)))
                fd = interface_open(sysroot, name, key->ifindex);
        return fd;
}

/* --- the files --- */

static int setting_read_file(const Sysroot *sysroot, const SettingKey *key,
                             char buffer[static SETTING_TEXT_MAX]) {
        char path[SETTING_TEXT_MAX];
        _cleanup_close_ int dir_fd = setting_open_folder(sysroot, key, path);
        ssize_t n;

        if (dir_fd < 0)
                return dir_fd;
        n = path_read(dir_fd, buffer, SETTING_TEXT_MAX, "%s", path);
        return n < 0 ? (int)n : 0;
}

static int setting_write_file(const Sysroot *sysroot, const SettingKey *key, const char *text) {
        char path[SETTING_TEXT_MAX];
        _cleanup_close_ int dir_fd = setting_open_folder(sysroot, key, path);
        _cleanup_close_ int fd = -EBADF;
        struct stat st;
        ssize_t n;
        int raised;

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
        /* The kernel wants CAP_NET_ADMIN for the CPUs of a queue, and the daemon has put it down.
         */
        raised = capability_set_effective(CAP_NET_ADMIN, true);
        do
                n = write(fd, text, strlen(text));
        while (n < 0 && errno == EINTR);
        if (n < 0)
                n = -errno;
        if (raised > 0)
                (void)capability_set_effective(CAP_NET_ADMIN, false);
        if (n < 0)
                return (int)n;
        return (size_t)n == strlen(text) ? 0 : -EMSGSIZE;
}

const SettingOps SETTING_FILES = { .read = setting_read_file, .write = setting_write_file };

/* --- applying --- */

static int write_value(const SettingOps *ops, const Sysroot *sysroot, const SettingKey *key,
                       const SettingValue *value) {
        char text[SETTING_TEXT_MAX];
        int r = setting_render(key->kind, value, text);

        return r < 0 ? r : ops->write(sysroot, key, text);
}

int setting_apply(const SettingOps *ops, const Sysroot *sysroot, const SettingKey *key,
                  const SettingValue *wanted, const uint32_t *order, size_t n_order,
                  SettingValue *ret_ours) {
        SettingValue given = *wanted, shown;
        char text[SETTING_TEXT_MAX];
        int r = write_value(ops, sysroot, key, wanted);

        /* Tries the other CPUs that serve the device, one after the other. */
        for (size_t i = 0; r == -ENOSPC && key->kind == SETTING_VECTOR && i < n_order; i++) {
                SettingValue one = { 0 };

                id_set_add(&one.cpus, order[i]);
                if (setting_value_equal(&one, wanted))
                        continue;
                r = write_value(ops, sysroot, key, &one);
                if (r >= 0)
                        given = one;
        }
        if (r >= 0)
                r = ops->read(sysroot, key, text);
        if (r >= 0)
                r = setting_parse(key->kind, text, &shown);
        if (r < 0)
                return r;
        if (!setting_value_equal(&shown, &given))
                return -EAGAIN;
        *ret_ours = given;
        return 0;
}
