/* All devices of the machine. What is under a directory is storage.c's. */

#include "tidbnumad/world/devices-load.h"
#include "tidbnumad/sys/network.h"
#include "tidbnumad/world/disk.h"
#include "tidbnumad/world/network-card.h"

int devices_load(const Sysroot *sysroot, DeviceList *ret) {
        _cleanup_device_list_ DeviceList list = { 0 };
        char interface[IF_NAMESIZE];
        int r;

        r = network_cards_load(sysroot, &list);
        if (r < 0)
                return r;
        /* Without a default route, or where /proc cannot be read, no card has it. */
        if (default_route_read(sysroot, interface) >= 0)
                r = network_cards_mark_route(sysroot, interface, &list);
        if (r >= 0)
                r = disks_load(sysroot, &list);
        if (r < 0)
                return r;
        *ret = TAKE_STRUCT(list);
        return 0;
}
