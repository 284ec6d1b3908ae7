/* The folder of records: who is believed, and what goes with its process. */
#include <sys/resource.h>

#include "../../support/test.h"

#include "../../support/fake-tree.h"
#include "tidbnumad/change/record.h"
#include "tidbnumad/change/undo.h"
#include "undo-example.h"

typedef struct Host {
        FakeTree tree;
        Undo undo;
        char bad_name[64];
        int bad_error;
        unsigned n_bad;
} Host;

static void open_undo(Host *h) {
        undo_init(&h->undo, &h->tree.sysroot);
        assert_int_equal(undo_open(&h->undo, h->tree.fd), 0);
}

/* The processes 50 and 90 of the example live. */
static void host_init(Host *h) {
        *h = (Host){ 0 };
        fake_init(&h->tree);
        fake_process(&h->tree, 50, 1, "/srv/a", "/", "0-7");
        fake_process(&h->tree, 90, 1, "/srv/a", "/", "0-7");
        open_undo(h);
}

static void host_done(Host *h) {
        undo_done(&h->undo);
        fake_done(&h->tree);
}
#define _cleanup_host_ _cleanup_(host_done)
#define HOST_TEST(test) TEST_WITH(test, Host, h, host_init, host_done)

static void on_bad_file(const char *name, int error, void *userdata) {
        Host *h = userdata;

        (void)snprintf(h->bad_name, sizeof(h->bad_name), "%s", name);
        h->bad_error = error;
        h->n_bad++;
}

static void load_again(Host *h) {
        undo_done(&h->undo);
        h->n_bad = 0;
        open_undo(h);
        assert_int_equal(undo_load(&h->undo, on_bad_file, h), 0);
}

static UndoRecord *put(Host *h, const char *instance, const char *unit) {
        UndoRecord *example = example_record(instance, unit), *r = NULL;
        const ProcessId id = example->processes[0].id;

        /* As the daemon does it: an empty one that is filled. */
        assert_int_equal(undo_get(&h->undo, instance, unit, &id, &r), 0);
        assert_int_equal(r->n_processes, 0);
        assert_true(r->stale);
        free(r->instance);
        free(r->unit);
        *r = *example;
        free(example);
        assert_int_equal(undo_write(&h->undo, r), 0);
        assert_false(r->stale);
        return r;
}

static unsigned count_files(const Host *h) {
        _cleanup_closedir_ DIR *dir = NULL;
        const struct dirent *entry;
        unsigned n = 0;

        dir = fdopendir(openat(h->undo.dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        assert_non_null(dir);
        while ((entry = readdir(dir)))
                n += entry->d_name[0] != '.';
        return n;
}

HOST_TEST(folder_and_file_are_ours_alone) {
        struct stat st;

        assert_string_equal(put(h, "a", "a.service")->file, "a.service.json");
        assert_int_equal(fstatat(h->tree.fd, "undo", &st, 0), 0);
        assert_int_equal(st.st_mode & 07777, 0700);
        assert_int_equal(fstatat(h->undo.dir_fd, "a.service.json", &st, 0), 0);
        assert_int_equal(st.st_mode & 07777, 0600);
}

HOST_TEST(comes_back) {
        UndoRecord *expected = example_record("a", "a.service"), *r;
        const ProcessId reused = { .pid = 50, .start_ticks = 7 };

        (void)put(h, "a", "a.service");
        (void)put(h, "x:50", NULL);
        load_again(h);
        assert_int_equal(h->undo.n_records, 2);
        r = undo_find(&h->undo, "a.service", NULL);
        assert_non_null(r);
        assert_same_record(r, expected);
        r = undo_find(&h->undo, NULL, &expected->processes[1].id);
        assert_string_equal(r->instance, "x:50");
        assert_null(undo_find(&h->undo, "b.service", NULL));
        assert_null(undo_find(&h->undo, "b.service", &expected->processes[1].id));
        assert_null(undo_find(&h->undo, NULL, &reused));
        assert_null(undo_find(&h->undo, NULL, NULL));
        assert_int_equal(h->n_bad, 0);
        undo_record_free(expected);
}

HOST_TEST(goes_for_good) {
        UndoRecord *a, *b;

        a = put(h, "a", "a.service");
        b = put(h, "b", "b.service");
        undo_forget(&h->undo, a);
        assert_int_equal(h->undo.n_records, 1);
        assert_ptr_equal(undo_find(&h->undo, "b.service", NULL), b);
        assert_int_equal(count_files(h), 1);
        undo_forget(&h->undo, b);
        assert_int_equal(count_files(h), 0);
}

/* Where the folder is read-only for a moment. A file that stayed would be taken for a newer
 * version's: the unit would never be bound again. */
HOST_TEST(a_file_that_cannot_be_removed_now) {
        UndoRecord *a, *b;
        int dir_fd;

        a = put(h, "a", "a.service");
        b = put(h, "b", "b.service");
        dir_fd = h->undo.dir_fd;
        h->undo.dir_fd = -EBADF;
        undo_forget(&h->undo, a);
        undo_forget(&h->undo, b);
        undo_remove_leftovers(&h->undo);
        h->undo.dir_fd = dir_fd;
        assert_int_equal(count_files(h), 2);
        (void)put(h, "a", "a.service"); /* bound again */
        undo_remove_leftovers(&h->undo);
        assert_int_equal(count_files(h), 1);
        load_again(h);
        assert_non_null(undo_find(&h->undo, "a.service", NULL));
}

/* Ended, or its number given to another one. */
HOST_TEST(ended_processes_go) {
        UndoRecord *r;

        (void)put(h, "a", "a.service");
        (void)put(h, "x:50", NULL);
        fake_remove(&h->tree, "proc/90");
        load_again(h);
        r = undo_find(&h->undo, "a.service", NULL);
        assert_int_equal(r->n_processes, 1);
        assert_int_equal(r->processes[0].id.pid, 50);
        fake_stat_file(&h->tree, "proc/50", 50, 1, 'S', 999, 0);
        load_again(h);
        assert_int_equal(h->undo.n_records, 1); /* the unit is still narrow */
        assert_int_equal(undo_find(&h->undo, "a.service", NULL)->n_processes, 0);
        assert_int_equal(count_files(h), 1);
        assert_int_equal(h->n_bad, 0);
}

TEST(not_believed) {
        static const struct {
                mode_t mode;
                uid_t uid;
                int error;
        } cases[] = {
                { 0600, 0, 0 },      { 0644, 0, 0 },          { 0620, 0, -EPERM },
                { 0602, 0, -EPERM }, { 0600, 65534, -EPERM },
        };

        if (geteuid() != 0)
                skip();
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                _cleanup_host_ Host h;

                host_init(&h);
                (void)put(&h, "a", "a.service");
                assert_int_equal(fchmodat(h.undo.dir_fd, "a.service.json", cases[i].mode, 0), 0);
                assert_int_equal(fchownat(h.undo.dir_fd, "a.service.json", cases[i].uid, 0, 0), 0);
                load_again(&h);
                assert_int_equal(h.n_bad, cases[i].error != 0);
                assert_int_equal(h.bad_error, cases[i].error);
                assert_int_equal(h.undo.n_records, cases[i].error == 0);
                assert_int_equal(count_files(&h), cases[i].error == 0); /* reported once */
        }
}

HOST_TEST(not_a_file) {
        (void)put(h, "a", "a.service");
        assert_int_equal(renameat(h->undo.dir_fd, "a.service.json", h->tree.fd, "elsewhere"), 0);
        assert_int_equal(symlinkat("../elsewhere", h->undo.dir_fd, "a.service.json"), 0);
        load_again(h);
        assert_int_equal(h->bad_error, -EPERM);
        assert_int_equal(h->undo.n_records, 0);
        assert_int_equal(mkfifoat(h->undo.dir_fd, "fifo", 0600), 0);
        load_again(h);
        assert_int_equal(h->bad_error, -EPERM);
        assert_string_equal(h->bad_name, "fifo");
        assert_int_equal(faccessat(h->tree.fd, "elsewhere", F_OK, 0), 0);
}

HOST_TEST(nonsense) {
        (void)put(h, "a", "a.service");
        fake_write(&h->tree, "undo/x.json", "nonsense");
        load_again(h);
        assert_int_equal(h->bad_error, -EBADMSG);
        assert_string_equal(h->bad_name, "x.json");
        assert_int_equal(h->undo.n_records, 1);
        assert_int_equal(count_files(h), 1);
        /* It may be all that tells what is bound. */
        assert_int_equal(faccessat(h->undo.dir_fd, ".x.json.bad", F_OK, 0), 0);
        load_again(h);
        assert_int_equal(h->n_bad, 0);
}

/* Somebody wipes them while the daemon runs: its memory has them. */
HOST_TEST(what_was_removed_or_changed_is_written_again) {
        UndoRecord *expected = example_record("a", "a.service");
        struct stat before, after;

        (void)put(h, "a", "a.service");
        assert_int_equal(fstatat(h->undo.dir_fd, "a.service.json", &before, 0), 0);
        assert_int_equal(undo_repair(&h->undo, h->tree.fd), 0);
        assert_int_equal(fstatat(h->undo.dir_fd, "a.service.json", &after, 0), 0);
        assert_true(before.st_ino == after.st_ino); /* untouched */
        fake_write(&h->tree, "undo/a.service.json", "");
        assert_int_equal(undo_repair(&h->undo, h->tree.fd), 1);
        assert_int_equal(unlinkat(h->undo.dir_fd, "a.service.json", 0), 0);
        assert_int_equal(undo_repair(&h->undo, h->tree.fd), 1);
        assert_int_equal(unlinkat(h->undo.dir_fd, "a.service.json", 0), 0);
        assert_int_equal(unlinkat(h->tree.fd, "undo", AT_REMOVEDIR), 0);
        assert_int_equal(undo_repair(&h->undo, h->tree.fd), 1);
        assert_int_equal(undo_repair(&h->undo, h->tree.fd), 0);
        load_again(h);
        assert_int_equal(h->undo.n_records, 1);
        assert_same_record(h->undo.records[0], expected);
        undo_record_free(expected);
}

/* After a downgrade: that version takes it back, and this one changes nothing meanwhile. */
HOST_TEST(newer_version_is_kept) {
        static const char newer[] = "{\"version\": 2, \"instance\": \"a\"}";
        const ProcessId id = { .pid = 50, .start_ticks = 1050 };
        UndoRecord *r = NULL;
        char text[256];

        fake_write(&h->tree, "undo/a.service.json", newer);
        assert_int_equal(fchmodat(h->tree.fd, "undo/a.service.json", 0600, 0), 0);
        load_again(h);
        assert_int_equal(h->bad_error, -ENOTSUP);
        assert_int_equal(h->undo.n_records, 0);
        assert_int_equal(undo_get(&h->undo, "a", "a.service", &id, &r), 0);
        r->stale = true;
        assert_int_equal(undo_write(&h->undo, r), -EEXIST);
        undo_forget(&h->undo, r);
        assert_true(path_read(h->tree.fd, text, sizeof(text), "undo/a.service.json") > 0);
        assert_string_equal(text, newer);
}

/* By its name, and by its process until that is there; never by the name of a service. */
HOST_TEST(scope) {
        const ProcessId id = { .pid = 50, .start_ticks = 1050 }, other = { .pid = 50 };
        UndoProcess *entry;
        UndoRecord *r;

        assert_int_equal(undo_get(&h->undo, "a:1", NULL, &id, &r), 0);
        assert_int_equal(undo_record_add(r, &id, &entry), 0);
        assert_int_equal(undo_record_set_scope(r, "tidbnumad-a-1.scope", "/b.scope"), 0);
        assert_int_equal(undo_write(&h->undo, r), 0);
        assert_int_equal(linkat(h->undo.dir_fd, r->file, h->undo.dir_fd, "copy.json", 0), 0);
        load_again(h);
        assert_int_equal(h->bad_error, -EEXIST);
        assert_int_equal(h->undo.n_records, 1);
        r = h->undo.records[0];
        assert_string_equal(r->home, "/b.scope");
        assert_ptr_equal(undo_find_scope(&h->undo, "tidbnumad-a-1.scope"), r);
        assert_null(undo_find_scope(&h->undo, "tidbnumad-a-2.scope"));
        assert_ptr_equal(undo_find(&h->undo, NULL, &id), r);
        assert_null(undo_find(&h->undo, NULL, &other));
        assert_null(undo_find(&h->undo, "b.scope", &id));
        /* With its process ended it stays: others may be in the scope. */
        fake_remove(&h->tree, "proc/50");
        assert_false(undo_prune(&h->undo, r));
        assert_int_equal(r->n_processes, 0);
        load_again(h);
        assert_int_equal(h->undo.n_records, 1);
}

HOST_TEST(copied_file) {
        (void)put(h, "a", "a.service");
        assert_int_equal(linkat(h->undo.dir_fd, "a.service.json", h->undo.dir_fd, "copy.json", 0),
                         0);
        load_again(h);
        assert_int_equal(h->bad_error, -EEXIST);
        assert_int_equal(h->undo.n_records, 1);
        assert_int_equal(count_files(h), 1);
}

/* What a killed daemon left of a file that it was writing is none. */
HOST_TEST(half_written) {
        fake_write(&h->tree, "undo/.a.service.json.new", "{\"instance\": \"a");
        load_again(h);
        assert_int_equal(h->n_bad, 0);
        assert_int_equal(h->undo.n_records, 0);
        (void)put(h, "a", "a.service");
        assert_int_equal(count_files(h), 1);
}

/* The former record stays whole, and the new one counts as not written. */
HOST_TEST(disk_that_is_full) {
        struct rlimit before, small;
        UndoRecord *r = put(h, "a", "a.service");
        int result;

        set_before(&r->cpus, id_set("99"));
        r->stale = true;
        assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
        small = (struct rlimit){ .rlim_cur = 10, .rlim_max = before.rlim_max };
        (void)signal(SIGXFSZ, SIG_IGN);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        result = undo_write(&h->undo, r);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        assert_int_equal(result, -EFBIG);
        assert_true(r->stale);
        load_again(h);
        assert_ids(*undo_find(&h->undo, "a.service", NULL)->cpus.before, "0-3");
}

/* A file that undo_load() would refuse as too large, and remove: it must not be written. */
HOST_TEST(record_that_no_daemon_would_read) {
        char *path = malloc(UNDO_TEXT_MAX_BYTES + 1);
        UndoRecord *r;

        assert_non_null(path);
        memset(path, 'x', UNDO_TEXT_MAX_BYTES);
        path[UNDO_TEXT_MAX_BYTES] = '\0';
        r = put(h, "a", "a.service");
        free(r->processes[0].cpuset);
        r->processes[0].cpuset = path;
        r->stale = true;
        assert_int_equal(undo_write(&h->undo, r), -EFBIG);
        assert_true(r->stale);
        load_again(h);
        assert_int_equal(h->n_bad, 0);
        assert_non_null(undo_find(&h->undo, "a.service", NULL));
}

HOST_TEST(folder_that_is_not_ours) {
        UndoRecord *r = NULL;
        const ProcessId id = { .pid = 50, .start_ticks = 1050 };

        undo_done(&h->undo);
        assert_int_equal(undo_get(&h->undo, "a", "a.service", &id, &r), 0);
        assert_int_equal(undo_write(&h->undo, r), -EBADF); /* no folder, no record */
        undo_done(&h->undo);
        undo_init(&h->undo, &h->tree.sysroot);
        assert_int_equal(fchmodat(h->tree.fd, "undo", 0770, 0), 0);
        assert_int_equal(undo_open(&h->undo, h->tree.fd), -EPERM);
        assert_int_equal(undo_load(&h->undo, on_bad_file, h), -EBADF);
        fake_remove(&h->tree, "undo");
        fake_mkdir(&h->tree, "elsewhere");
        fake_link(&h->tree, "undo", "elsewhere");
        assert_true(undo_open(&h->undo, h->tree.fd) < 0);
}
