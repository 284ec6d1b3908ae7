/* Network cards and disks with the node that they are attached to. Plain data. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/id-set.h"

typedef enum DeviceKind {
        DEVICE_NET,
        DEVICE_DISK, /* a whole block device: NVMe namespace, SCSI or virtio disk */
} DeviceKind;

#define DEVICE_NODE_UNKNOWN (-1)

typedef struct Device {
        DeviceKind kind;
        char *name;          /* "eth0", "nvme0n1"; owned */
        char *pci;           /* "0000:3b:00.0"; NULL: not on a PCI bus, or not known; owned */
        char *driver;        /* NULL: not known; owned */
        char *master;        /* of a member of a bond or team: its name; NULL: none; owned */
        int32_t node;        /* DEVICE_NODE_UNKNOWN: not reported by the firmware (-1 in sysfs) */
        uint32_t speed_mbps; /* of a network card with a link; 0: not known */
        bool nvme;
        bool default_route;    /* the host's default route uses this device or its master */
        bool virtual_function; /* of another card (SR-IOV) */
} Device;

typedef struct DeviceList {
        Device *devices; /* network cards first, each kind ascending by name (numbers by value:
                          * nvme2n1 before nvme10n1); owned */
        size_t n_devices;
        size_t allocated;
} DeviceList;

void device_done(Device *device);
void device_list_done(DeviceList *list);
#define _cleanup_device_list_ _cleanup_(device_list_done)

/* Takes over `device` (which is then empty), in its place in the order. -ENOMEM: it stays. */
int device_list_add(DeviceList *list, Device *device);

const Device *device_list_find(const DeviceList *list, DeviceKind kind, const char *name);

/* The known nodes of the cards of these names; the name of a bond means its members; without
 * names, the nodes of the cards with the default route. Empty: none is known. */
NodeSet device_nic_nodes(const DeviceList *list, const char *const *names, size_t n_names);

/* The speed of the fastest of them; 0: not known. */
uint32_t device_nic_speed(const DeviceList *list, const char *const *names, size_t n_names);

/* The first network card on the given nodes. NULL: none, or only one node has cards, so that there
 * is no choice. Members of a bond share its address and do not count. */
const Device *device_nic_of(const DeviceList *list, const char *const *names, size_t n_names,
                            const NodeSet *nodes);

/* "eth2" before "eth10": digits compare by value. As strcmp(3). */
int device_name_compare(const char *a, const char *b);
