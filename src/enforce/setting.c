/* Single settings of the kernel. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "tidbnumad/base/parse.h"
#include "tidbnumad/enforce/setting.h"

/* --- which file --- */

static bool may_be_in_path(const char *name) {
        return *name && strlen(name) < 64 && !strchr(name, '/') && strcmp(name, ".") != 0 &&
               strcmp(name, "..") != 0;
}

int setting_path(const SettingKey *key, bool *ret_in_proc, char buffer[static SETTING_TEXT_MAX]) {
        const size_t size = SETTING_TEXT_MAX;

        *ret_in_proc = key->kind != SETTING_XPS && key->kind != SETTING_RPS;
        if (!*ret_in_proc && !may_be_in_path(key->device))
                return -EINVAL;
        switch (key->kind) {
        case SETTING_VECTOR:
                (void)snprintf(buffer, size, "irq/%u/smp_affinity_list", key->number);
                return 0;
        case SETTING_XPS:
                (void)snprintf(buffer, size, "class/net/%s/queues/tx-%u/xps_cpus", key->device,
                               key->number);
                return 0;
        case SETTING_RPS:
                (void)snprintf(buffer, size, "class/net/%s/queues/rx-%u/rps_cpus", key->device,
                               key->number);
                return 0;
        case SETTING_NUMA_BALANCING:
                (void)snprintf(buffer, size, "sys/kernel/numa_balancing");
                return 0;
        case N_SETTING_KINDS:
                break;
        }
        return -EINVAL;
}

static int locate(const Sysroot *sysroot, const SettingKey *key, int *ret_fd,
                  char buffer[static SETTING_TEXT_MAX]) {
        bool in_proc;
        int r = setting_path(key, &in_proc, buffer);

        *ret_fd = in_proc ? sysroot->proc_fd : sysroot->sys_fd;
        return r;
}

/* --- the files --- */

static int read_file(const Sysroot *sysroot, const SettingKey *key,
                     char buffer[static SETTING_TEXT_MAX]) {
        char path[SETTING_TEXT_MAX];
        int dir_fd, r = locate(sysroot, key, &dir_fd, path);
        ssize_t n;

        if (r < 0)
                return r;
        n = read_file_at(dir_fd, path, buffer, SETTING_TEXT_MAX);
        return n < 0 ? (int)n : 0;
}

static int write_file(const Sysroot *sysroot, const SettingKey *key, const char *text) {
        _cleanup_close_ int fd = -EBADF;
        char path[SETTING_TEXT_MAX];
        int dir_fd, r = locate(sysroot, key, &dir_fd, path);
        struct stat st;
        ssize_t n;

        if (r < 0)
                return r;
        /* Linux 6.12 and later show a vector of their own by the mode. */
        if (fstatat(dir_fd, path, &st, 0) < 0)
                return -errno;
        if ((st.st_mode & S_IWUSR) == 0)
                return -EPERM;
        fd = openat(dir_fd, path, O_WRONLY | O_CLOEXEC | O_NONBLOCK);
        if (fd < 0)
                return -errno;
        do
                n = write(fd, text, strlen(text));
        while (n < 0 && errno == EINTR);
        if (n < 0)
                return -errno;
        return (size_t)n == strlen(text) ? 0 : -EMSGSIZE;
}

static int identify(const Sysroot *sysroot, const SettingKey *key,
                    char buffer[static SETTING_TEXT_MAX]) {
        char path[SETTING_TEXT_MAX];
        ssize_t n;

        *buffer = '\0';
        if (key->kind != SETTING_XPS && key->kind != SETTING_RPS)
                return 0;
        if (!may_be_in_path(key->device))
                return -EINVAL;
        (void)snprintf(path, sizeof(path), "class/net/%s/ifindex", key->device);
        n = read_file_at(sysroot->sys_fd, path, buffer, SETTING_TEXT_MAX);
        return n < 0 ? (int)n : 0;
}

const SettingOps SETTING_FILES = { .read = read_file, .write = write_file, .identify = identify };

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

/* --- putting it on --- */

static int put(const SettingOps *ops, const Sysroot *sysroot, const SettingKey *key,
               const SettingValue *value) {
        char text[SETTING_TEXT_MAX];
        int r = setting_render(key->kind, value, text);

        return r < 0 ? r : ops->write(sysroot, key, text);
}

static int look(const SettingOps *ops, const Sysroot *sysroot, const SettingKey *key,
                SettingValue *ret) {
        char text[SETTING_TEXT_MAX];
        int r = ops->read(sysroot, key, text);

        return r < 0 ? r : setting_parse(key->kind, text, ret);
}

/* The next CPUs of those that serve the device, one by one. */
static int put_elsewhere(const SettingOps *ops, const Sysroot *sysroot, const SettingKey *key,
                         const SettingValue *wanted, const uint32_t *order, size_t n_order,
                         SettingValue *ret) {
        int r = -ENOSPC;

        for (size_t i = 0; i < n_order && r == -ENOSPC; i++) {
                SettingValue one = { 0 };

                id_set_add(&one.cpus, order[i]);
                if (setting_value_equal(&one, wanted))
                        continue;
                r = put(ops, sysroot, key, &one);
                if (r >= 0)
                        *ret = one;
        }
        return r;
}

int setting_apply(const SettingOps *ops, const Sysroot *sysroot, const SettingKey *key,
                  const SettingValue *wanted, const uint32_t *order, size_t n_order,
                  SettingValue *ret_ours) {
        SettingValue given = *wanted, shown;
        int r = put(ops, sysroot, key, wanted);

        if (r == -ENOSPC && key->kind == SETTING_VECTOR)
                r = put_elsewhere(ops, sysroot, key, wanted, order, n_order, &given);
        if (r >= 0)
                r = look(ops, sysroot, key, &shown);
        if (r < 0)
                return r;
        if (!setting_value_equal(&shown, &given))
                return -EAGAIN;
        *ret_ours = given;
        return 0;
}
