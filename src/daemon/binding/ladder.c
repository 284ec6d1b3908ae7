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

static Ladder choose(const Binder *b, const Instance *i) {
        LadderInput in = ladder_input_of(&i->facts, i->binding.observed.alone,
                                         backend_kind(&b->host->backend), b->host->backend.weaker);

        in.start = units_start_refuses(b->units, i->unit, &i->binding.placement, NULL);
        if (ladder_needs_scope(&in))
                in.no_scope = bind_refuses_scope(b, i, &in.no_scope_code);
        return ladder_choose(&in);
}

static bool has_own_directory(const UndoRecord *record) {
        for (size_t k = 0; k < record->n_processes; k++)
                if (record->processes[k].cpuset)
                        return true;
        return false;
}

/* Is it bound by a means that would stay in force beside the next one? */
static bool is_bound_otherwise(const UndoRecord *record, Rung next) {
        if (!record)
                return false;
        switch (next) {
        case RUNG_AFFINITY:
                return undo_record_has_unit(record) || record->scope || has_own_directory(record);
        case RUNG_UNIT:
        case RUNG_SCOPE:
                return record->given.n > 0;
        case RUNG_NONE:
        case RUNG_DIRECTORY:
                break;
        }
        return false;
}

static Ladder present(const UndoRecord *record, Rung next) {
        if (next != RUNG_AFFINITY)
                return (Ladder){ .rung = RUNG_AFFINITY, .why = kept };
        return (Ladder){ .rung = record->scope ? RUNG_SCOPE
                                 : record->unit_noted && undo_record_has_unit(record)
                                         ? RUNG_UNIT
                                         : RUNG_DIRECTORY };
}

/* A change of the policy applies at once. A process without a service keeps its means: not all
 * limits of its scope are known before it is about to leave it. */
static bool is_to_change(const Instance *i, const Ladder *next, uint64_t now_usec) {
        const InstanceBinding *own = &i->binding;
        const uint64_t since_usec = now_usec - own->ladder_since_usec;

        if (next->rung == RUNG_AFFINITY)
                return next->code == REASON_NONE || since_usec >= SHARED_USEC;
        if (own->ladder.why != kept && own->ladder.code == REASON_NONE)
                return true;
        return next->rung == RUNG_UNIT && since_usec >= ALONE_USEC;
}

/* Only marks the plan: one timer then makes one plan for all changes. One plan for each of a
 * thousand processes would block the loop for minutes. */
static void take(const Binder *b, Instance *i, const Ladder *next) {
        const BackendKind backend = instance_backend(i, &b->host->backend);
        const Rung before = i->binding.ladder.rung;

        i->binding.ladder = *next;
        if (instance_is_service(i))
                units_note_shared(b->units, i->unit, next->code == REASON_SHARED_UNIT);
        if (instance_backend(i, &b->host->backend) != backend)
                place_note_backend(b->placing, i);
        if (before != next->rung)
                host_mark(b->host, HOST_MARK_PUBLISH);
}

/* The observation was made with the former means. */
static bool take_now(const Binder *b, Instance *i, const Ladder *next, uint64_t now_usec) {
        const BackendKind before = instance_backend(i, &b->host->backend);

        i->binding.ladder_since_usec = 0;
        take(b, i, next);
        if (instance_backend(i, &b->host->backend) == before)
                return false;
        binding_reset_cpus(i);
        i->binding.progress = (Progress){ 0 };
        i->binding.due_usec = now_usec + PLANNED_USEC;
        return true;
}

bool ladder_follow(const Binder *b, Instance *i, uint64_t now_usec) {
        UndoRecord *record = i->undo.record;
        Ladder next;

        if (!b->host->backend.ops && b->host->sysroot.live)
                return false; /* nothing can be enforced here, as its state reports */
        next = choose(b, i);
        /* What its start asks for is not known yet. */
        if (!record &&
            (units_start_is_late(b->units, i->unit) ||
             (i->binding.ladder.rung == RUNG_NONE && next.rung == RUNG_UNIT &&
              units_is_reading(b->units, i->unit) && now_usec < i->first_seen_usec + READ_USEC))) {
                i->binding.due_usec = now_usec + READ_AGAIN_USEC;
                return true;
        }
        if (!is_bound_otherwise(record, next.rung))
                return take_now(b, i, &next, now_usec);
        if (i->binding.ladder.rung == RUNG_NONE) {
                const Ladder now = present(record, next.rung);

                take(b, i, &now);
        }
        if (i->binding.ladder_since_usec == 0)
                i->binding.ladder_since_usec = now_usec;
        if (!host_enforces(b->host) || !is_to_change(i, &next, now_usec))
                return false;
        i->binding.ladder_since_usec = 0;
        undo_release_begin(b->undo, record, "it is to be bound by other means");
        return true;
}
