/* Which processes a scan reads: those that are new, or that have executed a program since. */
#include "../../support/test.h"

#include "../../support/fake-tree.h"
#include "tidbnumad/daemon/registry/registry.h"

static ScanEntry *find(ScanList *list, pid_t pid) {
        for (size_t i = 0; i < list->n_entries; i++)
                if (list->entries[i].pid == pid)
                        return &list->entries[i];
        return NULL;
}

static void read_and_pass_all(ScanList *list, const FakeTree *tree) {
        assert_int_equal(scan_list_read(list, &tree->sysroot), 0);
        for (size_t i = 0; i < list->n_entries; i++)
                list->entries[i].passed = true;
}

static void add_some(const FakeTree *tree) {
        static const char *const names[] = { "proc/300", "proc/20", "proc/1", "proc/self",
                                             "proc/7x" };

        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
                fake_mkdir(tree, names[i]);
}

TREE_TEST(all_are_new_at_first) {
        ScanList list = { 0 };

        add_some(tree);
        assert_int_equal(scan_list_read(&list, &tree->sysroot), 0);
        assert_int_equal(list.n_entries, 3);
        assert_int_equal(list.n_unread, 3);
        for (size_t i = 1; i < list.n_entries; i++)
                assert_true(list.entries[i - 1].pid < list.entries[i].pid);
        scan_list_done(&list);
}

TREE_TEST(what_was_passed_is_not_read_again) {
        ScanList list = { 0 };

        add_some(tree);
        read_and_pass_all(&list, tree);
        find(&list, 20)->passed = false; /* it is ours */
        fake_mkdir(tree, "proc/10");
        fake_remove(tree, "proc/1");
        assert_int_equal(scan_list_read(&list, &tree->sysroot), 0);
        assert_int_equal(list.n_entries, 3);
        assert_int_equal(list.n_unread, 2);
        assert_false(find(&list, 10)->passed);
        assert_false(find(&list, 20)->passed);
        assert_true(find(&list, 300)->passed);
        scan_list_done(&list);
}

/* The folder of the new process is made while the former one's is there, so that the file system of
 * the test cannot give it the same inode number. */
TREE_TEST(a_pid_that_another_process_has_now_is_read) {
        ScanList list = { 0 };

        add_some(tree);
        read_and_pass_all(&list, tree);
        fake_mkdir(tree, "proc/next");
        fake_remove(tree, "proc/20");
        assert_int_equal(renameat(tree->sysroot.proc_fd, "next", tree->sysroot.proc_fd, "20"), 0);
        assert_int_equal(scan_list_read(&list, &tree->sysroot), 0);
        assert_false(find(&list, 20)->passed);
        assert_true(find(&list, 1)->passed);
        assert_int_equal(list.n_unread, 1);
        scan_list_done(&list);
}

TREE_TEST(an_exec_makes_it_unknown) {
        ScanList list = { 0 };

        add_some(tree);
        read_and_pass_all(&list, tree);
        scan_list_forget(&list, 20);
        scan_list_forget(&list, 21); /* not in the list */
        scan_list_forget(&list, 3000);
        assert_int_equal(scan_list_read(&list, &tree->sysroot), 0);
        assert_int_equal(list.n_unread, 1);
        assert_false(find(&list, 20)->passed);
        read_and_pass_all(&list, tree);
        scan_list_forget_all(&list);
        assert_int_equal(scan_list_read(&list, &tree->sysroot), 0);
        assert_int_equal(list.n_unread, 3);
        scan_list_done(&list);
}

TREE_TEST(without_proc_it_stays_as_it_was) {
        ScanList list = { 0 };
        Sysroot nowhere = SYSROOT_NONE;

        add_some(tree);
        read_and_pass_all(&list, tree);
        assert_true(scan_list_read(&list, &nowhere) < 0);
        assert_int_equal(list.n_entries, 3);
        assert_true(find(&list, 20)->passed);
        scan_list_done(&list);
}

TREE_TEST(a_failure_of_one_moment_passes_nobody) {
        ScanList list = { 0 };

        fake_mkdir(tree, "proc/20");
        fake_mkdir(tree, "proc/21");
        assert_int_equal(scan_list_read(&list, &tree->sysroot), 0);
        scan_entry_note(find(&list, 20), -ENOMEM);
        scan_entry_note(find(&list, 21), 0);
        assert_int_equal(scan_list_read(&list, &tree->sysroot), 0);
        assert_false(find(&list, 20)->passed);
        assert_true(find(&list, 21)->passed);
        scan_entry_note(find(&list, 20), -ENOENT); /* it has none, as a kernel thread */
        assert_int_equal(scan_list_read(&list, &tree->sysroot), 0);
        assert_true(find(&list, 20)->passed);
        scan_list_forget(&list, 20); /* it has executed a program */
        scan_entry_note(find(&list, 20), -ENOMEM);
        assert_false(find(&list, 20)->passed);
        scan_list_done(&list);
}
