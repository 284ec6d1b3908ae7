/* The interface of the default route: read from the kernel's text files, without a socket. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "tidbnumad/sys/default-route.h"

enum {
        ROUTE_UP = 0x1, /* RTF_UP, RTF_REJECT of <linux/route.h> */
        ROUTE_REJECT = 0x200,
        LINE_MAX_BYTES = 512, /* real ones have some 150 */
};

typedef struct Route {
        char name[IF_NAMESIZE];
        uint32_t metric;
} Route;

typedef bool (*ParseLine)(const char *line, Route *ret);

/* It becomes part of a path. */
static bool is_interface(const char *name) {
        return !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
               strcmp(name, "*") != 0 && strcmp(name, "lo") != 0;
}

static bool is_usable(uint32_t flags) {
        return (flags & ROUTE_UP) && !(flags & ROUTE_REJECT);
}

/* "eth0 00000000 010200C0 0003 0 0 100 00000000 0 0 0": interface, destination, gateway, flags, two
 * counters, metric, mask. The metric is printed as if it had a sign. */
static bool parse_line(const char *line, Route *ret) {
        uint32_t destination, flags, mask;
        int64_t metric;

        if (sscanf(line, "%15s %8" SCNx32 " %*8x %8" SCNx32 " %*d %*u %11" SCNd64 " %8" SCNx32,
                   ret->name, &destination, &flags, &metric, &mask) != 5)
                return false;
        ret->metric = (uint32_t)metric;
        return destination == 0 && mask == 0 && is_usable(flags) && is_interface(ret->name);
}

/* Destination, prefix, source, its prefix, gateway, metric, two counters, flags, interface. */
static bool parse_line6(const char *line, Route *ret) {
        char destination[33], source[33];
        uint32_t prefix, source_prefix, flags;

        if (sscanf(line,
                   "%32s %2" SCNx32 " %32s %2" SCNx32 " %*32s %8" SCNx32 " %*8x %*8x %8" SCNx32
                   " %15s",
                   destination, &prefix, source, &source_prefix, &ret->metric, &flags,
                   ret->name) != 7)
                return false;
        return prefix == 0 && source_prefix == 0 && strspn(destination, "0") == 32 &&
               is_usable(flags) && is_interface(ret->name);
}

static int parse(const char *text, ParseLine parse_one, char *ret) {
        char line[LINE_MAX_BYTES];
        Route best = { 0 };

        for (const char *p = text; *p; p += strcspn(p, "\n") + (p[strcspn(p, "\n")] == '\n')) {
                size_t length = strcspn(p, "\n");
                Route route;

                if (length >= sizeof(line))
                        continue;
                memcpy(line, p, length);
                line[length] = '\0';
                if (parse_one(line, &route) && (!best.name[0] || route.metric < best.metric))
                        best = route;
        }
        if (!best.name[0])
                return -ENOENT;
        memcpy(ret, best.name, IF_NAMESIZE);
        return 0;
}

int default_route_parse(const char *text, char ret[static IF_NAMESIZE]) {
        return parse(text, parse_line, ret);
}

int default_route6_parse(const char *text, char ret[static IF_NAMESIZE]) {
        return parse(text, parse_line6, ret);
}

typedef int (*ParseRoutes)(const char *text, char ret[static IF_NAMESIZE]);

static int read_one(const Sysroot *sysroot, const char *path, ParseRoutes parse_all, char *ret) {
        _cleanup_free_ char *text = NULL;
        int r = read_file_alloc_at(sysroot->proc_fd, path, &text, NULL);

        return r < 0 ? r : parse_all(text, ret);
}

int default_route_read(const Sysroot *sysroot, char ret[static IF_NAMESIZE]) {
        int r = read_one(sysroot, "net/route", default_route_parse, ret);

        return r == -ENOENT ? read_one(sysroot, "net/ipv6_route", default_route6_parse, ret) : r;
}
