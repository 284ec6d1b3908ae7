/* The folder of undo records: opened at the start, or as soon as that is possible. */
#include <string.h>

#include "tidbnumad/daemon/undo/undo-change.h"

static const char *what_is_wrong(int error) {
        switch (error) {
        case -EPERM:
                return "it is not root's alone";
        case -ENOTSUP:
                return "a newer version wrote it; it is kept, and what it describes is not changed";
        case -EEXIST:
                return "another record is for the same unit";
        case -EBADMSG:
        case -EFBIG:
                return "it is not a record";
        default:
                return strerror(-error);
        }
}

static void on_bad_file(const char *name, int error, void *userdata) {
        const Undoing *undo = userdata;

        journal_log(&undo->host->journal, LOG_WARNING, NULL,
                    "The undo record %s/%s/%s is ignored: %s. This daemon cannot restore what it "
                    "describes",
                    undo->host->args->runtime_dir, UNDO_FOLDER, name, what_is_wrong(error));
}

static bool may_be_needed(const Host *host) {
        return host->sysroot.live && !host->args->dry_run;
}

bool undo_repair_records(Undoing *undo) {
        int r = may_be_needed(undo->host) ? undo_repair(&undo->records, undo->host->runtime_fd) : 0;

        if (r != 0 && r != undo->repair_told)
                journal_log(&undo->host->journal, LOG_WARNING, NULL,
                            "Something else has removed or changed undo records in %s/%s: %s",
                            undo->host->args->runtime_dir, UNDO_FOLDER,
                            r > 0 ? "they are written again" : strerror(-r));
        undo->repair_told = r < 0 ? r : 0;
        return r > 0;
}

bool undo_is_open(const Undoing *undo) {
        return undo->records.dir_fd >= 0 || !may_be_needed(undo->host);
}

/* All or nothing: a part of the records would be taken for all that there are. */
static int open_folder(Undoing *undo) {
        int r = undo_open(&undo->records, undo->host->runtime_fd);

        if (r >= 0)
                r = undo_load(&undo->records, on_bad_file, undo);
        if (r < 0) {
                undo_done(&undo->records);
                undo_init(&undo->records, &undo->host->sysroot);
                return r;
        }
        if (undo->records.n_records > 0)
                journal_log(&undo->host->journal, LOG_INFO, NULL,
                            "%zu undo records of an earlier start of the daemon are used",
                            undo->records.n_records);
        return 0;
}

int undo_start(Undoing *undo) {
        int r = may_be_needed(undo->host) ? open_folder(undo) : 0;

        if (r == -ENOMEM)
                return r;
        if (r < 0)
                journal_log(&undo->host->journal, LOG_ERR, NULL,
                            "The undo records in %s/%s cannot be used: %s. Nothing is changed "
                            "until the original values can be saved there; correct the folder. It "
                            "is tried again at each reload and scan",
                            undo->host->args->runtime_dir, UNDO_FOLDER, strerror(-r));
        return 0;
}

/* Without the folder no record is made, so none is lost here. */
bool undo_start_late(Undoing *undo) {
        if (undo_is_open(undo) || open_folder(undo) < 0)
                return false;
        journal_log(&undo->host->journal, LOG_NOTICE, NULL,
                    "The undo records in %s/%s can be used now", undo->host->args->runtime_dir,
                    UNDO_FOLDER);
        ROSTER_FOREACH(i, undo->roster)
                undo_adopt(undo, i);
        return true;
}
