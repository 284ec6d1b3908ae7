/* The processor's vendor and model. Each architecture has lines of its own: x86
 * (arch/x86/kernel/cpu/proc.c), Arm as fields of its identification register
 * (arch/arm64/kernel/cpuinfo.c). */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/sys/cpuinfo.h"

typedef struct Field {
        const char *name;
        int base;
        size_t offset;
} Field;

static const Field fields[] = {
        { "cpu family", 10, offsetof(CpuInfo, family) },
        { "model", 10, offsetof(CpuInfo, model) },
        { "CPU implementer", 16, offsetof(CpuInfo, implementer) },
        { "CPU part", 16, offsetof(CpuInfo, part) },
};

/* Behind "name\t: "; NULL: it is another line. "model" is not "model name". */
static const char *value_of(const char *line, const char *name) {
        size_t length = strlen(name);

        if (strncmp(line, name, length) != 0)
                return NULL;
        line += length;
        line += strspn(line, " \t");
        if (*line != ':')
                return NULL;
        line++;
        return line + strspn(line, " \t");
}

/* All lines of a kind must be equal, else the processors differ. */
static int take_vendor(const char *value, char ret[static CPUINFO_VENDOR_MAX]) {
        size_t length = strcspn(value, "\n");

        while (length > 0 && (value[length - 1] == ' ' || value[length - 1] == '\r'))
                length--;
        if (length == 0 || length >= CPUINFO_VENDOR_MAX)
                return -EBADMSG;
        if (*ret && (strlen(ret) != length || strncmp(ret, value, length) != 0))
                return -EXDEV;
        memcpy(ret, value, length);
        ret[length] = '\0';
        return 0;
}

static int take_number(const Field *field, const char *value, uint32_t *ret, bool known) {
        unsigned long number;
        char *end;

        errno = 0;
        number = strtoul(value, &end, field->base);
        if (end == value || *value == '-' || errno != 0 || number > UINT32_MAX ||
            (*end != '\n' && *end != '\0' && *end != ' '))
                return -EBADMSG;
        if (known && *ret != number)
                return -EXDEV;
        *ret = (uint32_t)number;
        return 0;
}

static int take_line(const char *line, CpuInfo *info, bool known[static ELEMENTSOF(fields)]) {
        const char *value = value_of(line, "vendor_id");

        if (value)
                return take_vendor(value, info->vendor);
        for (size_t i = 0; i < ELEMENTSOF(fields); i++) {
                int r;

                value = value_of(line, fields[i].name);
                if (!value)
                        continue;
                r = take_number(&fields[i], value, (uint32_t *)((char *)info + fields[i].offset),
                                known[i]);
                known[i] = r == 0;
                return r;
        }
        return 0;
}

int cpuinfo_parse(const char *text, CpuInfo *ret) {
        bool known[ELEMENTSOF(fields)] = { 0 };
        CpuInfo info = { 0 };

        while (*text) {
                int r = take_line(text, &info, known);

                if (r < 0)
                        return r;
                text += strcspn(text, "\n");
                text += *text == '\n';
        }
        if (!(info.vendor[0] && known[0] && known[1]) && !(known[2] && known[3]))
                return -EBADMSG;
        *ret = info;
        return 0;
}

int cpuinfo_read(const Sysroot *sysroot, CpuInfo *ret) {
        _cleanup_free_ char *text = NULL;
        int r = read_file_alloc_at(sysroot->proc_fd, "cpuinfo", &text, NULL);

        return r < 0 ? r : cpuinfo_parse(text, ret);
}
