/* The host of tests of binding and giving back, and operations on it that fail as the test says.
 *
 * It is two sets, the CPUs and the memory nodes of one process in one unit. After every operation
 * it is asked what a new life of the daemon would know, by the files alone: nothing may stand that
 * no record speaks of. In the end all must be as it was, and no record left. */
#pragma once

#include "../../support/test.h"

#include "../../support/child-process.h"
#include "../../support/fake-tree.h"
#include "rooms.h"
#include "tidbnumad/daemon/binding/binding.h"
#include "tidbnumad/daemon/registry/registry.h"
#include "tidbnumad/daemon/undo/undoing.h"
#include "tidbnumad/sys/atomic-file.h"

typedef enum Harm {
        FAIL_BEFORE, /* nothing was done */
        FAIL_AFTER,  /* it was done, and the answer was lost */
        KILL_BEFORE, /* the daemon is killed */
        KILL_AFTER,
        N_HARMS,
} Harm;

/* The kernel and systemd, which outlive the daemon. */
typedef struct World {
        FakeTree folder;
        pid_t pid;
        CpuSet cpus;
        NodeSet mems;
        const BackendOps *ops; /* of the backend in use */

        unsigned n_operations, harm_at; /* the operation that is harmed; 0: none */
        Harm harm;
        int error;
        bool dead; /* the daemon was killed: nothing that it does has any effect */
} World;

static World world;

static const char *const BEFORE_CPUS = "0-3", *const BEFORE_MEMS = "0-1",
                         *const WIDENED_MEMS = "1-2";

static inline bool is(IdView set, const char *list) {
        char text[ID_SET_LIST_MAX];

        return id_view_render_list(set, text, sizeof(text)) >= 0 && strcmp(text, list) == 0;
}

/* --- what a new life would know --- */

static inline void on_bad_file(const char *name, int error, void *userdata) {
        (void)userdata;
        fail_msg("%s: %d", name, error);
}

static inline void assert_nothing_unknown(void) {
        _cleanup_sysroot_ Sysroot sysroot = SYSROOT_NONE;
        const UndoRecord *r;
        Undo undo;

        if (is(ID_VIEW(&world.cpus), BEFORE_CPUS) && is(ID_VIEW(&world.mems), BEFORE_MEMS))
                return;
        assert_int_equal(sysroot_open(NULL, &sysroot), 0);
        undo_init(&undo, &sysroot);
        assert_int_equal(undo_open(&undo, world.folder.fd), 0);
        assert_int_equal(undo_load(&undo, on_bad_file, NULL), 0);
        assert_int_equal(undo.n_records, 1);
        r = undo.records[0];
        if (world.ops->kind == BACKEND_SYSTEMD) {
                assert_true(r->cpus.noted);
                assert_true(is(undo_property_before(&r->cpus), BEFORE_CPUS) &&
                            is(undo_property_before(&r->mems), BEFORE_MEMS));
                assert_true(is(ID_VIEW(&world.cpus), BEFORE_CPUS) ||
                            undo_values_have(&r->cpus.ours, ID_VIEW(&world.cpus)));
                /* What the guard opens in haste is told in the record afterwards: it opens nothing
                 * of which there is no record. */
                assert_true(is(ID_VIEW(&world.mems), BEFORE_MEMS) ||
                            is(ID_VIEW(&world.mems), WIDENED_MEMS) ||
                            undo_values_have(&r->mems.ours, ID_VIEW(&world.mems)));
        } else {
                assert_int_equal(r->n_processes, 1);
                assert_true(is(ID_VIEW(undo_process_mask(&r->processes[0], world.pid, 0)),
                               BEFORE_CPUS));
                assert_true(undo_values_have(&r->given, ID_VIEW(&world.cpus)));
        }
        undo_done(&undo);
}

/* --- operations that fail --- */

/* 0: it goes on; negative: it failed, after `effect` or without. */
static inline int operate(void (*effect)(const void *), const void *argument) {
        const bool harmed = ++world.n_operations == world.harm_at && !world.dead;

        if (world.dead)
                return -EIO;
        if (effect && (!harmed || world.harm == FAIL_AFTER || world.harm == KILL_AFTER))
                effect(argument);
        world.dead = harmed && world.harm >= KILL_BEFORE;
        assert_nothing_unknown();
        return world.dead ? -EIO : harmed ? -world.error : 0;
}

int __real_atomic_file_write(int dir_fd, const char *name, const char *data, size_t size,
                             mode_t mode);
int __wrap_atomic_file_write(int dir_fd, const char *name, const char *data, size_t size,
                             mode_t mode);

typedef struct Write {
        int dir_fd;
        const char *name, *data;
        size_t size;
        mode_t mode;
} Write;

static inline void do_write(const void *argument) {
        const Write *w = argument;

        assert_int_equal(__real_atomic_file_write(w->dir_fd, w->name, w->data, w->size, w->mode),
                         0);
}

int __wrap_atomic_file_write(int dir_fd, const char *name, const char *data, size_t size,
                             mode_t mode) {
        const Write w = { dir_fd, name, data, size, mode };

        return operate(do_write, &w);
}

static inline void do_cpus(const void *argument) {
        world.cpus = *(const CpuSet *)argument;
}

static inline void do_mems(const void *argument) {
        world.mems = *(const NodeSet *)argument;
}

/* Like systemd, it answers later; like the others, at once. */
static inline int answer(int r, const BackendCall *call) {
        if (world.ops->kind != BACKEND_SYSTEMD || (r < 0 && world.error % 2))
                return r < 0 ? r : 1;
        call->reply(&(Error){ .code = r }, call->userdata);
        return 0;
}

static inline int set_cpus(Backend *backend, const BackendTarget *target, const CpuSet *cpus,
                           BackendCall *call) {
        (void)backend;
        (void)target;
        return answer(operate(do_cpus, cpus), call);
}

static inline int set_mems(Backend *backend, const BackendTarget *target, const NodeSet *mems,
                           BackendCall *call) {
        (void)backend;
        (void)target;
        return answer(operate(do_mems, mems), call);
}

static inline int widen_mems(Backend *backend, const BackendTarget *target, const NodeSet *mems) {
        (void)backend;
        (void)target;
        return operate(do_mems, mems);
}

static inline void note_unit(UndoRecord *r) {
        assert_true(is(ID_VIEW(&world.cpus), BEFORE_CPUS) && is(ID_VIEW(&world.mems), BEFORE_MEMS));
        assert_int_equal(undo_property_set(&r->cpus, ID_VIEW(&world.cpus), UNDO_RUNTIME), 0);
        assert_int_equal(undo_property_set(&r->mems, ID_VIEW(&world.mems), UNDO_RUNTIME), 0);
        r->stale = true;
}

static inline int note_process(const BackendTarget *target, UndoRecord *r) {
        UndoProcess *p = undo_record_find(r, &target->members[0].process.id);

        if (p)
                return 0;
        assert_true(is(ID_VIEW(&world.cpus),
                       BEFORE_CPUS)); /* what is ours is never taken for what was */
        assert_int_equal(undo_record_add(r, &target->members[0].process.id, &p), 0);
        p->noted_ticks = UINT32_MAX;
        return undo_process_add_thread(p, world.pid, &world.cpus);
}

static inline int note(Backend *backend, const BackendTarget *target, BackendNote *n,
                       BackendCall *call) {
        int r = operate(NULL, NULL);

        (void)backend;
        if (world.ops->kind != BACKEND_SYSTEMD)
                return r < 0 ? r : note_process(target, n->record) < 0 ? -ENOMEM : 1;
        if (n->record->cpus.noted)
                return r < 0 ? r : 1;
        if (r >= 0)
                note_unit(n->record);
        return answer(r, call);
}

static inline int restore_systemd(Backend *backend, UndoRestore *restore, BackendCall *call) {
        UndoRecord *r = restore->record;

        (void)backend;
        switch (restore->stage) {
        case RESTORE_READ:
                assert_non_null(restore->undo); /* what it opens is to be written down */
                if (!undo_record_has_unit(r))
                        return 1;
                restore->stage = RESTORE_WIDEN;
                return answer(operate(NULL, NULL), call);
        case RESTORE_WIDEN:
                restore->stage = RESTORE_WIDENING;
                return answer(operate(do_mems, undo_property_before(&r->mems).words), call);
        case RESTORE_WIDENING:
                restore->stage = RESTORE_CLEAR;
                return -EAGAIN;
        default:
                restore->stage = RESTORE_CHECK;
                if (is(ID_VIEW(&world.cpus), BEFORE_CPUS))
                        return 1;
                return answer(operate(do_cpus, undo_property_before(&r->cpus).words), call);
        }
}

static inline int restore_others(Backend *backend, UndoRestore *restore, BackendCall *call) {
        const UndoRecord *r = restore->record;
        int result = 0;

        (void)backend;
        (void)call;
        if (r->n_processes > 0)
                result = operate(do_cpus, undo_process_mask(&r->processes[0], world.pid, 0));
        return result < 0 ? result : 1;
}

static const BackendOps systemd_ops = {
        .name = "systemd",
        .kind = BACKEND_SYSTEMD,
        .set_cpus = set_cpus,
        .set_mems = set_mems,
        .note = note,
        .restore = restore_systemd,
        .widen_mems = widen_mems,
};
static const BackendOps cgroup1_ops = {
        .name = "cgroup1",
        .kind = BACKEND_CGROUP1,
        .set_cpus = set_cpus,
        .note = note,
        .restore = restore_others,
};
static const BackendOps affinity_ops = {
        .name = "affinity",
        .kind = BACKEND_AFFINITY,
        .set_cpus = set_cpus,
        .note = note,
        .restore = restore_others,
};
static const BackendOps *const ALL[] = {
        [BACKEND_SYSTEMD] = &systemd_ops,
        [BACKEND_CGROUP1] = &cgroup1_ops,
        [BACKEND_AFFINITY] = &affinity_ops,
};
