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

/* --- as JSON, and back. The text is not trusted --- */

/* --- to text --- */

static json_t *from_text(const char *text) {
        return *text ? undo_json_from_bytes(text) : json_null();
}

/* "identity" is the index of the interface, as text. Only network cards have "pci". */
static json_t *from_setting(const UndoSetting *s) {
        char ifindex[16] = "";
        json_t *json;

        if (s->key.ifindex > 0)
                (void)snprintf(ifindex, sizeof(ifindex), "%u", s->key.ifindex);
        json = json_pack("{s:s, s:o, s:I, s:o, s:o}", "kind", setting_kind_to_string(s->key.kind),
                         "device", from_text(s->key.device), "number", (json_int_t)s->key.number,
                         "identity", from_text(ifindex), "before", from_text(s->before));
        if (json && s->pci && json_object_set_new(json, "pci", from_text(s->pci)) < 0) {
                json_decref(json);
                return NULL;
        }
        return json;
}

static json_t *from_settings(const UndoHost *h) {
        json_t *list = json_array();

        for (size_t i = 0; i < h->n_settings; i++)
                undo_json_append(&list, from_setting(&h->settings[i]));
        return list;
}

static json_t *from_irqs(const UndoBalance *b) {
        json_t *list = json_array();

        for (size_t i = 0; i < b->own.n_banned_irqs; i++)
                undo_json_append(&list, json_integer(b->own.banned_irqs[i]));
        return list;
}

static json_t *from_irqbalance(const UndoBalance *b) {
        if (!b->known)
                return json_null();
        return json_pack("{s:i, s:I, s:o, s:o}", "pid", b->id.pid, "start",
                         (json_int_t)b->id.start_ticks, "cpus",
                         undo_json_from_set(ID_VIEW(&b->own.banned_cpus)), "irqs", from_irqs(b));
}

int undo_host_render(const UndoHost *host, char **ret, size_t *ret_size) {
        json_t *record = json_pack("{s:o, s:o}", "settings", from_settings(host), "irqbalance",
                                   from_irqbalance(&host->irqbalance));

        return undo_json_render(record, ret, ret_size);
}

/* --- out of text --- */

/* The caller owns it. */
static int to_text(const json_t *json, char **ret) {
        if (!json_is_null(json))
                return undo_json_to_bytes(json, ret);
        *ret = strdup("");
        return *ret ? 0 : -ENOMEM;
}

static int to_number(const json_t *json, uint32_t *ret) {
        json_int_t value = json_is_integer(json) ? json_integer_value(json) : -1;

        if (value < 0 || value > INT_MAX)
                return -EBADMSG;
        *ret = (uint32_t)value;
        return 0;
}

static int to_ifindex(const json_t *json, uint32_t *ret) {
        const char *text = json_string_value(json);
        uint64_t number = 0;

        if (!json_is_null(json) &&
            (!text || parse_u64(text, &number) < 0 || number == 0 || number > INT_MAX))
                return -EBADMSG;
        *ret = (uint32_t)number;
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

static int to_setting(const json_t *json, UndoHost *h) {
        const char *kind = json_string_value(json_object_get(json, "kind"));
        const json_t *card = json_object_get(json, "pci"); /* former builds did not note it */
        _cleanup_free_ char *device = NULL, *before = NULL, *pci = NULL;
        SettingKey key = { 0 };
        int r;

        if (!kind || setting_kind_from_string(kind, &key.kind) < 0 ||
            to_number(json_object_get(json, "number"), &key.number) < 0 ||
            to_ifindex(json_object_get(json, "identity"), &key.ifindex) < 0)
                return -EBADMSG;
        r = to_text(json_object_get(json, "device"), &device);
        if (r >= 0)
                r = to_text(json_object_get(json, "before"), &before);
        if (r >= 0 && card)
                r = to_text(card, &pci);
        if (r < 0)
                return r;
        key.device = device;
        r = undo_host_find(h, &key) ? -EBADMSG : check_setting(&key, before);
        return r < 0 ? r : undo_host_add(h, &key, pci, before);
}

/* Earlier builds also set /proc/irq/default_smp_affinity. This one leaves it alone, but must
 * keep the rest of their record. */
static bool is_retired(const json_t *json) {
        const char *kind = json_string_value(json_object_get(json, "kind"));

        return kind && strcmp(kind, "default-affinity") == 0;
}

static int to_settings(const json_t *json, UndoHost *h) {
        int r = json_is_array(json) ? 0 : -EBADMSG;

        for (size_t i = 0; r >= 0 && i < json_array_size(json); i++)
                if (!is_retired(json_array_get(json, i)))
                        r = to_setting(json_array_get(json, i), h);
        return r;
}

static int to_irqs(const json_t *json, UndoBalance *b) {
        const size_t n = json_array_size(json);

        if (!json_is_array(json))
                return -EBADMSG;
        b->own.banned_irqs = calloc(n + 1, sizeof(*b->own.banned_irqs));
        if (!b->own.banned_irqs)
                return -ENOMEM;
        for (; b->own.n_banned_irqs < n; b->own.n_banned_irqs++)
                if (to_number(json_array_get(json, b->own.n_banned_irqs),
                              &b->own.banned_irqs[b->own.n_banned_irqs]) < 0)
                        return -EBADMSG;
        return 0;
}

static int to_irqbalance(const json_t *json, UndoBalance *b) {
        uint64_t start_ticks;
        uint32_t pid;

        if (json_is_null(json))
                return 0;
        if (to_number(json_object_get(json, "pid"), &pid) < 0 || pid == 0 ||
            undo_json_to_ticks(json_object_get(json, "start"), &start_ticks) < 0 ||
            undo_json_to_set(json_object_get(json, "cpus"), ID_TARGET(&b->own.banned_cpus)) < 0)
                return -EBADMSG;
        b->id = (ProcessId){ .pid = (pid_t)pid, .start_ticks = start_ticks };
        b->known = true;
        return to_irqs(json_object_get(json, "irqs"), b);
}

static int to_host(const json_t *json, UndoHost *ret) {
        _cleanup_(undo_host_done) UndoHost h = { 0 };
        int r = to_settings(json_object_get(json, "settings"), &h);

        if (r >= 0)
                r = to_irqbalance(json_object_get(json, "irqbalance"), &h.irqbalance);
        if (r < 0)
                return r;
        h.stale = h.n_settings < json_array_size(json_object_get(json, "settings"));
        *ret = TAKE_STRUCT(h);
        return 0;
}

int undo_host_parse(const char *text, size_t size, UndoHost *ret) {
        _cleanup_(json_decrefp) json_t *record = NULL;
        int r = undo_json_parse(text, size, &record);

        return r < 0 ? r : to_host(record, ret);
}
