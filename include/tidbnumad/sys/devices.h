/* Devices in /sys, network interfaces, and events of both. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <systemd/sd-event.h>

#include "tidbnumad/sys/sysroot.h"

enum { SYSFS_PCI_MAX = 24 }; /* "10000:3b:00.0" and more */

/* The folder that a path leads to, without links: "class/net/eth0" becomes
 * "devices/pci0000:00/0000:00:03.0/net/eth0". -ENOENT: no such folder; -EXDEV: outside of /sys. */
int sysfs_resolve(const Sysroot *sysroot, char ret[static PATH_MAX], const char *format, ...)
        _printf_(3, 4);

bool sysfs_is_virtual(const char *path); /* of a device without hardware of its own */

/* The NUMA node and the driver of a device, or of the nearest one above it that has them. The node
 * is found by its number or by the CPUs near it, and only by what a device of a bus (PCI, nd) shows
 * of them: a device of a class may report a node that nobody set. -1 where the firmware does not
 * report it. The caller owns the driver's name (-ENOENT: none). */
int sysfs_node(const Sysroot *sysroot, const char *path);
int sysfs_driver(const Sysroot *sysroot, const char *path, char **ret);

/* The address of the PCI device that it is, or is attached to. -ENOENT: none. */
int sysfs_pci(const char *path, char ret[static SYSFS_PCI_MAX]);

/* --- network interfaces of the host --- */

/* IF_NAMESIZE and INET6_ADDRSTRLEN, whose headers declare all of the sockets. */
enum { INTERFACE_NAME_SIZE = 16, ADDRESS_TEXT_SIZE = 46 };

/* Finds the interface of the default route with the lowest metric in the text of /proc/net/route or
 * /proc/net/ipv6_route, of equal ones the first. Routes that are down or that reject packets do not
 * count. -ENOENT: there is no default route. */
int default_route_parse(const char *text, char ret[static INTERFACE_NAME_SIZE]);
int default_route6_parse(const char *text, char ret[static INTERFACE_NAME_SIZE]);

/* IPv4's, else IPv6's. Only the main table is read. */
int default_route_read(const Sysroot *sysroot, char ret[static INTERFACE_NAME_SIZE]);

/* The first IPv4 address, else the first IPv6 address that is not link-local, as text. -ENODATA:
 * the interface has no address, or does not exist; other negative errno. */
int interface_address_read(const char *interface, char ret[static ADDRESS_TEXT_SIZE]);

/* A socket that becomes readable when network interfaces come, go, or are switched on and off
 * (rtnetlink(7), RTNLGRP_LINK): many drivers ask for their interrupts only then, and udev
 * does not report it. */
int link_events_open(int *ret_fd);

/* Is a message about a network card? Links that are made by software have a kind
 * (IFLA_INFO_KIND): those of containers come and go all day. What cannot be read counts. */
bool link_event_counts(const void *message, size_t size);

/* Reads and discards all pending messages: the caller then reads the present state. True: one of
 * the messages is relevant, or messages were lost. */
bool link_events_drain(int fd);

/* --- events of devices that come and go, as udev(7) passes them on --- */

/* A device was added or removed: the handler reads the present state. */
typedef void (*UeventsHandler)(void *userdata);

typedef struct Uevents {
        struct udev_monitor *monitor; /* owned, as the next one */
        sd_event_source *source;
        UeventsHandler handler;
        void *userdata;
} Uevents;

/* Events of these subsystems (a list that NULL ends) but of no virtual device. `uevents` must stay
 * where it is until uevents_close(). Without udev no event ever comes, and that is no error. */
int uevents_open(Uevents *uevents, sd_event *event, const char *const *subsystems,
                 UeventsHandler handler, void *userdata);
void uevents_close(Uevents *uevents);
