/* The record of the host's own settings. Its text is undo-host-text.c's. */
#include <string.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/enforce/undo-host.h"
#include "tidbnumad/sys/atomic-file.h"
#include "tidbnumad/sys/private-file.h"

static void setting_done(UndoSetting *s) {
        free((char *)s->key.device);
        free(s->before);
        *s = (UndoSetting){ 0 };
}

void undo_host_done(UndoHost *host) {
        for (size_t i = 0; i < host->n_settings; i++)
                setting_done(&host->settings[i]);
        free(host->settings);
        free(host->irqbalance.banned_irqs);
        *host = (UndoHost){ 0 };
}

UndoSetting *undo_host_find(const UndoHost *host, const SettingKey *key) {
        for (size_t i = 0; i < host->n_settings; i++)
                if (setting_key_equal(&host->settings[i].key, key))
                        return &host->settings[i];
        return NULL;
}

int undo_host_add(UndoHost *host, const SettingKey *key, const char *before) {
        UndoSetting s = { .key = *key };

        if (ARRAY_RESERVE(host->settings, host->allocated, host->n_settings + 1) < 0)
                return -ENOMEM;
        s.key.device = strdup(key->device);
        s.before = strdup(before);
        if (!s.key.device || !s.before) {
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
        free(host->irqbalance.banned_irqs);
        host->irqbalance = *balance;
        host->irqbalance.known = true;
        host->stale = true;
        *balance = (UndoBalance){ 0 };
}

void undo_host_forget_irqbalance(UndoHost *host) {
        host->stale |= host->irqbalance.known;
        free(host->irqbalance.banned_irqs);
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
