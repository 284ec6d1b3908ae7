/* Network interfaces of the host. */
#pragma once

#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>

#include "tidbnumad/sys/sysroot.h"

/* Finds the interface of the default route with the lowest metric in the text of /proc/net/route or
 * /proc/net/ipv6_route, of equal ones the first. Routes that are down or that reject packets do not
 * count. -ENOENT: there is no default route. */
int default_route_parse(const char *text, char ret[static IF_NAMESIZE]);
int default_route6_parse(const char *text, char ret[static IF_NAMESIZE]);

/* IPv4's, else IPv6's. Only the main table is read. */
int default_route_read(const Sysroot *sysroot, char ret[static IF_NAMESIZE]);

/* The first IPv4 address, else the first IPv6 address that is not link-local, as text. -ENODATA:
 * the interface has no address, or does not exist; other negative errno. */
int interface_address_read(const char *interface, char ret[static INET6_ADDRSTRLEN]);

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
