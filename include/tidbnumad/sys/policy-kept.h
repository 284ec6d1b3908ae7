/* The policy files that were last in force, as one file of the runtime folder: a daemon that starts
 * while those of the policy folders are refused uses them again. The folder is in /run, so they are
 * never older than the boot. */
#pragma once

#include "tidbnumad/base/source-file.h"

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
