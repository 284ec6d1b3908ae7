#include "tidbnumad/daemon/binding/binding.h"
#include "tidbnumad/daemon/placing/place.h"
#include "tidbnumad/daemon/registry/registry.h"
#include "tidbnumad/daemon/undo/undoing.h"

/* A process may be in the unit of a bound service for a moment only (ExecReload=, ExecStop=). */
#define SHARED_USEC (UINT64_C(10) * 1000 * 1000)

/* A unit that was shared until now may soon be again. */
#define ALONE_USEC (UINT64_C(60) * 1000 * 1000)

/* The plan for the present means is made within this time. */
#define PLANNED_USEC (UINT64_C(100) * 1000)

static const char kept[] =
        "it was bound so before; release it or restart it for a stronger binding";

/* A unit is read within milliseconds where systemd has the time. */
#define READ_USEC (UINT64_C(5) * 1000 * 1000)
#define READ_AGAIN_USEC (UINT64_C(100) * 1000)

static BindMeans choose(const Binder *b, const Instance *i) {
        BindMethodInput in =
                bind_method_input_of(&i->facts, i->binding.observed.alone,
                                     backend_kind(&b->host->backend), b->host->backend.weaker);

        in.start = units_start_refuses(b->units, i->unit, &i->binding.placement, NULL);
        if (bind_method_needs_scope(&in))
                in.no_scope = bind_refuses_scope(b, i, &in.no_scope_code);
        return bind_means_choose(&in);
}

static bool has_own_directory(const UndoRecord *record) {
        for (size_t k = 0; k < record->n_processes; k++)
                if (record->processes[k].cpuset)
                        return true;
        return false;
}

/* Is it bound by a means that would stay in force beside the next one? */
static bool is_bound_otherwise(const UndoRecord *record, BindMethod next) {
        if (!record)
                return false;
        switch (next) {
        case METHOD_AFFINITY:
                return undo_record_has_unit(record) || record->scope || has_own_directory(record);
        case METHOD_UNIT:
        case METHOD_SCOPE:
                return record->given.n > 0;
        case METHOD_NONE:
        case METHOD_DIRECTORY:
                break;
        }
        return false;
}

static BindMeans present(const UndoRecord *record, BindMethod next) {
        if (next != METHOD_AFFINITY)
                return (BindMeans){ .method = METHOD_AFFINITY, .why = kept };
        return (BindMeans){ .method = record->scope ? METHOD_SCOPE
                                      : record->cpus.noted && undo_record_has_unit(record)
                                              ? METHOD_UNIT
                                              : METHOD_DIRECTORY };
}

/* A change of the policy applies at once. A process without a service keeps its means: not all
 * limits of its scope are known before it is about to leave it. */
static bool is_to_change(const Instance *i, const BindMeans *next, uint64_t now_usec) {
        const InstanceBinding *own = &i->binding;
        const uint64_t since_usec = now_usec - own->method_since_usec;

        if (next->method == METHOD_AFFINITY)
                return next->code == REASON_NONE || since_usec >= SHARED_USEC;
        if (own->means.why != kept && own->means.code == REASON_NONE)
                return true;
        return next->method == METHOD_UNIT && since_usec >= ALONE_USEC;
}

/* Only queues a plan: one timer then makes one plan for all changes. One plan for each of a
 * thousand processes would block the loop for minutes. */
static void take(const Binder *b, Instance *i, const BindMeans *next) {
        const BackendKind backend = instance_backend(i, &b->host->backend);
        const BindMethod before = i->binding.means.method;

        i->binding.means = *next;
        if (instance_is_service(i))
                units_note_shared(b->units, i->unit, next->code == REASON_SHARED_UNIT);
        if (instance_backend(i, &b->host->backend) != backend)
                place_note_backend(b->placing, i);
        if (before != next->method)
                host_queue(b->host, HOST_WORK_PUBLISH);
}

/* The observation was made with the former means. */
static bool take_now(const Binder *b, Instance *i, const BindMeans *next, uint64_t now_usec) {
        const BackendKind before = instance_backend(i, &b->host->backend);

        i->binding.method_since_usec = 0;
        take(b, i, next);
        if (instance_backend(i, &b->host->backend) == before)
                return false;
        binding_reset_cpus(i);
        i->binding.progress = (Progress){ 0 };
        i->binding.due_usec = now_usec + PLANNED_USEC;
        return true;
}

bool method_follow(const Binder *b, Instance *i, uint64_t now_usec) {
        UndoRecord *record = i->undo.record;
        BindMeans next;

        if (!b->host->backend.ops && b->host->sysroot.live)
                return false; /* nothing can be enforced here, as its state reports */
        next = choose(b, i);
        /* What its start asks for is not known yet. */
        if (!record &&
            (units_start_is_late(b->units, i->unit) ||
             (i->binding.means.method == METHOD_NONE && next.method == METHOD_UNIT &&
              units_is_reading(b->units, i->unit) && now_usec < i->first_seen_usec + READ_USEC))) {
                i->binding.due_usec = now_usec + READ_AGAIN_USEC;
                return true;
        }
        if (!is_bound_otherwise(record, next.method))
                return take_now(b, i, &next, now_usec);
        if (i->binding.means.method == METHOD_NONE) {
                const BindMeans now = present(record, next.method);

                take(b, i, &now);
        }
        if (i->binding.method_since_usec == 0)
                i->binding.method_since_usec = now_usec;
        if (!host_enforces(b->host) || !is_to_change(i, &next, now_usec))
                return false;
        i->binding.method_since_usec = 0;
        undo_release_begin(b->undo, record, "it is to be bound by other means");
        return true;
}
