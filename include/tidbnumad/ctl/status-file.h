/* What the daemon publishes of its instances: /run/tidbnumad/status.json, read back. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/id-set.h"

typedef struct StatusInstance {
        char *name, *policy, *exe; /* owned, as the others */
        char *unit, *data_dir;     /* NULL: none */
        char *state, *reason;
        pid_t pid;
        uint16_t *ports;
        size_t n_ports;
        NodeSet nodes;
} StatusInstance;

typedef struct StatusFile {
        double time_seconds; /* when it was written, since the epoch */
        double sample_interval_seconds;
        bool enforcing;
        StatusInstance *instances; /* owned */
        size_t n_instances;
} StatusFile;

void status_file_done(StatusFile *status);
#define _cleanup_status_file_ _cleanup_(status_file_done)

/* -EBADMSG: not what a daemon publishes; -ENOMEM. `ret` is untouched then. */
int status_file_parse(const char *text, size_t size, StatusFile *ret);

/* Of a runtime folder. -ENOENT: no daemon has run there; other negative errno. */
int status_file_read(const char *runtime_dir, StatusFile *ret);

/* Does the daemon that wrote it still run? It writes with every sample. */
bool status_file_is_fresh(const StatusFile *status, double now_seconds);

const StatusInstance *status_file_find(const StatusFile *status, const char *name);
