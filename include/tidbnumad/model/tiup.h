/* A topology file of TiUP: the servers of a cluster, and where in the file each of them is. Plain
 * data; config/tiup.h parses it, publish/tiup-fill.h fills it in. */
#pragma once

#include "tidbnumad/base/id-set.h"
#include "tidbnumad/base/source-file.h"

typedef enum TiupComponent { TIUP_PD, TIUP_TIDB, TIUP_TIKV, N_TIUP_COMPONENTS } TiupComponent;

const char *tiup_component_to_string(TiupComponent component); /* "tidb": of its unit, too */
const char *tiup_component_to_exe(TiupComponent component);    /* "tidb-server" */

typedef struct TiupServer {
        TiupComponent component;
        char *host;            /* owned, as the other strings */
        char *unit;            /* "tidb-4000.service" */
        char *name;            /* "tidb-4000" */
        uint16_t ports[2];     /* that clients use, and the second one */
        char *data_dir;        /* NULL: none, or relative to a directory that is not known */
        uint64_t memory_limit; /* resource_control.memory_limit; 0: none, or a percentage */
        NodeSet nodes;         /* `numa_node`; empty: not given */
        char **settings; /* keys of `config`, with dots: "readpool.unified.max-thread-count" */
        size_t n_settings, settings_allocated;
        SourceSpan at;        /* its first key */
        SourceSpan host_at;   /* the value of `host` */
        SourceSpan numa_at;   /* the value of `numa_node`; line 0: not given */
        SourceSpan config_at; /* the first key of `config`; line 0: no such key */
        bool in_lines;        /* one key a line: nothing can be filled into braces and aliases */
        bool config_fits;     /* likewise, `config`; also: there is none */
} TiupServer;

typedef struct TiupTopology {
        TiupServer *servers; /* in file order; owned */
        size_t n_servers, allocated;
        size_t n_others; /* servers of sections that are not planned, such as tiflash_servers */
} TiupTopology;

void tiup_topology_done(TiupTopology *topology);
#define _cleanup_tiup_topology_ _cleanup_(tiup_topology_done)

/* Is there a key of `config` for this setting? */
bool tiup_server_sets(const TiupServer *server, const char *setting);
