/* A device as one line of text, and back. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "tidbnumad/base/parse.h"
#include "tidbnumad/observe/device-note.h"
#include "tidbnumad/sys/mountinfo.h"

static void append_escaped(Text *text, const char *value) {
        for (const unsigned char *p = (const unsigned char *)value; *p; p++)
                if (*p <= 0x20 || *p >= 0x7f || *p == '\\' || *p == ';')
                        text_appendf(text, "\\%03o", *p);
                else
                        text_appendf(text, "%c", *p);
}

static void append_value(Text *text, const char *key, const char *value) {
        if (!value)
                return;
        text_appendf(text, " %s=", key);
        append_escaped(text, value);
}

void device_note_render(const Device *device, Text *text) {
        text_append(text, device->kind == DEVICE_NET ? "net " : "disk ");
        append_escaped(text, device->name);
        if (device->node != DEVICE_NODE_UNKNOWN)
                text_appendf(text, " node=%" PRId32, device->node);
        append_value(text, "pci", device->pci);
        append_value(text, "driver", device->driver);
        if (device->speed_mbps > 0)
                text_appendf(text, " speed=%" PRIu32, device->speed_mbps);
        append_value(text, "master", device->master);
        if (device->nvme)
                text_append(text, " nvme");
        if (device->default_route)
                text_append(text, " default-route");
        if (device->virtual_function)
                text_append(text, " virtual-function");
}

static int set_string(char **string, char *value) {
        char *copy;

        mountinfo_unescape(value);
        if (!*value)
                return -EBADMSG;
        copy = strdup(value);
        if (!copy)
                return -ENOMEM;
        free(*string);
        *string = copy;
        return 0;
}

static int set_number(const char *value, uint64_t max, uint64_t *ret) {
        return parse_u64(value, ret) < 0 || *ret > max ? -EBADMSG : 0;
}

static int parse_value(const char *key, char *value, Device *device) {
        uint64_t number;
        int r = 0;

        if (strcmp(key, "pci") == 0)
                return set_string(&device->pci, value);
        if (strcmp(key, "driver") == 0)
                return set_string(&device->driver, value);
        if (strcmp(key, "master") == 0)
                return set_string(&device->master, value);
        if (strcmp(key, "node") == 0) {
                r = set_number(value, NODE_SET_MAX - 1, &number);
                if (r >= 0)
                        device->node = (int32_t)number;
        } else if (strcmp(key, "speed") == 0) {
                r = set_number(value, UINT32_MAX, &number);
                if (r >= 0)
                        device->speed_mbps = (uint32_t)number;
        }
        return r;
}

static void parse_flag(const char *word, Device *device) {
        if (strcmp(word, "nvme") == 0)
                device->nvme = true;
        else if (strcmp(word, "default-route") == 0)
                device->default_route = true;
        else if (strcmp(word, "virtual-function") == 0)
                device->virtual_function = true;
}

static int parse_words(char *rest, Device *device) {
        char *word;

        while ((word = strsep(&rest, " "))) {
                char *value = strchr(word, '=');
                int r = 0;

                if (value) {
                        *value++ = '\0';
                        r = parse_value(word, value, device);
                } else
                        parse_flag(word, device);
                if (r < 0)
                        return r;
        }
        return 0;
}

int device_note_parse(const char *text, Device *ret) {
        _cleanup_(device_done) Device device = { .node = DEVICE_NODE_UNKNOWN };
        _cleanup_free_ char *copy = strdup(text);
        char *rest = copy, *kind = strsep(&rest, " "), *name;
        int r;

        if (!copy)
                return -ENOMEM;
        name = strsep(&rest, " ");
        if (!name || (strcmp(kind, "net") != 0 && strcmp(kind, "disk") != 0))
                return -EBADMSG;
        device.kind = strcmp(kind, "net") == 0 ? DEVICE_NET : DEVICE_DISK;
        r = set_string(&device.name, name);
        if (r >= 0)
                r = parse_words(rest, &device);
        if (r < 0)
                return r;
        *ret = device;
        device = (Device){ 0 };
        return 0;
}
