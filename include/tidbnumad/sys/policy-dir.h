/* The policy files on disk, as text. What is in them is config's business. */
#pragma once

#include <stddef.h>

#include "tidbnumad/base/diagnostics.h"
#include "tidbnumad/base/source-file.h"

/* Reads `*.yaml` from the folders. A later folder has priority: its file hides the file of the same
 * name in an earlier folder, and a link to /dev/null hides that file without a replacement. Names
 * that begin with a dot are skipped; a missing folder is fine.
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
int policy_dir_read(const char *const *dirs, size_t n_dirs, SourceFileList *ret,
                    Diagnostics *errors, Diagnostics *warnings);

/* The name of a file beside the missing file `path` that may become it, or was it, such as
 * "tidb.yaml~" or ".tidb.yaml.swp" of "tidb.yaml": a name that contains its name. Where its
 * folder is missing: the same of the folder. NULL: there is none, or the folder cannot be read, or
 * `path` is there. The caller owns it. */
char *policy_dir_find_beside(const char *path);
