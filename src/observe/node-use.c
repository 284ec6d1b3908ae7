/* How much memory the nodes have free. */
#include <errno.h>
#include <stdlib.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/observe/node-use.h"
#include "tidbnumad/sys/node.h"
#include "tidbnumad/sys/pages.h"

int node_watermarks_load(const Sysroot *sysroot, const Topology *topology, uint64_t **ret) {
        uint64_t *watermarks = calloc(topology->n_nodes + 1, sizeof(*watermarks));

        if (!watermarks)
                return -ENOMEM;
        for (size_t i = 0; i < topology->n_nodes; i++) {
                uint64_t pages;

                if (zoneinfo_high_read(sysroot, topology->nodes[i].id, &pages) == 0)
                        watermarks[i] = pages * page_size_bytes();
        }
        *ret = watermarks;
        return 0;
}

int node_use_read(const Sysroot *sysroot, uint32_t node, uint64_t watermark_bytes, NodeUse *ret) {
        NodeMeminfo info;
        uint64_t unclean;
        int r = node_meminfo_read(sysroot, node, &info);

        if (r < 0)
                return r;
        unclean = info.dirty_bytes + info.writeback_bytes;
        *ret = (NodeUse){
                .total_bytes = info.total_bytes,
                .free_bytes = info.free_bytes,
                .idle_file_bytes =
                        info.inactive_file_bytes > unclean ? info.inactive_file_bytes - unclean : 0,
                .active_file_bytes = info.active_file_bytes,
                .high_watermark_bytes = watermark_bytes,
        };
        return 0;
}

int node_use_load(const Sysroot *sysroot, const Topology *topology, const uint64_t *watermarks,
                  NodeUse **ret) {
        _cleanup_free_ NodeUse *uses = calloc(topology->n_nodes + 1, sizeof(*uses));
        size_t n_read = 0;

        if (!uses)
                return -ENOMEM;
        for (size_t i = 0; i < topology->n_nodes; i++) {
                int r = node_use_read(sysroot, topology->nodes[i].id, watermarks[i], &uses[i]);

                if (r < 0 && r != -ENODEV)
                        return r;
                n_read += r >= 0;
        }
        if (n_read == 0)
                return -ENODEV;
        *ret = TAKE_PTR(uses);
        return 0;
}
