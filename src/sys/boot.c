/* The identity of a boot. */
#include <ctype.h>
#include <string.h>
#include <time.h>

#include "tidbnumad/sys/boot.h"

int boot_id_parse(const char *text, char ret[static BOOT_ID_SIZE]) {
        if (strlen(text) != BOOT_ID_SIZE - 1)
                return -EBADMSG;
        for (const char *p = text; *p; p++)
                if (!isxdigit((unsigned char)*p) && *p != '-')
                        return -EBADMSG;
        memcpy(ret, text, BOOT_ID_SIZE);
        return 0;
}

int boot_id_read(const Sysroot *sysroot, char ret[static BOOT_ID_SIZE]) {
        char text[64];
        ssize_t n = read_file_at(sysroot->proc_fd, "sys/kernel/random/boot_id", text, sizeof(text));

        return n < 0 ? (int)n : boot_id_parse(text, ret);
}

uint64_t boot_ticks_now(void) {
        const uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK);
        struct timespec ts;

        (void)clock_gettime(CLOCK_BOOTTIME, &ts);
        return (uint64_t)ts.tv_sec * hz + (uint64_t)ts.tv_nsec * hz / 1000000000;
}
