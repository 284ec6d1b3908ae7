#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <string.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/sys/interface-address.h"

/* NULL: none that others could reach. */
static const void *address_of(const struct sockaddr *address, int family) {
        const struct sockaddr_in6 *six = (const void *)address;

        if (!address || address->sa_family != family)
                return NULL;
        if (family == AF_INET)
                return &((const struct sockaddr_in *)(const void *)address)->sin_addr;
        return IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr) ? NULL : &six->sin6_addr;
}

int interface_address_read(const char *interface, char ret[static INET6_ADDRSTRLEN]) {
        static const int families[] = { AF_INET, AF_INET6 };
        struct ifaddrs *list;
        const void *found = NULL;
        int r = -ENODATA;

        if (getifaddrs(&list) < 0)
                return -errno;
        for (size_t f = 0; f < ELEMENTSOF(families) && !found; f++)
                for (const struct ifaddrs *i = list; i && !found; i = i->ifa_next) {
                        if (strcmp(i->ifa_name, interface) == 0)
                                found = address_of(i->ifa_addr, families[f]);
                        if (found && inet_ntop(families[f], found, ret, INET6_ADDRSTRLEN))
                                r = 0;
                }
        freeifaddrs(list);
        return r;
}
