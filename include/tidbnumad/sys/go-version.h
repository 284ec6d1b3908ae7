/* The version of Go that built a program, from the build information that Go's linker puts into the
 * section .go.buildinfo of an ELF file (debug/buildinfo of Go's library). A program up to Go 1.24
 * counts its CPUs once, when it starts; a later one follows them (GOMAXPROCS in runtime of Go
 * 1.25). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tidbnumad/sys/proc.h"

typedef struct GoVersion {
        uint32_t major, minor; /* 1, 25 */
} GoVersion;

/* Reads at most `size` bytes of the file from `offset` on: as pread(2), or -errno. */
typedef ssize_t (*GoFileRead)(uint64_t offset, void *buffer, size_t size, void *userdata);

/* -ENODATA: not a program by Go, whatever else the file is; `ret` is untouched then. It may be
 * anything: at most 64 KiB of it are read. */
int go_version_parse(GoFileRead read, void *userdata, GoVersion *ret);

/* The same of the program that a process runs. May wait for the server of its file system. -ESRCH,
 * -EACCES and other negative errno. */
int go_version_read(const ProcHandle *handle, GoVersion *ret);

bool go_version_follows_cpus(const GoVersion *version);
