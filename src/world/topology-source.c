/* hwloc's whole tree of a machine that is here, in a dump, in a file or imagined, and the
 * message when hwloc does not accept it. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>

#include "tidbnumad/world/topology-env.h"
#include "tidbnumad/world/topology-source.h"

static int fail(char **ret_message, int r, const char *format, ...) _printf_(3, 4);

static int fail(char **ret_message, int r, const char *format, ...) {
        va_list arguments;

        if (!ret_message)
                return r;
        va_start(arguments, format);
        if (vasprintf(ret_message, format, arguments) < 0) {
                *ret_message = NULL;
                r = -ENOMEM;
        }
        va_end(arguments);
        return r;
}

static int init(bool keep_misc, hwloc_topology_t *ret) {
        _cleanup_hwloc_ hwloc_topology_t t = NULL;

        if (hwloc_topology_init(&t) < 0)
                return -ENOMEM;
        if (hwloc_topology_set_io_types_filter(t, HWLOC_TYPE_FILTER_KEEP_IMPORTANT) < 0 ||
            hwloc_topology_set_type_filter(t, HWLOC_OBJ_MISC,
                                           keep_misc ? HWLOC_TYPE_FILTER_KEEP_ALL
                                                     : HWLOC_TYPE_FILTER_KEEP_NONE) < 0 ||
            hwloc_topology_set_flags(t, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) < 0)
                return -errno;
        *ret = TAKE_PTR(t);
        return 0;
}

static int load(hwloc_topology_t t) {
        errno = 0;
        if (hwloc_topology_load(t) < 0)
                return errno ? -errno : -EINVAL;
        return 0;
}

/* --- XML ------------------------------------------------------------------------------------ */

static int load_buffer(const char *xml, size_t size, bool keep_misc, hwloc_topology_t *ret) {
        _cleanup_hwloc_ hwloc_topology_t t = NULL;
        int r = size >= INT_MAX ? -EFBIG : init(keep_misc, &t);

        if (r < 0)
                return r;
        /* The size is with the final NUL. */
        if (hwloc_topology_set_xmlbuffer(t, xml, (int)size + 1) < 0)
                return -EINVAL;
        r = load(t);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(t);
        return 0;
}

static bool has_marks(hwloc_topology_t t) {
        hwloc_obj_t object = NULL;

        while ((object = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_MISC, object)))
                if (object->subtype &&
                    strncmp(object->subtype, TOPOLOGY_MARK_TYPE, strlen(TOPOLOGY_MARK_TYPE)) == 0)
                        return true;
        return false;
}

/* hwloc has no way to remove an object: so all objects of that kind are left out in a second
 * reading, DIMMs too. After a third, new ones may be added. */
static int drop_marks(const char *xml, size_t size, hwloc_topology_t *t) {
        _cleanup_hwloc_ hwloc_topology_t bare = NULL;
        char *buffer = NULL;
        int length, r;

        r = load_buffer(xml, size, false, &bare);
        if (r < 0)
                return r;
        if (hwloc_topology_export_xmlbuffer(bare, &buffer, &length, 0) < 0)
                return -ENOMEM;
        hwloc_topology_destroy(*t);
        *t = NULL;
        r = load_buffer(buffer, strlen(buffer), true, t);
        hwloc_free_xmlbuffer(bare, buffer);
        return r;
}

/* The format of hwloc 3, which hwloc 2 does not read: <topology version="3.0">. */
static bool is_newer_format(const char *xml) {
        const char *at = strstr(xml, "<topology version=\"");

        return at && at[strlen("<topology version=\"")] > '2';
}

static int load_xml(const char *path, hwloc_topology_t *ret, char **ret_message) {
        _cleanup_hwloc_ hwloc_topology_t t = NULL;
        _cleanup_free_ char *xml = NULL;
        size_t size;
        int r;

        r = read_file_alloc_at(AT_FDCWD, path, &xml, &size);
        if (r < 0)
                return fail(ret_message, r, "cannot read %s: %s", path, strerror(-r));
        r = load_buffer(xml, size, true, &t);
        if (r >= 0 && has_marks(t))
                r = drop_marks(xml, size, &t);
        if (r < 0 && r != -ENOMEM && is_newer_format(xml))
                return fail(
                        ret_message, -EINVAL,
                        "%s is XML of hwloc 3 or later, and this program has hwloc 2; export it "
                        "with \"lstopo --export-xml-flags v2 FILE.xml\"",
                        path);
        if (r < 0)
                return fail(ret_message, r == -ENOMEM ? r : -EINVAL,
                            "hwloc cannot read %s; expected XML from \"lstopo FILE.xml\"", path);
        *ret = TAKE_PTR(t);
        return 0;
}

/* --- synthetic ------------------------------------------------------------------------------ */

/* hwloc would build as many objects as the description has. Of "package:2 [numa(memory=1GB)]
 * core:4 2" the numbers outside of brackets multiply. */
static uint64_t count_cpus(const char *description) {
        uint64_t n = 1;
        int depth = 0;

        for (const char *p = description; *p; p++) {
                bool starts = p == description || p[-1] == ' ' || p[-1] == ':';
                uint64_t number;

                depth += (*p == '[' || *p == '(') - (*p == ']' || *p == ')');
                if (depth > 0 || !starts || *p < '0' || *p > '9')
                        continue;
                number = strtoull(p, NULL, 0);
                if (number > 0 && n <= CPU_SET_MAX)
                        n = number > CPU_SET_MAX ? number : n * number;
        }
        return n;
}

static int load_synthetic(const char *description, hwloc_topology_t *ret, char **ret_message) {
        _cleanup_hwloc_ hwloc_topology_t t = NULL;
        int r;

        if (count_cpus(description) > CPU_SET_MAX)
                return fail(ret_message, -EINVAL,
                            "the machine \"%s\" has too many CPUs, expected at most %u",
                            description, CPU_SET_MAX);
        r = init(true, &t);
        if (r < 0)
                return r;
        if (hwloc_topology_set_synthetic(t, description) < 0)
                return -EINVAL;
        r = load(t);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(t);
        return 0;
}

/* hwloc's own words name the place in the description. */
static int explain_synthetic(const char *description, const char *output, char **ret_message) {
        return fail(ret_message, -EINVAL,
                    "hwloc rejects the machine \"%s\"%s%s; expected levels, each with its number "
                    "within the level before, such as \"package:2 numa:4(memory=128GiB) "
                    "core:8 pu:2\"",
                    description, output ? ": " : "", output ? output : "");
}

/* --- any ------------------------------------------------------------------------------------ */

static int load_sysroot(hwloc_topology_t *ret, char **ret_message) {
        _cleanup_hwloc_ hwloc_topology_t t = NULL;
        int r = init(true, &t);

        if (r >= 0)
                r = load(t);
        if (r < 0)
                return fail(ret_message, r, "hwloc cannot read this machine: %s", strerror(-r));
        *ret = TAKE_PTR(t);
        return 0;
}

int topology_source_load(const TopologySource *source, hwloc_topology_t *ret, char **ret_message) {
        _cleanup_free_ char *output = NULL, *message = NULL;
        TopologyEnv env;
        int r = topology_env_enter(&env, source->sysroot, true);

        if (r < 0)
                return r;
        if (source->xml)
                r = load_xml(source->xml, ret, &message);
        else if (source->synthetic)
                r = load_synthetic(source->synthetic, ret, &message);
        else
                r = load_sysroot(ret, &message);
        topology_env_leave(&env, &output);
        if (r == -EINVAL && source->synthetic && !message)
                r = explain_synthetic(source->synthetic, output, &message);
        if (r < 0 && ret_message)
                *ret_message = TAKE_PTR(message);
        return r;
}
