#include <stdlib.h>
#include <string.h>

#include "tidbnumad/model/tiup.h"

const char *tiup_component_to_string(TiupComponent component) {
        static const char *const names[N_TIUP_COMPONENTS] = { "pd", "tidb", "tikv" };

        return names[component];
}

const char *tiup_component_to_exe(TiupComponent component) {
        static const char *const names[N_TIUP_COMPONENTS] = { "pd-server", "tidb-server",
                                                              "tikv-server" };

        return names[component];
}

static void server_done(TiupServer *server) {
        for (size_t i = 0; i < server->n_settings; i++)
                free(server->settings[i]);
        free(server->settings);
        free(server->host);
        free(server->unit);
        free(server->name);
        free(server->data_dir);
}

void tiup_topology_done(TiupTopology *topology) {
        for (size_t i = 0; i < topology->n_servers; i++)
                server_done(&topology->servers[i]);
        free(topology->servers);
        *topology = (TiupTopology){ 0 };
}

bool tiup_server_sets(const TiupServer *server, const char *setting) {
        for (size_t i = 0; i < server->n_settings; i++)
                if (strcmp(server->settings[i], setting) == 0)
                        return true;
        return false;
}
