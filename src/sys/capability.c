#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tidbnumad/sys/capability.h"

typedef struct __user_cap_header_struct Header;
typedef struct __user_cap_data_struct Data;

bool capability_is_effective(unsigned capability) {
        Header header = { .version = _LINUX_CAPABILITY_VERSION_3 };
        Data data[_LINUX_CAPABILITY_U32S_3];

        return syscall(SYS_capget, &header, data) == 0 &&
               data[capability / 32].effective & UINT32_C(1) << (capability % 32);
}

int capability_set_effective(unsigned capability, bool on) {
        Header header = { .version = _LINUX_CAPABILITY_VERSION_3 };
        Data data[_LINUX_CAPABILITY_U32S_3];
        const uint32_t bit = UINT32_C(1) << (capability % 32);
        uint32_t *effective = &data[capability / 32].effective;

        if (syscall(SYS_capget, &header, data) < 0)
                return -errno;
        if (!(*effective & bit) == !on)
                return 0;
        *effective ^= bit;
        return syscall(SYS_capset, &header, data) < 0 ? -errno : 1;
}

int capability_keep(uint64_t mask) {
        Header header = { .version = _LINUX_CAPABILITY_VERSION_3 };
        Data data[_LINUX_CAPABILITY_U32S_3];

        if (syscall(SYS_capget, &header, data) < 0)
                return -errno;
        for (unsigned i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
                data[i].permitted &= (uint32_t)(mask >> (32 * i));
                data[i].effective &= data[i].permitted;
                data[i].inheritable = 0;
        }
        return syscall(SYS_capset, &header, data) < 0 ? -errno : 0;
}
