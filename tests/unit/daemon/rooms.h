/* The rooms below the one that a test is about, wired as the daemon wires them. What a test does
 * not set is empty: no policies, no bus, no timers. */
#pragma once

#include "tidbnumad/daemon/binding/binding.h"
#include "tidbnumad/daemon/sampling/sample.h"
#include "tidbnumad/daemon/undo/record.h"

typedef struct Rooms {
        Host host;
        Roster roster;
        Sampling sampling;
        Undoing undo;
        Placing placing;
        Units units;
        Binder binding;
} Rooms;

static inline void rooms_wire(Rooms *r) {
        r->roster.host = r->undo.host = r->placing.host = r->units.host = r->binding.host =
                &r->host;
        r->undo.roster = r->placing.roster = r->binding.roster = &r->roster;
        r->units.roster = &r->roster;
        r->roster.connector_fd = r->binding.drift_fd = -EBADF;
        sampling_init(&r->sampling, &r->host, &r->roster);
        undo_init(&r->undo.records, &r->host.sysroot);
        r->roster.records = &r->undo.records;
        r->placing.sampling = &r->sampling;
        r->placing.undo = r->units.undo = r->binding.undo = &r->undo;
        r->units.placing = r->binding.placing = &r->placing;
        r->binding.sampling = &r->sampling;
        r->binding.units = &r->units;
}

static inline void rooms_free_instance(Instance *i) {
        if (!i)
                return;
        binding_end(i);
        sample_end(i);
        record_end(i);
        instance_free(i);
}

static inline void rooms_free_instances(Rooms *r) {
        for (size_t i = 0; i < r->roster.n_instances; i++)
                rooms_free_instance(r->roster.instances[i]);
        free(r->roster.instances);
        instance_counts_done(&r->roster.counts);
}
