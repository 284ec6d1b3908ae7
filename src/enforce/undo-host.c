#include <jansson.h>
#include <limits.h>
#include <string.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/base/text.h"
#include "tidbnumad/enforce/undo-host.h"
#include "tidbnumad/enforce/undo-json.h"
#include "tidbnumad/sys/atomic-file.h"

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
