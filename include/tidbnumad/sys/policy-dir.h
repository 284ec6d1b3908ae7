/* The policy files on disk, as text. What is in them is config's business. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "tidbnumad/base/diagnostics.h"

/* Reads `*.yaml` from the folders. A later folder has priority: its file hides the file of the same
 * name in an earlier folder, and a link to /dev/null hides that file without a replacement. Names
 * that begin with a dot are skipped; a missing folder is fine, unless the command line has `named`
 * it.
 *
 * Refused, with a message in `errors`: a folder or a file that others than its owner can write or
 * that belongs neither to root nor to the caller; a link, unless it leads to a regular file
 * directly in one of these folders; what is not a regular file; a file above
 * SOURCE_FILE_MAX_BYTES; what cannot be read.
 *
 * Warned of: a file whose name does not end in `.yaml`, which is not read.
 *
 * Returns 0 and the files in the order of their names (byte order, as strcmp(3)); -EINVAL after a
 * refusal, with everything that is wrong in `errors`; -ENOMEM. `ret` is untouched on failure. */
int policy_dir_read(const char *const *dirs, size_t n_dirs, bool named, SourceFileList *ret,
                    Diagnostics *errors, Diagnostics *warnings);

/* The name of a file beside the missing file `path` that may become it, or was it, such as
 * "tidb.yaml~" or ".tidb.yaml.swp" of "tidb.yaml": a name that contains its name. Where its
 * folder is missing: the same of the folder. NULL: there is none, or the folder cannot be read, or
 * `path` is there. The caller owns it. */
char *policy_dir_find_beside(const char *path);

/* --- the policies that were last in force --- */

/* The policy files that were last in force, as one file of the runtime folder: a daemon that starts
 * while those of the policy folders are refused uses them again. The folder is in /run, so they are
 * never older than the boot. */

#define POLICY_KEPT_FILE "policies.kept"

/* What is kept at most; more than a hundred times what 1,024 policies take. */
#define POLICY_KEPT_MAX_BYTES ((size_t)16 << 20)

/* Replaces what is kept, by a rename. Only root can read it. -EFBIG: more than is kept; -ENOMEM,
 * -ENOSPC, … After an error nothing is kept, because what was there is out of date; its file stays,
 * so that no room becomes free on a full file system. */
int policy_kept_write(int runtime_fd, const SourceFileList *files);

/* 1: `ret` has the files, with their former paths; no files may be what was in force. 0: nothing is
 * kept. -EPERM: it is not root's alone; -EBADMSG: it was not written by policy_kept_write(); others
 * as of private_file_read(). `ret` is untouched unless 1. */
int policy_kept_read(int runtime_fd, SourceFileList *ret);

/* What policy_kept_read() reads, from memory: 0, -EBADMSG or -ENOMEM. */
int policy_kept_parse(const char *text, size_t size, SourceFileList *ret);
