/* The ports of one process as a list. */
#pragma once

#include "tidbnumad/sys/ports.h"

static inline int read_port_list(const Sysroot *sysroot, const ProcHandle *handle,
                                 ListenPorts *ret) {
        PortSet set;
        int r = listen_ports_read(sysroot, handle, &set);
        int listed = r < 0 ? 0 : port_set_list(&set, ret);

        return listed < 0 ? listed : r;
}
