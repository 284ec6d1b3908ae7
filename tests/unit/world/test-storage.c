/* From a directory down to whole disks, on fake machines and on this one. */
#include <sys/sysmacros.h>

#include "../../support/test.h"

#include "../../support/child-process.h"
#include "../../support/fake-tree.h"
#include "fake-devices.h"
#include "tidbnumad/world/storage.h"

#define NVME0 "pci0000:3a/0000:3b:00.0/nvme/nvme0/nvme0n1"
#define NVME1 "pci0000:85/0000:86:00.0/nvme/nvme1/nvme1n1"
#define SDA "pci0000:00/0000:00:1f.2/ata1/block/sda"
#define ROOT "30 1 8:2 / / rw - ext4 /dev/sda2 rw\n"

/* Two NVMe on nodes 1 and 5, a disk whose node is not known; partitions; a mirror of two; LVM on
 * that, and an encrypted volume on LVM. */
static void init(FakeTree *tree) {
        fake_init(tree);
        fake_device_file(tree, "pci0000:3a/0000:3b:00.0", "numa_node", "1\n");
        fake_device_file(tree, "pci0000:85/0000:86:00.0", "numa_node", "5\n");
        fake_block(tree, NVME0, "259:0\n");
        fake_block(tree, NVME0 "/nvme0n1p2", "259:2\n");
        fake_device_file(tree, NVME0 "/nvme0n1p2", "partition", "2\n");
        fake_block(tree, NVME1, "259:4\n");
        fake_block(tree, NVME1 "/nvme1n1p1", "259:5\n");
        fake_device_file(tree, NVME1 "/nvme1n1p1", "partition", "1\n");
        fake_block(tree, SDA, "8:0\n");
        fake_block(tree, SDA "/sda2", "8:2\n");
        fake_device_file(tree, SDA "/sda2", "partition", "2\n");
        fake_block(tree, "virtual/block/md127", "9:127\n");
        fake_device_file(tree, "virtual/block/md127", "md/level", "raid1\n");
        fake_device_link(tree, "virtual/block/md127", "slaves/nvme1n1p1", "x");
        fake_device_link(tree, "virtual/block/md127", "slaves/nvme0n1p2", "x");
        fake_block(tree, "virtual/block/dm-3", "253:3\n");
        fake_device_file(tree, "virtual/block/dm-3", "dm/uuid", "LVM-abcDEF\n");
        fake_device_file(tree, "virtual/block/dm-3", "dm/name", "vg--a-data\n");
        fake_device_link(tree, "virtual/block/dm-3", "slaves/md127", "x");
        fake_block(tree, "virtual/block/dm-4", "253:4\n");
        fake_device_file(tree, "virtual/block/dm-4", "dm/uuid", "CRYPT-LUKS2-abc\n");
        fake_device_file(tree, "virtual/block/dm-4", "dm/name", "luks\n");
        fake_device_link(tree, "virtual/block/dm-4", "slaves/dm-3", "x");
        fake_block(tree, "virtual/block/loop0", "7:0\n");
}

#define STORAGE_TEST(test) TEST_WITH(test, FakeTree, tree, init, fake_done)

static void assert_storage(const FakeTree *tree, const char *mountinfo, const char *dir,
                           const char *nodes, size_t n_disks, const char *chain) {
        _cleanup_storage_devices_ StorageDevices storage = { 0 };

        assert_int_equal(storage_find(&tree->sysroot, mountinfo, dir, &storage), 0);
        assert_string_equal(storage.chain, chain);
        assert_ids(storage.nodes, nodes);
        assert_int_equal(storage.disks.n_devices, n_disks);
}

static void assert_none(const FakeTree *tree, const char *mountinfo, const char *dir, int error) {
        StorageDevices storage = { .chain = (char *)"untouched" };

        assert_int_equal(storage_find(&tree->sysroot, mountinfo, dir, &storage), error);
        assert_string_equal(storage.chain, "untouched");
        assert_int_equal(storage.disks.n_devices, 0);
}

STORAGE_TEST(disk_and_partition) {
        static const char text[] = ROOT "40 30 259:0 / /data rw - xfs /dev/nvme0n1 rw\n"
                                        "41 30 259:5 /sub /srv/a\\040b rw - ext4 /dev/x rw\n";
        _cleanup_storage_devices_ StorageDevices storage = { 0 };

        assert_storage(tree, text, "/data/kv-20160", "1", 1, "/data: xfs on nvme0n1");
        assert_storage(tree, text, "/srv/a b", "5", 1, "/srv/a b: ext4 on nvme1n1p1 on nvme1n1");
        assert_storage(tree, text, "/srv/a", "", 1, "/: ext4 on sda2 on sda");
        assert_int_equal(storage_find(&tree->sysroot, text, "/data", &storage), 0);
        assert_string_equal(storage.disks.devices[0].name, "nvme0n1");
        assert_string_equal(storage.disks.devices[0].pci, "0000:3b:00.0");
        assert_true(storage.disks.devices[0].nvme);
        /* By sys/dev where it is. */
        fake_link(tree, "sys/dev/block/8:2", "../../devices/" NVME0 "/nvme0n1p2");
        assert_storage(tree, text, "/", "1", 1, "/: ext4 on nvme0n1p2 on nvme0n1");
}

STORAGE_TEST(stacks) {
        static const char text[] = ROOT "40 30 253:4 / /data rw - ext4 /dev/mapper/luks rw\n";

        assert_storage(tree, text, "/data", "1,5", 2,
                       "/data: ext4 on dm-4 (crypt) on dm-3 (lvm) on md127 (raid1) on "
                       "[nvme0n1p2 on nvme0n1, nvme1n1p1 on nvme1n1]");
        /* Both halves on one disk, which is reported once; and one that is gone. */
        fake_device_link(tree, "virtual/block/md127", "slaves/nvme0n1", "x");
        fake_remove(tree, "sys/class/block/nvme1n1p1");
        fake_device_file(tree, "virtual/block/dm-3", "dm/uuid", "mpath-3600\n");
        fake_device_file(tree, "virtual/block/dm-4", "dm/uuid", "\n");
        assert_storage(tree, text, "/data", "1", 1,
                       "/data: ext4 on dm-4 (device mapper) on dm-3 (multipath) on md127 (raid1) "
                       "on [nvme0n1, nvme0n1p2 on nvme0n1, nvme1n1p1]");
}

STORAGE_TEST(circles_end) {
        static const char text[] = "40 30 9:127 / /data rw - ext4 a rw\n";
        _cleanup_storage_devices_ StorageDevices storage = { 0 };

        fake_device_link(tree, "virtual/block/md127", "slaves/dm-3", "x");
        fake_device_link(tree, "virtual/block/md127", "slaves/dm-4", "x");
        assert_int_equal(storage_find(&tree->sysroot, text, "/data", &storage), 0);
        assert_ids(storage.nodes, "1,5");
        assert_int_equal(storage.disks.n_devices, 2);
}

STORAGE_TEST(what_is_on_no_device) {
        assert_none(tree, "40 30 0:45 / / rw - tmpfs tmpfs rw\n", "/a", -ENODEV);
        assert_none(tree, "40 30 0:45 / / rw - nfs4 host:/dev/sda rw\n", "/a", -ENODEV);
        assert_none(tree, "40 30 0:45 / / rw - overlay /dev/sda rw\n", "/a", -ENODEV);
        assert_none(tree, "40 30 0:45 / / rw - btrfs /dev/nothing rw\n", "/a", -ENODEV);
        assert_none(tree, "40 30 0:45 / / rw - btrfs /dev/.. rw\n", "/a", -ENODEV);
        assert_none(tree, "40 30 0:45 / / rw - btrfs /dev/ rw\n", "/a", -ENODEV);
        assert_none(tree, "40 30 8:77 / / rw - ext4 /dev/sda rw\n", "/a", -ENODEV);
        assert_none(tree, "40 30 8:2 / /b rw - ext4 /dev/sda rw\n", "/a", -ENOENT);
        assert_none(tree, "rubbish\n", "/a", -EBADMSG);
        /* A RAM disk is a device, but no disk that has a node. */
        fake_block(tree, "virtual/block/ram0", "1:0\n");
        assert_storage(tree, "40 30 1:0 / / rw - ext4 /dev/ram0 rw\n", "/a", "", 0,
                       "/: ext4 on ram0");
}

STORAGE_TEST(btrfs) {
        static const char text[] = "40 30 0:45 /@kv /data rw - btrfs /dev/nvme0n1p2 rw\n";

        assert_storage(tree, text, "/data/x", "1", 1, "/data: btrfs on nvme0n1p2 on nvme0n1");
        assert_storage(tree, "40 30 0:45 / /data rw - btrfs /dev/mapper/luks rw\n", "/data", "1,5",
                       2,
                       "/data: btrfs on dm-4 (crypt) on dm-3 (lvm) on md127 (raid1) on "
                       "[nvme0n1p2 on nvme0n1, nvme1n1p1 on nvme1n1]");
        /* The name that LVM gives besides. */
        fake_remove(tree, "sys/devices/virtual/block/md127/slaves/nvme1n1p1");
        assert_storage(tree, "40 30 0:45 / /data rw - btrfs /dev/vg-a/data rw\n", "/data", "1", 1,
                       "/data: btrfs on dm-3 (lvm) on md127 (raid1) on nvme0n1p2 on nvme0n1");
        fake_mkdir(tree, "sys/fs/btrfs/features");
        fake_mkdir(tree, "sys/fs/btrfs/11-aa/devices/sda2");
        fake_mkdir(tree, "sys/fs/btrfs/22-bb/devices/nvme0n1p2");
        fake_mkdir(tree, "sys/fs/btrfs/22-bb/devices/nvme1n1");
        assert_storage(tree, text, "/data/x", "1,5", 2,
                       "/data: btrfs on nvme0n1p2 on nvme0n1, nvme1n1");
}

STORAGE_TEST(bcachefs) {
        assert_storage(tree,
                       "40 30 0:45 / /data rw - bcachefs /dev/nvme0n1:/dev/gone:/dev/nvme1n1 rw\n",
                       "/data", "1,5", 2, "/data: bcachefs on nvme0n1, nvme1n1");
        assert_none(tree, "40 30 0:45 / /data rw - bcachefs /dev/a:/dev/b rw\n", "/data", -ENODEV);
}

/* The file of a loop device is itself on a disk. */
STORAGE_TEST(loop_devices) {
        static const char text[] = "30 1 259:4 / / rw - xfs /dev/nvme1n1 rw\n"
                                   "40 30 7:0 / /data rw - ext4 /dev/loop0 rw\n";

        assert_storage(tree, text, "/data", "", 0, "/data: ext4 on loop0");
        fake_device_file(tree, "virtual/block/loop0", "loop/backing_file", "/srv/image\n");
        assert_storage(tree, text, "/data", "5", 1, "/data: ext4 on loop0 on /: xfs on nvme1n1");
        fake_device_file(tree, "virtual/block/loop0", "loop/backing_file", "/data/image\n");
        assert_storage(tree, text, "/data", "", 0,
                       "/data: ext4 on loop0 on /data: ext4 on loop0 on /data: ext4 on loop0 on "
                       "/data: ext4 on loop0 on /data: ext4 on loop0");
}

STORAGE_TEST(control_characters) {
        assert_storage(tree, "40 30 8:2 / /a\\012b\\033 rw - ext4 a rw\n", "/a\nb\033/c", "", 1,
                       "/a?b?: ext4 on sda2 on sda");
}

/* --- hosts and processes -------------------------------------------------------------------- */

STORAGE_TEST(dumps) {
        _cleanup_storage_devices_ StorageDevices host = { 0 }, own = { 0 }, none = { 0 };
        _cleanup_close_ int fd = -EBADF;

        fake_mkdir(tree, "proc/7");
        fd = openat(tree->fd, "proc/7", O_PATH | O_DIRECTORY | O_CLOEXEC);
        assert_int_equal(storage_find_process(&tree->sysroot, fd, "/data", &none), -ENOENT);
        fake_write(tree, "proc/1/mountinfo", "30 1 259:0 / / rw - xfs /dev/nvme0n1 rw\n");
        assert_int_equal(storage_find_process(&tree->sysroot, fd, "/data", &host), 0);
        assert_string_equal(host.chain, "/: xfs on nvme0n1");
        assert_int_equal(storage_find_process(&tree->sysroot, fd, "/data/../x", &none), -EINVAL);
        assert_int_equal(storage_find_process(&tree->sysroot, fd, "..", &none), -EINVAL);
        assert_int_equal(storage_find_process(&tree->sysroot, fd, "/data..", &own), 0);
        assert_string_equal(own.chain, "/: xfs on nvme0n1");
        storage_devices_done(&own);
        fake_write(tree, "proc/7/mountinfo", "30 1 259:4 / / rw - xfs /dev/nvme1n1 rw\n");
        assert_int_equal(storage_find_process(&tree->sysroot, fd, "/data", &own), 0);
        assert_string_equal(own.chain, "/: xfs on nvme1n1");
        /* Its own file is used, even if it is empty. */
        fake_write(tree, "proc/7/mountinfo", "30 1 259:4 / /b rw - xfs /dev/nvme1n1 rw\n");
        assert_int_equal(storage_find_process(&tree->sysroot, fd, "/data", &none), -ENOENT);
}

/* What stat(2) says of the directory's device, the chain must hold. */
static void assert_holds_device_of(const StorageDevices *storage, const char *dir) {
        char link[64], target[512];
        struct stat st;
        ssize_t n;

        assert_int_equal(stat(dir, &st), 0);
        (void)snprintf(link, sizeof(link), "/sys/dev/block/%u:%u", major(st.st_dev),
                       minor(st.st_dev));
        n = readlink(link, target, sizeof(target) - 1);
        assert_true(n > 0);
        target[n] = '\0';
        assert_non_null(strstr(storage->chain, strrchr(target, '/') + 1));
}

static bool is_on_a_device(const char *dir) {
        struct stat st;

        return stat(dir, &st) == 0 && major(st.st_dev) != 0;
}

/* In a chroot whose root is no mount point the chain begins with the directory that was asked for.
 */
static const char *devices_of(const StorageDevices *storage) {
        const char *on = strstr(storage->chain, " on ");

        assert_non_null(on);
        return on;
}

static int open_process(pid_t pid) {
        return open(fmt("/proc/%d", (int)pid), O_PATH | O_DIRECTORY | O_CLOEXEC);
}

LIVE_TEST(this_host) {
        _cleanup_close_ int fd = open_process(getpid());
        _cleanup_storage_devices_ StorageDevices storage = { 0 }, below = { 0 }, none = { 0 };

        assert_int_equal(storage_find_process(sysroot, fd, "/proc", &none), -ENODEV);
        assert_int_equal(storage_find_process(sysroot, fd, "/proc/self/no/such", &none), -ENODEV);
        assert_int_equal(storage_find_process(sysroot, fd, "proc", &none), -EINVAL);
        if (!is_on_a_device("/"))
                skip_because("/ is on no block device here");
        assert_int_equal(storage_find_process(sysroot, fd, "/", &storage), 0);
        assert_holds_device_of(&storage, "/");
        /* Not there yet, and a file. */
        assert_int_equal(storage_find_process(sysroot, fd, "/no-such-directory/kv", &below), 0);
        assert_string_equal(devices_of(&below), devices_of(&storage));
        storage_devices_done(&below);
        assert_int_equal(storage_find_process(sysroot, fd, "/.././", &below), 0);
        assert_string_equal(devices_of(&below), devices_of(&storage));
}

/* A process whose root is a folder: its "/data" is a link that would lead out for others, and the
 * mount that it lies on is in no table of its own. */
LIVE_TEST(process_in_a_chroot) {
        _cleanup_storage_devices_ StorageDevices storage = { 0 }, direct = { 0 }, gone = { 0 };
        _cleanup_close_ int fd = -EBADF;
        _cleanup_fake_ FakeTree tree;
        int ready[2], status, r, r_direct;
        char byte;
        pid_t pid;

        fake_init_in(&tree, "/tmp"); /* on a disk, on most hosts */
        fake_link(&tree, "data", "/proc");
        if (geteuid() != 0 || !is_on_a_device(tree.path))
                skip_because("not root, or %s is on no block device", tree.path);
        assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
        pid = child_fork();
        if (pid == 0) {
                if (chroot(tree.path) < 0 || chdir("/") < 0 || write(ready[1], "x", 1) != 1)
                        _exit(1);
                (void)pause();
                _exit(0);
        }
        (void)close(ready[1]);
        assert_int_equal(read(ready[0], &byte, 1), 1);
        (void)close(ready[0]);
        fd = open_process(pid);
        assert_true(fd >= 0);
        /* "/proc" of its root, an empty folder on the disk, and not the host's. */
        r = storage_find_process(sysroot, fd, "/data", &storage);
        r_direct = storage_find_process(sysroot, fd, "/proc", &direct);
        child_make_zombie(pid);
        assert_int_equal(storage_find_process(sysroot, fd, "/data", &gone), -ESRCH);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(storage_find_process(sysroot, fd, "/data", &gone), -ESRCH);
        assert_int_equal(r, 0);
        assert_int_equal(r_direct, 0);
        assert_holds_device_of(&storage, tree.path);
        assert_holds_device_of(&direct, tree.path);
}
