/* Settings of the kernel that belong to no process, and the record of what they were before. */
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

static int parse_list(const char *text, SettingValue *ret) {
        return id_set_parse_list(text, &ret->cpus);
}

static int parse_mask(const char *text, SettingValue *ret) {
        return id_set_parse_mask(text, &ret->cpus);
}

static int parse_number(const char *text, SettingValue *ret) {
        uint64_t number;
        int r = parse_u64(text, &number);

        if (r >= 0)
                ret->number = (uint32_t)number;
        return r;
}

static int render_list(const SettingValue *value, char *buffer) {
        return id_set_render_list(&value->cpus, buffer, SETTING_TEXT_MAX);
}

static int render_mask(const SettingValue *value, char *buffer) {
        return id_set_render_mask(&value->cpus, buffer, SETTING_TEXT_MAX);
}

static int render_number(const SettingValue *value, char *buffer) {
        return snprintf(buffer, SETTING_TEXT_MAX, "%u", value->number);
}

/* The file is `folder`, then the number and `file`, where there is one. */
static const struct {
        const char *folder, *file;
        int (*parse)(const char *text, SettingValue *ret);
        int (*render)(const SettingValue *value, char *buffer);
} KINDS[N_SETTING_KINDS] = {
        [SETTING_VECTOR] = { "irq/", "/smp_affinity_list", parse_list, render_list },
        [SETTING_XPS] = { "queues/tx-", "/xps_cpus", parse_mask, render_mask },
        [SETTING_RPS] = { "queues/rx-", "/rps_cpus", parse_mask, render_mask },
        [SETTING_NUMA_BALANCING] = { "sys/kernel/numa_balancing", NULL, parse_number,
                                     render_number },
};

int setting_parse(SettingKind kind, const char *text, SettingValue *ret) {
        SettingValue value = { 0 };
        int r = KINDS[kind].parse(text, &value);

        if (r < 0)
                return r;
        *ret = value;
        return 0;
}

int setting_render(SettingKind kind, const SettingValue *value,
                   char buffer[static SETTING_TEXT_MAX]) {
        int n = KINDS[kind].render(value, buffer);

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

/* --- applying --- */

static int write_value(const SettingOps *ops, const Sysroot *sysroot, const SettingKey *key,
                       const SettingValue *value) {
        char text[SETTING_TEXT_MAX];
        int r = setting_render(key->kind, value, text);

        return r < 0 ? r : ops->write(sysroot, key, text);
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
        char text[SETTING_TEXT_MAX];
        int r = write_value(ops, sysroot, key, wanted);

        if (r == -ENOSPC && key->kind == SETTING_VECTOR)
                r = write_elsewhere(ops, sysroot, key, wanted, order, n_order, &given);
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

/* --- the record --- */

static void setting_done(UndoSetting *s) {
        free((char *)s->key.device);
        free(s->before);
        free(s->pci);
        *s = (UndoSetting){ 0 };
}

void undo_host_done(UndoHost *host) {
        for (size_t i = 0; i < host->n_settings; i++)
                setting_done(&host->settings[i]);
        free(host->settings);
        irqbalance_setup_done(&host->irqbalance.own);
        *host = (UndoHost){ 0 };
}

UndoSetting *undo_host_find(const UndoHost *host, const SettingKey *key) {
        for (size_t i = 0; i < host->n_settings; i++)
                if (setting_key_equal(&host->settings[i].key, key))
                        return &host->settings[i];
        return NULL;
}

int undo_host_add(UndoHost *host, const SettingKey *key, const char *pci, const char *before) {
        UndoSetting s = { .key = *key };

        if (ARRAY_RESERVE(host->settings, host->allocated, host->n_settings + 1) < 0)
                return -ENOMEM;
        s.key.device = strdup(key->device);
        s.before = strdup(before);
        s.pci = pci ? strdup(pci) : NULL;
        if (!s.key.device || !s.before || (pci && !s.pci)) {
                setting_done(&s);
                return -ENOMEM;
        }
        host->settings[host->n_settings++] = s;
        host->stale = true;
        return 0;
}

void undo_host_remove(UndoHost *host, size_t index) {
        setting_done(&host->settings[index]);
        ARRAY_REMOVE(host->settings, host->n_settings, index);
        host->stale = true;
}

void undo_host_set_irqbalance(UndoHost *host, UndoBalance *balance) {
        irqbalance_setup_done(&host->irqbalance.own);
        host->irqbalance = *balance;
        host->irqbalance.known = true;
        host->stale = true;
        *balance = (UndoBalance){ 0 };
}

void undo_host_forget_irqbalance(UndoHost *host) {
        host->stale |= host->irqbalance.known;
        irqbalance_setup_done(&host->irqbalance.own);
        host->irqbalance = (UndoBalance){ 0 };
}

bool undo_host_is_empty(const UndoHost *host) {
        return host->n_settings == 0 && !host->irqbalance.known;
}

/* --- the file --- */

int undo_host_write(const Undo *undo, UndoHost *host) {
        _cleanup_free_ char *text = NULL;
        size_t size;
        int r;

        if (undo->dir_fd < 0)
                return -EBADF;
        if (!host->stale)
                return 0;
        if (host->newer)
                return -EEXIST;
        if (undo_host_is_empty(host)) {
                if (unlinkat(undo->dir_fd, UNDO_HOST_FILE, 0) < 0 && errno != ENOENT)
                        return -errno;
                host->stale = false;
                return 0;
        }
        r = undo_host_render(host, &text, &size);
        if (r >= 0)
                r = atomic_file_write(undo->dir_fd, UNDO_HOST_FILE, text, size, 0600);
        if (r >= 0)
                host->stale = false;
        return r;
}

int undo_host_read(const Undo *undo, UndoHost *ret) {
        _cleanup_free_ char *text = NULL;
        size_t size;
        int r;

        if (undo->dir_fd < 0)
                return -ENOENT;
        r = private_file_read(undo->dir_fd, UNDO_HOST_FILE, UNDO_HOST_MAX_BYTES, &text, &size);
        if (r < 0)
                return r;
        r = undo_host_parse(text, size, ret);
        ret->newer = r == -ENOTSUP;
        if (r < 0 && r != -ENOMEM && r != -ENOTSUP)
                (void)unlinkat(undo->dir_fd, UNDO_HOST_FILE, 0);
        return r;
}

/* --- as entries, and back. The text is not trusted --- */

#define KIND_IRQBALANCE "irqbalance"

/* No text is null. */
static json_t *from_text(const char *text) {
        return record_from_bytes(*text ? text : NULL);
}

int undo_host_render(const UndoHost *h, char **ret, size_t *ret_size) {
        json_t *list = json_array(), *irqs;

        for (size_t i = 0; i < h->n_settings; i++) {
                const UndoSetting *s = &h->settings[i];

                record_append(&list, setting_kind_to_string(s->key.kind),
                              json_pack("{s:o, s:I, s:I, s:o}", "device", from_text(s->key.device),
                                        "number", (json_int_t)s->key.number, "ifindex",
                                        (json_int_t)s->key.ifindex, "pci",
                                        record_from_bytes(s->pci)),
                              from_text(s->before), json_null());
        }
        if (!h->irqbalance.known)
                return record_render(NULL, NULL, list, ret, ret_size);
        irqs = json_array();
        for (size_t i = 0; i < h->irqbalance.own.n_banned_irqs; i++)
                if (json_array_append_new(irqs, json_integer(h->irqbalance.own.banned_irqs[i])) <
                    0) {
                        json_decref(irqs);
                        irqs = NULL;
                }
        record_append(&list, KIND_IRQBALANCE, record_from_process(&h->irqbalance.id),
                      json_pack("{s:o, s:o}", "cpus",
                                record_from_set(ID_VIEW(&h->irqbalance.own.banned_cpus)), "irqs",
                                irqs),
                      json_null());
        return record_render(NULL, NULL, list, ret, ret_size);
}

static int to_bytes_or_none(const json_t *json, char **ret) {
        return json_is_null(json) ? 0 : record_to_bytes(json, ret);
}

static int to_u32(const json_t *json, uint32_t *ret) {
        uint64_t value;

        if (record_to_number(json, &value) < 0 || value > INT_MAX)
                return -EBADMSG;
        *ret = (uint32_t)value;
        return 0;
}

/* Only what could have been written by us is ever written to the kernel. */
static int check_setting(const SettingKey *key, const char *before) {
        char path[SETTING_TEXT_MAX];
        SettingValue value;

        return setting_path(key, path) < 0 || setting_is_queue(key->kind) != (key->ifindex > 0) ||
                               strlen(before) >= SETTING_TEXT_MAX ||
                               setting_parse(key->kind, before, &value) < 0
                       ? -EBADMSG
                       : 0;
}

static int read_setting(const RecordEntry *e, UndoHost *h) {
        _cleanup_free_ char *device = NULL, *before = NULL, *pci = NULL;
        SettingKey key = { 0 };
        int r;

        if (setting_kind_from_string(e->kind, &key.kind) < 0 ||
            to_u32(json_object_get(e->target, "number"), &key.number) < 0 ||
            to_u32(json_object_get(e->target, "ifindex"), &key.ifindex) < 0)
                return -EBADMSG;
        r = to_bytes_or_none(json_object_get(e->target, "device"), &device);
        if (r >= 0)
                r = to_bytes_or_none(json_object_get(e->target, "pci"), &pci);
        if (r >= 0)
                r = to_bytes_or_none(e->before, &before);
        if (r < 0)
                return r;
        key.device = device ? device : "";
        r = undo_host_find(h, &key) ? -EBADMSG : check_setting(&key, before ? before : "");
        return r < 0 ? r : undo_host_add(h, &key, pci, before ? before : "");
}

static int read_irqbalance(const RecordEntry *e, UndoHost *h) {
        const json_t *irqs = json_object_get(e->before, "irqs");
        const size_t n = json_array_size(irqs);
        IrqbalanceSetup *own = &h->irqbalance.own;

        if (h->irqbalance.known || !json_is_array(irqs) ||
            record_to_process(e->target, &h->irqbalance.id) < 0 ||
            record_to_set(json_object_get(e->before, "cpus"), ID_TARGET(&own->banned_cpus)) < 0)
                return -EBADMSG;
        h->irqbalance.known = true;
        own->banned_irqs = calloc(n + 1, sizeof(*own->banned_irqs));
        if (!own->banned_irqs)
                return -ENOMEM;
        for (; own->n_banned_irqs < n; own->n_banned_irqs++)
                if (to_u32(json_array_get(irqs, own->n_banned_irqs),
                           &own->banned_irqs[own->n_banned_irqs]) < 0)
                        return -EBADMSG;
        return 0;
}

static int read_entry(const RecordEntry *e, void *userdata) {
        return strcmp(e->kind, KIND_IRQBALANCE) == 0 ? read_irqbalance(e, userdata)
                                                     : read_setting(e, userdata);
}

int undo_host_parse(const char *text, size_t size, UndoHost *ret) {
        _cleanup_(undo_host_done) UndoHost h = { 0 };
        _cleanup_(json_decrefp) json_t *root = NULL;
        int r = record_parse(text, size, &root);

        if (r >= 0)
                r = record_read(root, read_entry, &h);
        if (r < 0)
                return r;
        h.stale = false;
        *ret = TAKE_STRUCT(h);
        return 0;
}
