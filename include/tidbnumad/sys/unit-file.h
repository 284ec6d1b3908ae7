/* What the files of a unit say. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "tidbnumad/base/id-set.h"
#include "tidbnumad/sys/sysroot.h"

/* Continues with the text of the next file. True: `set` is changed by it. */
bool unit_file_add(const char *text, const char *key, IdSet *set);

/* --- the text of a file that a unit names --- */

/* The text of a file that a unit names or is made of: the script of its ExecStart=, its drop-ins.
 */

enum { SCRIPT_BYTES_MAX = 64 << 10 };

/* Reads the script, or with `any` whatever text there is, at an absolute path of the host, as PID 1
 * sees it: the mount namespace of the caller may lack /home. The path may be anybody's, so nothing
 * but a regular file is opened; its file system can delay the call for ever. -ENOEXEC: a script
 * does not begin with "#!"; -E2BIG: it is longer than SCRIPT_BYTES_MAX; -EINVAL: no regular file;
 * other negative errno. `*ret` is owned by the caller. */
int script_read(const Sysroot *sysroot, const char *path, bool any, char **ret);

/* --- user names --- */

/* The uid of a user given by number, or by a name that /etc/passwd has. -ENOENT: neither. */
int user_is_local(const char *user, uid_t *ret);

/* The same for every user of the host: queries name servers, so it may take as long as they do.
 * -ENOENT: no such user. */
int user_to_uid(const char *user, uid_t *ret);

/* The same by the etc/passwd of the dump below `root`. -ENOENT also if there is no such file. */
int user_to_uid_below(const char *root, const char *user, uid_t *ret);

/* Is the user given as a number, which needs no query? */
bool user_is_number(const char *user);
