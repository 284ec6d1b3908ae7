/* The folder of records: what is in it, in memory and as files. */
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/base/text.h"
#include "tidbnumad/change/undo.h"
#include "tidbnumad/sys/atomic-file.h"
#include "tidbnumad/sys/cgroup.h"
#include "tidbnumad/sys/proc.h"

/* --- the CPUs of starts --- */

/* A line of 5 KiB for each policy of a machine of 1,024 CPUs. */
#define STARTS_MAX_BYTES ((size_t)4 << 20)
#define KIND_START "start"

void undo_starts_done(UndoStarts *starts) {
        free(starts->cpus);
        *starts = (UndoStarts){ 0 };
}

int undo_starts_add(UndoStarts *starts, const CpuSet *cpus) {
        for (size_t i = 0; i < starts->n; i++)
                if (id_set_equal(&starts->cpus[i], cpus))
                        return 0;
        if (ARRAY_RESERVE(starts->cpus, starts->allocated, starts->n + 1) < 0)
                return -ENOMEM;
        starts->cpus[starts->n++] = *cpus;
        return 0;
}

int undo_starts_write(int dir_fd, const UndoStarts *starts) {
        _cleanup_free_ char *text = NULL;
        json_t *list;
        size_t size;
        int r;

        if (dir_fd < 0)
                return -EBADF;
        if (starts->n == 0)
                return unlinkat(dir_fd, UNDO_STARTS_FILE, 0) < 0 && errno != ENOENT ? -errno : 0;
        list = json_array();
        for (size_t i = 0; i < starts->n; i++)
                record_append(&list, KIND_START, json_null(), json_null(),
                              json_pack("[o]", record_from_set(ID_VIEW(&starts->cpus[i]))));
        r = record_render(NULL, NULL, list, &text, &size);
        return r < 0 ? r : atomic_file_write(dir_fd, UNDO_STARTS_FILE, text, size, 0600);
}

static int read_start(const RecordEntry *e, void *userdata) {
        CpuSet cpus;

        if (strcmp(e->kind, KIND_START) != 0 || json_array_size(e->ours) != 1 ||
            record_to_set(json_array_get(e->ours, 0), ID_TARGET(&cpus)) < 0 ||
            id_set_is_empty(&cpus))
                return -EBADMSG;
        return undo_starts_add(userdata, &cpus);
}

int undo_starts_parse(const char *text, size_t size, UndoStarts *ret) {
        _cleanup_undo_starts_ UndoStarts starts = { 0 };
        _cleanup_(json_decrefp) json_t *root = NULL;
        int r = record_parse(text, size, &root);

        if (r >= 0)
                r = record_read(root, read_start, &starts);
        if (r < 0)
                return r;
        *ret = TAKE_STRUCT(starts);
        return 0;
}

int undo_starts_read(int dir_fd, UndoStarts *ret) {
        _cleanup_free_ char *text = NULL;
        size_t size;
        int r = private_file_read(dir_fd, UNDO_STARTS_FILE, STARTS_MAX_BYTES, &text, &size);

        return r < 0 ? r : undo_starts_parse(text, size, ret);
}

/* --- the records of instances --- */

void undo_init(Undo *undo, const Sysroot *sysroot) {
        *undo = (Undo){ .sysroot = sysroot, .dir_fd = -EBADF };
}

void undo_done(Undo *undo) {
        for (size_t i = 0; i < undo->n_records; i++)
                undo_record_free(undo->records[i]);
        free(undo->records);
        for (size_t i = 0; i < undo->n_leftovers; i++)
                free(undo->leftovers[i]);
        free(undo->leftovers);
        undo_starts_done(&undo->former);
        undo_record_done(&undo->host);
        closep(&undo->dir_fd);
        *undo = (Undo){ .dir_fd = -EBADF };
}

int undo_open(Undo *undo, int runtime_fd) {
        return private_dir_open(runtime_fd, UNDO_FOLDER, &undo->dir_fd);
}

/* --- finding --- */

UndoRecord *undo_find(const Undo *undo, const char *unit, const ProcessId *id) {
        for (size_t i = 0; i < undo->n_records; i++) {
                UndoRecord *r = undo->records[i];

                if (unit ? r->unit && strcmp(r->unit, unit) == 0
                         : !r->unit && id && undo_record_find(r, id))
                        return r;
        }
        return NULL;
}

UndoRecord *undo_find_scope(const Undo *undo, const char *scope) {
        for (size_t i = 0; i < undo->n_records; i++)
                if (undo->records[i]->scope && strcmp(undo->records[i]->scope, scope) == 0)
                        return undo->records[i];
        return NULL;
}

static int record_take_in(Undo *undo, UndoRecord *record) {
        if (ARRAY_RESERVE(undo->records, undo->allocated, undo->n_records + 1) < 0)
                return -ENOMEM;
        undo->records[undo->n_records++] = record;
        return 0;
}

int undo_get(Undo *undo, const char *instance, const char *unit, const ProcessId *id,
             UndoRecord **ret) {
        UndoRecord *record = undo_find(undo, unit, id);
        int r;

        if (!record) {
                r = undo_record_new(instance, unit, &record);
                if (r < 0)
                        return r;
                r = record_take_in(undo, record);
                if (r < 0) {
                        undo_record_free(record);
                        return r;
                }
        }
        *ret = record;
        return 0;
}

/* --- writing --- */

static void leftover_drop(Undo *undo, size_t at) {
        free(undo->leftovers[at]);
        undo->leftovers[at] = undo->leftovers[--undo->n_leftovers];
}

/* Zeros: there is no such file. */
static UndoFileState file_state(int dir_fd, const char *name) {
        struct stat st;

        if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return (UndoFileState){ 0 };
        return (UndoFileState){ .inode = st.st_ino,
                                .size = (uint64_t)st.st_size,
                                .changed_nsec = (uint64_t)st.st_mtim.tv_sec * 1000000000 +
                                                (uint64_t)st.st_mtim.tv_nsec };
}

static bool file_is_removed(const Undo *undo, const char *file) {
        return unlinkat(undo->dir_fd, file, 0) >= 0 || errno == ENOENT;
}

int undo_write(Undo *undo, UndoRecord *record) {
        _cleanup_free_ char *text = NULL, *file = NULL;
        char name[CGROUP1_NAME_MAX];
        bool was_read = false;
        size_t size;
        int r;

        if (undo->dir_fd < 0)
                return -EBADF;
        if (!record->stale)
                return 0;
        if (record == &undo->host && undo_record_is_empty(record)) {
                if (record->file && !file_is_removed(undo, record->file))
                        return -errno;
                undo_record_done(record);
                return 0;
        }
        if (!record->file) {
                /* By what makes it single: a service's name ends with .service, that of any other
                 * with a number. */
                if (record->instance)
                        cgroup1_name(record->unit ? record->unit : record->instance, name);
                file = record->instance ? text_new("%s.json", name) : strdup(UNDO_HOST_FILE);
                if (!file)
                        return -ENOMEM;
                for (size_t i = 0; i < undo->n_leftovers && !was_read; i++)
                        if (strcmp(undo->leftovers[i], file) == 0) {
                                leftover_drop(undo, i);
                                was_read = true;
                        }
                /* A file that is already there was not read: a newer version of the daemon wrote
                 * it, and it is kept for that one. */
                if (!was_read && faccessat(undo->dir_fd, file, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
                        return -EEXIST;
                record->file = TAKE_PTR(file);
        }
        r = undo_text_render(record, &text, &size);
        if (r >= 0 && size > UNDO_TEXT_MAX_BYTES)
                r = -EFBIG; /* a later daemon would not read it: nothing is changed without it */
        if (r >= 0)
                r = atomic_file_write(undo->dir_fd, record->file, text, size, 0600);
        if (r < 0)
                return r;
        record->written = file_state(undo->dir_fd, record->file);
        record->stale = false;
        return r;
}

int undo_repair(Undo *undo, int runtime_fd) {
        int repaired = 0, r = 0, fd;
        struct stat ours, named;

        if (undo->dir_fd < 0)
                return 0;
        if (fstat(undo->dir_fd, &ours) < 0 ||
            fstatat(runtime_fd, UNDO_FOLDER, &named, AT_SYMLINK_NOFOLLOW) < 0 ||
            ours.st_dev != named.st_dev || ours.st_ino != named.st_ino) {
                r = private_dir_open(runtime_fd, UNDO_FOLDER, &fd);
                if (r < 0)
                        return r;
                closep(&undo->dir_fd);
                undo->dir_fd = fd;
                repaired = 1;
        }
        for (size_t i = 0; i <= undo->n_records; i++) {
                UndoRecord *record = i < undo->n_records ? undo->records[i] : &undo->host;
                UndoFileState now;
                int error;

                if (!record->file || record->stale)
                        continue;
                now = file_state(undo->dir_fd, record->file);
                if (now.inode == record->written.inode && now.size == record->written.size &&
                    now.changed_nsec == record->written.changed_nsec)
                        continue;
                record->stale = true;
                error = undo_write(undo, record);
                if (error < 0)
                        r = error;
                else
                        repaired = 1;
        }
        return r < 0 ? r : repaired;
}

void undo_remove_leftovers(Undo *undo) {
        for (size_t i = undo->n_leftovers; i > 0; i--)
                if (file_is_removed(undo, undo->leftovers[i - 1]))
                        leftover_drop(undo, i - 1);
}

void undo_forget(Undo *undo, UndoRecord *record) {
        ARRAY_DROP(undo->records, undo->n_records, record);
        if (record->file && !file_is_removed(undo, record->file) &&
            ARRAY_RESERVE(undo->leftovers, undo->allocated_leftovers, undo->n_leftovers + 1) >= 0)
                undo->leftovers[undo->n_leftovers++] = TAKE_PTR(record->file);
        undo_record_free(record);
}

/* --- what has ended --- */

bool undo_prune(const Undo *undo, UndoRecord *record) {
        for (size_t i = record->n_processes; i > 0; i--) {
                const ProcessId *id = &record->processes[i - 1].id;
                _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
                int r = proc_open_twice(undo->sysroot, id->pid, &handle);

                if (r < 0 && r != -ESRCH && r != -ENOENT)
                        continue; /* not known: it may live */
                if (r < 0 || handle.start_ticks != id->start_ticks || !proc_is_alive(&handle))
                        undo_record_remove(record, i - 1);
        }
        return undo_record_is_empty(record);
}

/* --- reading --- */

int undo_load(Undo *undo, UndoBadFile bad_file, void *userdata) {
        _cleanup_closedir_ DIR *dir = NULL;
        const struct dirent *entry;

        if (undo->dir_fd < 0)
                return -EBADF;
        dir = dir_from_fd(openat(undo->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        if (!dir)
                return -errno;
        (void)undo_starts_read(undo->dir_fd, &undo->former); /* without it, no process is of it */
        while ((errno = 0, entry = readdir(dir))) {
                _cleanup_(undo_record_freep) UndoRecord *record = NULL;
                _cleanup_free_ char *text = NULL, *aside = NULL;
                const char *name = entry->d_name;
                size_t size;
                int r;

                if (name[0] == '.' || strcmp(name, UNDO_STARTS_FILE) == 0)
                        continue;
                r = private_file_read(undo->dir_fd, name, UNDO_TEXT_MAX_BYTES, &text, &size);
                if (r >= 0)
                        r = undo_text_parse(text, size, &record);
                if (r >= 0) {
                        record->file = strdup(name);
                        r = record->file ? 0 : -ENOMEM;
                }
                /* Two files of one unit, or of one process: one was copied. */
                if (r >= 0 && ((record->unit && undo_find(undo, record->unit, NULL)) ||
                               (record->scope && undo_find_scope(undo, record->scope))))
                        r = -EEXIST;
                /* The one is not taken for the other. */
                if (r >= 0 && !record->instance != (strcmp(name, UNDO_HOST_FILE) == 0))
                        r = -EBADMSG;
                if (r < 0) {
                        bad_file(name, r, userdata);
                        if (r == -ENOMEM)
                                return r;
                        /* A file that cannot be read now is kept if it may be read later, or by the
                         * newer version that wrote it. */
                        if (r == -ENOTSUP || r == -EMFILE || r == -ENFILE || r == -EIO ||
                            r == -EAGAIN || r == -EACCES)
                                continue;
                        /* It is kept to be read by a human: it may be the only record of what is
                         * bound. */
                        aside = text_new(".%s.bad", name);
                        if (!aside || renameat(undo->dir_fd, name, undo->dir_fd, aside) < 0)
                                (void)unlinkat(undo->dir_fd, name, 0);
                        continue;
                }
                record->written = file_state(undo->dir_fd, name);
                if (!record->instance) {
                        undo_record_done(&undo->host);
                        undo->host = TAKE_STRUCT(*record);
                        continue;
                }
                r = record_take_in(undo, record);
                if (r < 0)
                        return r;
                if (undo_prune(undo, record))
                        undo_forget(undo, record);
                record = NULL; /* the list has it, or it is gone */
        }
        return -errno; /* 0 at the end of the folder */
}
