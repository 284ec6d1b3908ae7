/* hwloc takes another machine's root, and which of its back ends to trust, from the environment
 * only, and it prints why it refuses something to standard error only. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "tidbnumad/world/topology-env.h"

static void unset_all(void) {
        for (char **v = environ; v && *v;) {
                _cleanup_free_ char *name = NULL;

                if (strncmp(*v, "HWLOC_", strlen("HWLOC_")) == 0)
                        name = strndup(*v, strcspn(*v, "="));
                if (!name || unsetenv(name) < 0)
                        v++; /* else the next one is here now */
        }
}

/* Nodes that hwloc would drop by itself: those whose CPUs another node lists too, and GPU memory.
 * hwloc also writes no banner of twelve lines about contradictory firmware tables: the relevant
 * facts are in our notes. hwloc reads the last variable once in a process's life. */
static int keep_all_nodes(void) {
        return setenv("HWLOC_DEBUG_ALLOW_OVERLAPPING_NODE_CPUSETS", "1", 1) < 0 ||
                               setenv("HWLOC_KEEP_NVIDIA_GPU_NUMA_NODES", "1", 1) < 0 ||
                               setenv("HWLOC_HIDE_ERRORS", "2", 1) < 0
                       ? -errno
                       : 0;
}

static int point_at(const Sysroot *sysroot) {
        if (!sysroot || sysroot->live)
                return 0;
        if (setenv("HWLOC_FSROOT", sysroot->path, 1) < 0 ||
            setenv("HWLOC_THISSYSTEM", "0", 1) < 0 ||
            setenv("HWLOC_COMPONENTS", "linux,stop", 1) < 0)
                return -errno;
        return 0;
}

/* Where that cannot be, hwloc's messages go to standard error. */
static void capture_stderr(TopologyEnv *env) {
        int output = memfd_create("hwloc", MFD_CLOEXEC);
        int real = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

        (void)setenv("HWLOC_XML_VERBOSE", "1", 1);
        (void)setenv("HWLOC_SYNTHETIC_VERBOSE", "1", 1);
        if (output >= 0 && real >= 0 && dup2(output, STDERR_FILENO) >= 0) {
                env->output_fd = output;
                env->stderr_fd = real;
                return;
        }
        closep(&output);
        closep(&real);
}

int topology_env_enter(TopologyEnv *env, const Sysroot *sysroot, bool capture) {
        int r;

        *env = (TopologyEnv){ .stderr_fd = -EBADF, .output_fd = -EBADF };
        unset_all();
        r = keep_all_nodes();
        if (r >= 0)
                r = point_at(sysroot);
        if (r < 0) {
                topology_env_leave(env, NULL);
                return r;
        }
        if (capture)
                capture_stderr(env);
        return 0;
}

/* "hwloc/synthetic: Description with …" becomes "Description with …". */
static char *render_output(int fd) {
        static const char own_name[] = "hwloc/";
        char text[512];
        const char *line = text;
        ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

        if (n <= 0)
                return NULL;
        text[n] = '\0';
        text[strcspn(text, "\n")] = '\0';
        if (strncmp(line, own_name, strlen(own_name)) == 0 && strstr(line, ": "))
                line = strstr(line, ": ") + 2;
        return *line ? strdup(line) : NULL;
}

void topology_env_leave(TopologyEnv *env, char **ret_output) {
        if (env->stderr_fd >= 0)
                (void)dup2(env->stderr_fd, STDERR_FILENO);
        if (ret_output)
                *ret_output = env->output_fd >= 0 ? render_output(env->output_fd) : NULL;
        closep(&env->stderr_fd);
        closep(&env->output_fd);
        unset_all();
}
