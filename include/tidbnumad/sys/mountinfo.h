/* The mounts that a process sees: /proc/PID/mountinfo (proc(5)). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidbnumad/sys/sysroot.h"

typedef struct Mount {
        uint64_t id;
        uint64_t parent; /* the mount that it is mounted on */
        uint32_t major;  /* of the file system; 0: none of a block device, as of tmpfs and btrfs */
        uint32_t minor;
        const char *root;  /* what of the file system is mounted; escaped */
        const char *point; /* as the process names it */
        const char *type;  /* "ext4" */
        const char *source;
        const char *point_options; /* of this mount: "ro,nosuid" */
        const char *options;       /* of the file system: "rw,cpuset" */
} Mount;

/* What the mounts point into is theirs. Paths hold any bytes. */
typedef struct MountTable {
        char *text;    /* owned */
        Mount *mounts; /* owned */
        size_t n_mounts;
        size_t allocated;
} MountTable;

void mount_table_done(MountTable *table);
#define _cleanup_mount_table_ _cleanup_(mount_table_done)

/* Turns a failure to read the mounts or the root of a process that has ended meanwhile, -ENOENT or
 * -EINVAL, into -ESRCH; any other `r` as it is. */
int mountinfo_error(int r);

/* -EBADMSG: a line is none of mountinfo. */
int mountinfo_parse(const char *text, MountTable *ret);

/* Is nothing to be written there: by the options of the mount, as in the sandbox of a service, or
 * of the file system? */
bool mount_is_read_only(const Mount *mount);

/* The mount of an absolute path without links and ".."; NULL: none. One that was mounted over
 * another hides what was below that. */
const Mount *mount_table_find(const MountTable *table, const char *path);

const Mount *mount_table_find_id(const MountTable *table, uint64_t id);

/* The mount that our descriptor `fd` is on. */
int mount_id_read(const Sysroot *sysroot, int fd, uint64_t *ret);

/* "\040" becomes a blank, and so on, in place. No other backslash changes. */
void mountinfo_unescape(char *text);
