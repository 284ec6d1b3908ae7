/* Which instances are published, where there are more than fit. */
#include "../../support/test.h"

#include "rooms.h"
#include "tidbnumad/daemon/report/publish.h"

static Policy policy = { .name = (char *)"ours" };

static void add(Rooms *m, pid_t pid, const char *exe, const char *unit, uint64_t seen_usec) {
        Process process = { .id = { pid, 100 },
                            .exe = strdup(exe),
                            .unit = unit ? strdup(unit) : NULL };
        ProcHandle none = PROC_HANDLE_NONE;
        Instance *i;

        assert_int_equal(instance_new(&process, seen_usec, &i), 0);
        i->policy = &policy;
        assert_int_equal(instance_add_process(i, &process, &none), 0);
        assert_int_equal(registry_add(&m->registry, i), 0);
}

static size_t list(const Rooms *m, const Instance ***ret) {
        size_t n;

        assert_int_equal(listed_choose(&m->registry, 8, ret, &n), 0);
        for (size_t i = 1; i < n; i++)
                assert_true(strcmp((*ret)[i - 1]->name, (*ret)[i]->name) < 0);
        return n;
}

static bool has(const Instance *const *listed, size_t n, pid_t pid) {
        for (size_t i = 0; i < n; i++)
                if (listed[i]->members[0].process.id.pid == pid)
                        return true;
        return false;
}

ROOMS_TEST(few_are_all_listed) {
        _cleanup_free_ const Instance **listed = NULL;

        for (pid_t pid = 1; pid <= 100; pid++)
                add(m, pid, "/x", NULL, 0);
        assert_int_equal(list(m, &listed), 100);
}

/* The last that comes is a service, and the next to last was there first. */
ROOMS_TEST(services_and_the_oldest_of_many) {
        _cleanup_free_ const Instance **listed = NULL;
        size_t n;

        for (pid_t pid = 1; pid <= 1000; pid++)
                add(m, pid, "/x", NULL, 10);
        add(m, 2000, "/x", NULL, 5);
        add(m, 3000, "/x", "z.service", 20);
        n = list(m, &listed);
        assert_in_range(n, 100, 400);
        assert_true(has(listed, n, 3000));
        assert_true(has(listed, n, 2000));
}

/* Whoever chooses long paths has fewer places. */
ROOMS_TEST(long_paths) {
        _cleanup_free_ const Instance **listed = NULL;
        char exe[4096];
        size_t n, bytes = 0;

        memset(exe, 'x', sizeof(exe));
        exe[0] = exe[sizeof(exe) - 256] = '/';
        exe[sizeof(exe) - 1] = '\0';
        for (pid_t pid = 1; pid <= 300; pid++)
                add(m, pid, exe, NULL, 0);
        n = list(m, &listed);
        for (size_t i = 0; i < n; i++)
                bytes += strlen(listed[i]->exe) + 50 * strlen(listed[i]->name);
        assert_true(n > 10 && bytes < LISTED_BYTES_MAX);
}
