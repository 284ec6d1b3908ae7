/* The network interface of the host's default route, out of /proc/net. */
#pragma once

#include <net/if.h>

#include "tidbnumad/sys/sysroot.h"

/* Of the text of /proc/net/route and /proc/net/ipv6_route: the interface of the route to everywhere
 * that has the lowest metric, of equal ones the first. Routes that are down or refuse do not count.
 * -ENOENT: there is none. */
int default_route_parse(const char *text, char ret[static IF_NAMESIZE]);
int default_route6_parse(const char *text, char ret[static IF_NAMESIZE]);

/* IPv4's, else IPv6's. Only the main table is read. */
int default_route_read(const Sysroot *sysroot, char ret[static IF_NAMESIZE]);
