/* Life of instances: names, who belongs to one, and that processes and handles stay in step. */
#include "../../support/test.h"

#include "rooms.h"
#include "tidbnumad/daemon/registry/registry.h"

static void free_whole(Instance **i) {
        rooms_free_instance(*i);
}
#define _cleanup_instance_ _cleanup_(free_whole)

static Process make_process(pid_t pid, const char *exe, const char *unit) {
        Process p = { .id = { .pid = pid, .start_ticks = 100 + (uint64_t)pid },
                      .exe = strdup(exe),
                      .unit = unit ? strdup(unit) : NULL };

        assert_non_null(p.exe);
        return p;
}

static Instance *make_instance(const char *exe, const char *unit) {
        _cleanup_process_ Process first = make_process(7, exe, unit);
        Instance *i = NULL;

        assert_int_equal(instance_new(&first, 1000, &i), 0);
        return i;
}

/* The handle's folder is any descriptor, so that a close shows. */
static void add(Instance *i, pid_t pid) {
        Process process = make_process(pid, "/srv/a", "a.service");
        ProcHandle handle = { .pid = pid,
                              .dir_fd = open("/dev/null", O_RDONLY | O_CLOEXEC),
                              .pidfd = -EBADF };

        assert_true(handle.dir_fd >= 0);
        assert_int_equal(instance_add_process(i, &process, &handle), 0);
        assert_null(process.exe); /* taken over */
        assert_int_equal(handle.dir_fd, -EBADF);
}

static void assert_pids(const Instance *i, const pid_t *pids, size_t n) {
        assert_int_equal(i->n_members, n);
        for (size_t k = 0; k < n; k++) {
                assert_int_equal(i->members[k].process.id.pid, pids[k]);
                assert_int_equal(i->members[k].process.id.start_ticks, 100 + pids[k]);
                assert_int_equal(i->members[k].handle->pid, pids[k]);
                assert_true(fcntl(i->members[k].handle->dir_fd, F_GETFD) >= 0);
                assert_int_equal(facts_find(&i->facts, pids[k]), k);
        }
}

#define ASSERT_PIDS(i, ...)                                                                        \
        assert_pids(i, (const pid_t[]){ __VA_ARGS__ },                                             \
                    sizeof((const pid_t[]){ __VA_ARGS__ }) / sizeof(pid_t))

/* The better names, `userdata` of them, are others'. */
static bool is_taken(_unused_ const char *name, void *userdata) {
        unsigned *n = userdata;

        return (*n)-- > 0;
}

static void assert_name(Instance *i, unsigned rank, const char *expected) {
        _cleanup_free_ char *name = NULL;

        assert_int_equal(facts_choose_name(&i->facts, is_taken, &rank, &name), 0);
        assert_string_equal(name, expected);
}

static void assert_names(const char *exe, const char *unit, const char *first, const char *second) {
        _cleanup_instance_ Instance *i = make_instance(exe, unit);

        add(i, 7);
        assert_name(i, 0, first);
        assert_name(i, 1, second);
        assert_string_equal(i->exe, exe);
        if (unit)
                assert_string_equal(i->unit, unit);
        else
                assert_null(i->unit);
}

TEST(names) {
        assert_names("/srv/tikv-server", "tikv-20160.service", "tikv-20160", "tikv-20160.service");
        assert_names("/srv/tikv-server", "tikv@1.service", "tikv@1", "tikv@1.service");
        assert_names("/srv/tikv-server", NULL, "tikv-server:7", "tikv-server:7:7");
        assert_names("tikv-server", NULL, "tikv-server:7", "tikv-server:7:7");
        assert_names("/srv/x", "session-1.scope", "x:7", "x:7:7");
        assert_names("/srv/x", "user@1000.service", "x:7", "x:7:7");
        assert_names("/srv/x", ".service", "x:7", "x:7:7");
}

TEST(names_by_port) {
        _cleanup_instance_ Instance *i = make_instance("/srv/tidb-server", NULL);
        _cleanup_instance_ Instance *service = make_instance("/srv/tidb-server", "a.service");

        add(i, 7);
        i->ports = calloc(2, sizeof(uint16_t));
        assert_non_null(i->ports);
        i->ports[0] = 4000;
        i->ports[1] = 10080;
        i->n_ports = 2;
        assert_name(i, 0, "tidb-server:4000");
        assert_name(i, 1, "tidb-server:4000:7");
        assert_name(i, 2, "tidb-server:4000:7:107"); /* the start time makes it unique */
        add(service, 9);
        assert_name(service, 2, "a.service:9");
        assert_true(instance_is_service(service));
        assert_false(instance_is_service(i));
}

TEST(owns) {
        _cleanup_instance_ Instance *service = make_instance("/srv/a", "a.service");
        _cleanup_instance_ Instance *single = make_instance("/srv/a", "session-1.scope");
        _cleanup_process_ Process same = make_process(9, "/srv/other", "a.service");
        _cleanup_process_ Process other = make_process(10, "/srv/a", "b.service");
        _cleanup_process_ Process scope = make_process(11, "/srv/a", "session-1.scope");
        _cleanup_process_ Process user = make_process(12, "/srv/a", "user@1000.service");

        assert_true(facts_own(&service->facts, &same));
        assert_false(facts_own(&service->facts, &other));
        assert_false(facts_own(&service->facts, &scope));
        assert_false(facts_own(&single->facts, &same));
        /* Two programs of one session, or of one user's rooms, have nothing in common. */
        assert_false(facts_own(&single->facts, &scope));
        assert_false(facts_own(&single->facts, &user));
        add(single, 11);
        assert_true(facts_own(&single->facts, &scope));
        add(service, 10); /* moved to another service since */
        assert_false(facts_own(&service->facts, &other));
}

TEST(order) {
        _cleanup_instance_ Instance *i = make_instance("/srv/a", "a.service");

        add(i, 30);
        add(i, 10);
        add(i, 20);
        add(i, 40);
        ASSERT_PIDS(i, 10, 20, 30, 40);
        assert_int_equal(facts_find(&i->facts, 25), -1);
        assert_int_equal(i->n_member_changes, 4);
        instance_remove_process(i, 1);
        ASSERT_PIDS(i, 10, 30, 40);
        assert_int_equal(i->n_member_changes, 5);
        assert_int_equal(facts_find(&i->facts, 20), -1);
        add(i, 35);
        ASSERT_PIDS(i, 10, 30, 35, 40);
        instance_remove_process(i, 3);
        instance_remove_process(i, 0);
        ASSERT_PIDS(i, 30, 35);
        instance_remove_process(i, 0);
        instance_remove_process(i, 0);
        assert_int_equal(i->n_members, 0);
        for (pid_t pid = 100; pid > 0; pid--) /* over several growths */
                add(i, pid);
        for (pid_t pid = 1; pid <= 100; pid++)
                assert_int_equal(i->members[pid - 1].handle->pid, pid);
}

TEST(removal_closes) {
        _cleanup_instance_ Instance *i = make_instance("/srv/a", "a.service");
        Instance *other = make_instance("/srv/a", "a.service");
        int fd;

        add(i, 10);
        fd = i->members[0].handle->dir_fd;
        instance_remove_process(i, 0);
        assert_int_equal(fcntl(fd, F_GETFD), -1);
        add(other, 10);
        fd = other->members[0].handle->dir_fd;
        instance_free(other);
        assert_int_equal(fcntl(fd, F_GETFD), -1);
}
