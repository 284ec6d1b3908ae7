/* The address of a network interface of this host. */
#pragma once

#include <netinet/in.h>

/* The first IPv4 address, else the first IPv6 address that is not link-local, as text. -ENODATA: it
 * has none, or there is no such interface; other negative errno. */
int interface_address_read(const char *interface, char ret[static INET6_ADDRSTRLEN]);
