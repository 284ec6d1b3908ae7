/* Lists of devices, and which nodes a host's network cards are on. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/model/device.h"

void device_done(Device *device) {
        free(device->name);
        free(device->pci);
        free(device->driver);
        free(device->master);
        *device = (Device){ 0 };
}

void device_list_done(DeviceList *list) {
        for (size_t i = 0; i < list->n_devices; i++)
                device_done(&list->devices[i]);
        free(list->devices);
        *list = (DeviceList){ 0 };
}

/* The length of a number without its leading zeros, which are skipped. */
static size_t number_length(const char **text) {
        size_t n = 0;

        while (**text == '0' && isdigit((unsigned char)(*text)[1]))
                (*text)++;
        while (isdigit((unsigned char)(*text)[n]))
                n++;
        return n;
}

int device_name_compare(const char *a, const char *b) {
        const char *x = a, *y = b;

        while (*x && *y) {
                if (isdigit((unsigned char)*x) && isdigit((unsigned char)*y)) {
                        size_t n = number_length(&x), m = number_length(&y);
                        int order = n != m ? (n < m ? -1 : 1) : memcmp(x, y, n);

                        if (order != 0)
                                return order;
                        x += n;
                        y += m;
                } else if (*x != *y) {
                        return (unsigned char)*x < (unsigned char)*y ? -1 : 1;
                } else {
                        x++;
                        y++;
                }
        }
        if (*x || *y)
                return *x ? 1 : -1;
        return strcmp(a, b); /* "eth01" and "eth1" remain two names */
}

static int compare(const Device *a, const Device *b) {
        if (a->kind != b->kind)
                return a->kind < b->kind ? -1 : 1;
        return device_name_compare(a->name, b->name);
}

int device_list_add(DeviceList *list, Device *device) {
        size_t i = list->n_devices;

        while (i > 0 && compare(device, &list->devices[i - 1]) < 0)
                i--;
        if (ARRAY_INSERT(list->devices, list->n_devices, list->allocated, i, device) < 0)
                return -ENOMEM;
        *device = (Device){ 0 };
        return 0;
}

const Device *device_list_find(const DeviceList *list, DeviceKind kind, const char *name) {
        for (size_t i = 0; i < list->n_devices; i++)
                if (list->devices[i].kind == kind && strcmp(list->devices[i].name, name) == 0)
                        return &list->devices[i];
        return NULL;
}

static bool is_named(const Device *device, const char *const *names, size_t n_names) {
        for (size_t i = 0; i < n_names; i++)
                if (strcmp(device->name, names[i]) == 0 ||
                    (device->master && strcmp(device->master, names[i]) == 0))
                        return true;
        return n_names == 0 && device->default_route;
}

NodeSet device_nic_nodes(const DeviceList *list, const char *const *names, size_t n_names) {
        NodeSet nodes = { 0 };

        for (size_t i = 0; i < list->n_devices; i++) {
                const Device *device = &list->devices[i];

                if (device->kind == DEVICE_NET && device->node >= 0 &&
                    device->node < (int32_t)NODE_SET_MAX && is_named(device, names, n_names))
                        id_set_add(&nodes, (uint32_t)device->node);
        }
        return nodes;
}

uint32_t device_nic_speed(const DeviceList *list, const char *const *names, size_t n_names) {
        uint32_t speed = 0;

        for (size_t i = 0; i < list->n_devices; i++) {
                const Device *device = &list->devices[i];

                if (device->kind == DEVICE_NET && is_named(device, names, n_names) &&
                    device->speed_mbps > speed)
                        speed = device->speed_mbps;
        }
        return speed;
}

const Device *device_nic_of(const DeviceList *list, const char *const *names, size_t n_names,
                            const NodeSet *nodes) {
        const NodeSet all = device_nic_nodes(list, names, n_names);

        for (size_t i = 0; id_set_count(&all) > 1 && i < list->n_devices; i++) {
                const Device *device = &list->devices[i];

                if (device->kind == DEVICE_NET && !device->master && device->node >= 0 &&
                    id_set_has(&all, (uint32_t)device->node) &&
                    id_set_has(nodes, (uint32_t)device->node) && is_named(device, names, n_names))
                        return device;
        }
        return NULL;
}
