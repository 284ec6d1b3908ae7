/* The program itself, as a child: what it prints, where, and how it ends. On a described machine,
 * so that the host does not matter. */

#include "../../support/test.h"
#include <jansson.h>

#include "../../support/child-process.h"
#include "../../support/fake-tree.h"
#include "../world/fake-machine.h"
#include "tidbnumad/sys/atomic-file.h"

#define MACHINE " --topology 'package:2 numa:2(memory=64GiB) core:4 pu:2'"

typedef struct Answer {
        int status;
        char out[16384], err[4096];
} Answer;

static void read_all(const char *path, char *buffer, size_t size) {
        FILE *file = fopen(path, "re");

        assert_non_null(file);
        buffer[fread(buffer, 1, size - 1, file)] = '\0';
        (void)fclose(file);
}

/* A shell's command line behind the program's name. */
static void run(const FakeTree *tree, const char *words, Answer *ret) {
        char command[1024], out[64], err[64];
        int status;

        (void)snprintf(out, sizeof(out), "%s/out", tree->path);
        (void)snprintf(err, sizeof(err), "%s/err", tree->path);
        (void)snprintf(command, sizeof(command),
                       "cd %s && exec \"$TIDBNUMACTL\" >out 2>err </dev/null %s", tree->path,
                       words);
        status = system(command);
        assert_true(WIFEXITED(status));
        ret->status = WEXITSTATUS(status);
        read_all(out, ret->out, sizeof(ret->out));
        read_all(err, ret->err, sizeof(ret->err));
}

static void assert_has(const char *text, const char *part) {
        if (!strstr(text, part))
                fail_msg("'%s' does not contain '%s'", text, part);
}

static void check(const FakeTree *tree, const char *words, int status, const char *in_out,
                  const char *in_err) {
        Answer a;

        run(tree, words, &a);
        if (a.status != status)
                fail_msg("%s: ended with %d\n%s%s", words, a.status, a.out, a.err);
        if (in_out)
                assert_has(a.out, in_out);
        else
                assert_string_equal(a.out, "");
        if (in_err)
                assert_has(a.err, in_err);
        else
                assert_string_equal(a.err, "");
}

static void tree_init(FakeTree *tree) {
        fake_init(tree);
        fake_write(tree, "right.yaml",
                   "version: 1\n"
                   "policies:\n"
                   "  - name: db\n"
                   "    match: {exe: db, unit: \"db-*.service\"}\n"
                   "    place: {nodes: 2-3, count: 1}\n");
        fake_write(tree, "strict.yaml",
                   "version: 1\nhost: {reserve: {nodes: [0, 1], strict: true}}\npolicies:\n"
                   "  - {name: db, match: {exe: db, unit: u.service}, place: {nodes: 0-1, count: "
                   "1}}\n");
        fake_write(tree, "warned.yaml",
                   "version: 1\npolicies:\n  - {name: db, match: {exe: db}}\n");
        fake_write(tree, "empty.yaml", "version: 1\n");
        fake_write(tree, "wrong.yaml", "version: 1\npolicies:\n  - {nmae: x}\n");
}

#define FILES_TEST(test) TEST_WITH(test, FakeTree, tree, tree_init, fake_done)

FILES_TEST(answers) {
        static const struct {
                const char *words;
                int status;
                const char *out, *err; /* NULL: nothing is printed there */
        } rows[] = {
                /* validate */
                { "validate right.yaml" MACHINE, 0, "OK: 1 policy in 1 file.\n" },
                { "validate wrong.yaml right.yaml" MACHINE, 1, "Refused: " },
                { "validate wrong.yaml right.yaml" MACHINE, 1, "wrong.yaml:3:6: " },
                { "validate right.yaml --topology 'numa:1 pu:4'", 1, "Refused: 1 error.\n" },
                { "validate right.yaml --topology 'numa:1 pu:4'", 1, "right.yaml:5:" },
                { "validate none.yaml" MACHINE, 1, "Refused: 1 error.\n" },
                { "validate none.yaml" MACHINE, 1, "none.yaml: cannot be read" },
                { "validate" MACHINE " - <right.yaml", 0, "OK: 1 policy in 1 file.\n" },
                /* plan refused */
                { "plan --instances 1:tidb,9:tikv --policy right.yaml" MACHINE " --instances 1:db",
                  0, "db-1" },
                { "plan --policy strict.yaml --instances 1:db" MACHINE, 3, "db-1" },
                { "plan --policy wrong.yaml --instances 1:db" MACHINE, 1, NULL,
                  "the policies are refused" },
                /* the defaults */
                { "plan --instances 2:tikv" MACHINE, 0, "note: no policies given" },
                { "plan --instances 2:tikv" MACHINE, 0,
                  "note: nothing is reserved for the network card" },
                { "plan" MACHINE, 0, "note: nothing to place" },
                { "plan --instances 1:tikvv" MACHINE, 1, NULL,
                  "no policy 'tikvv', did you mean 'tikv'?" },
                { "plan --instances 1:tikv@nvme0n1" MACHINE, 1, NULL, "no disk 'nvme0n1'" },
                { "plan --instances 1:tikv: --topology /none/at/all.xml", 1, NULL, "COUNT:POLICY" },
                /* explain */
                { "plan --explain --instances 2:tidb" MACHINE, 0, "tidb-1 on node " },
                { "plan --explain --instances 2:tidb" MACHINE, 0, " against 0" },
                { "explain tidb-2 --instances 2:tidb" MACHINE, 0, "tidb-2 belongs on node " },
                { "explain tidb-3 --instances 2:tidb" MACHINE, 1, NULL,
                  "no instance, process or unit 'tidb-3', did you mean" },
                /* advise */
                { "advise --instances 1:tidb" MACHINE, 0, "tidb_server_memory_limit",
                  "note: no policies given" },
                { "advise --instances 1:tidb --topology 'numa:2 pu:4'", 0,
                  "tidb-1: no advice on memory: the size of the nodes' memory is unknown\n",
                  "note: no policies given" },
                { "advise --tiup --instances 1:tidb" MACHINE, 0, "\ntidb_servers:\n", "note: " },
                /* What a script has to distinguish: a wrong command line, no daemon, not allowed.
                 */
                { "plna", 64, NULL, "did you mean 'plan'" },
                { "plan --nonsense", 64, NULL, "--nonsense" },
                { "plan --help >/dev/full", 1, NULL, "No space left on device" },
                { "status --runtime-dir none", 69, NULL, "no daemon has published" },
                { "status -q --runtime-dir none", 69, NULL, NULL },
                { "replan --runtime-dir none", 69, NULL, "no daemon runs" },
                { "pause --runtime-dir none", 69, NULL, "no daemon runs" },
                { "reload --runtime-dir none", 69, NULL, "systemctl start tidbnumad" },
                { "release --dry-run --all --runtime-dir none", 69, NULL, "no daemon runs" },
                /* A whole file or none, and no word of success where the disk is full. */
                { "plan --export plan.xml --instances 1:tidb" MACHINE, 0, "tidb-1" },
                { "plan --export /none/plan.xml --instances 1:tidb" MACHINE, 1, NULL,
                  "--export /none/plan.xml: " },
                { "plan --instances 1:tidb" MACHINE " >/dev/full", 1, NULL,
                  "writing to standard output: No space left" },
                /* Warnings of the policies are validate's; a plan says that there are some. */
                { "plan --policy warned.yaml --instances 1:db" MACHINE, 0,
                  "note: there is 1 warning about the policies; run tidbnumactl validate\n" },
                { "validate warned.yaml" MACHINE, 0, "OK: " },
                { "validate warned.yaml" MACHINE, 0, "warning: warned.yaml:3:" },
                { "plan --policy empty.yaml" MACHINE, 0,
                  "note: no policies, so nothing is placed" },
                /* dump */
                { "plan --topology /none/at/all", 1, NULL,
                  "--topology /none/at/all: No such file or directory. Create the file" },
                { "plan --topology none.xml", 1, NULL, "--topology none.xml: No such file" },
                { "plan --topology nonsense", 1, NULL, "--topology \"nonsense\" is not a machine" },
                { "plan --sysroot /none", 1, NULL, "no proc and sys below /none" },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                check(tree, rows[i].words, rows[i].status, rows[i].out, rows[i].err);
}

static json_t *parse(const FakeTree *tree, const char *words, int status) {
        json_error_t error;
        json_t *json;
        Answer a;

        run(tree, words, &a);
        assert_int_equal(a.status, status);
        json = json_loads(a.out, JSON_REJECT_DUPLICATES, &error);
        if (!json)
                fail_msg("%s:\n%s", error.text, a.out);
        return json;
}

/* Node 0 has 1,000 KiB. */
MACHINE_TEST(strict_binding_whose_need_exceeds_the_node) {
        static const char *const expected[][2] = {
                { "bind", "warning: p.yaml:3:5: policy `db`, db: its memory does not fit" },
                { "preferred", "OK: 1 policy in 1 file.\n" },
        };

        fake_process(tree, 10, 1, "/opt/db", "/system.slice/db.service", "0-3");
        fake_write(tree, "sys/fs/cgroup/cgroup.controllers", "cpuset memory\n");
        fake_write(tree, "sys/fs/cgroup/system.slice/db.service/cgroup.procs", "10\n");
        fake_write(tree, "sys/fs/cgroup/system.slice/db.service/memory.numa_stat",
                   "anon N0=800000 N2=3000000\nfile N0=0 N2=0\nshmem N0=0 N2=0\n");
        for (size_t i = 0; i < ELEMENTSOF(expected); i++) {
                fake_write(tree, "p.yaml",
                           fmt("version: 1\npolicies:\n"
                               "  - {name: db, match: {exe: db, unit: db.service}, memory: %s,\n"
                               "     place: {nodes: 0}}\n",
                               expected[i][0]));
                check(tree, "validate --sysroot . p.yaml", 0, expected[i][1], NULL);
        }
}

FILES_TEST(validate_json) {
        json_t *json = parse(tree, "validate wrong.yaml --json" MACHINE, 1);
        const json_t *first = json_array_get(json_object_get(json, "errors"), 0);

        assert_true(json_is_false(json_object_get(json, "valid")));
        assert_string_equal(json_string_value(json_object_get(first, "file")), "wrong.yaml");
        assert_int_equal(json_integer_value(json_object_get(first, "line")), 3);
        assert_int_equal(json_integer_value(json_object_get(first, "column")), 6);
        json_decref(json);
        json = parse(tree, "validate right.yaml --json" MACHINE, 0);
        assert_true(json_is_true(json_object_get(json, "valid")));
        first = json_array_get(json_object_get(json, "policies"), 0);
        assert_string_equal(json_string_value(first), "db");
        json_decref(json);
}

/* Without a terminal nothing depends on one: no line is broken. */
FILES_TEST(plan) {
        Answer a;

        run(tree, "plan --policy right.yaml --instances 2:db" MACHINE, &a);
        assert_string_equal(a.err, "");
        assert_int_equal(a.status, 0);
        assert_has(a.out, "Plan for the machine package:2 numa:2(memory=64GiB) core:4 "
                          "pu:2\n\nINSTANCE  POLICY");
        assert_has(a.out, "\ndb-1      db      2");
        assert_has(a.out, "\ndb-2      db      3");
        assert_has(a.out, "\n3     1       24-31");
        assert_null(strstr(a.out, "note: no policy"));
}

/* The daemon knows them; nothing of them runs. */
FILES_TEST(stopped_units) {
        static const struct {
                const char *words;
                int status;
                const char *out, *err;
        } rows[] = {
                { "explain kv-1 --runtime-dir .", 0,
                  "kv-1.service does not run; it is prepared to start on node 3: CPUs 24-31, "
                  "memory nodes 3\nPolicy: kv\n" },
                { "explain kv-2.service --runtime-dir .", 0,
                  "kv-2.service does not run, and is not prepared for its next start\n"
                  "Why: it failed\nRemedy: see journalctl -u kv-2.service; a change of the "
                  "unit, or systemctl reload tidbnumad, lets it be prepared again\nPolicy: "
                  "none\n" },
                { "explain kv-3 --runtime-dir .", 0,
                  "kv-3.service is not a unit that systemd has" },
                { "explain kv-4 --runtime-dir .", 1, NULL, "no instance, process or unit 'kv-4'" },
                { "explain kv-1 --json --runtime-dir .", 0, "\"memory_nodes\": \"3\"" },
                { "status kv-5.service --runtime-dir .", 1, NULL,
                  "no instance or unit 'kv-5.service', did you mean 'kv-1.service'?" },
                { "status kv-1 --json --runtime-dir .", 69, "kv-1.service" },
                { "status -q --runtime-dir .", 69, "" },
                { "status --quiet --json --runtime-dir .", 69, "" },
                { "plan -q", 64, NULL, "invalid option -- 'q'" },
        };
        Answer a;

        fake_write(tree, "status.json",
                   "{\"time_seconds\": 1, \"sample_interval_seconds\": 1, \"instances\": [], "
                   "\"units\": ["
                   "{\"name\": \"kv-1.service\", \"policy\": \"kv\", \"state\": \"prepared\", "
                   "\"reason\": \"\", \"nodes\": \"3\", \"cpus\": \"24-31\", \"memory_nodes\": "
                   "\"3\"}, "
                   "{\"name\": \"kv-2.service\", \"state\": \"unprepared\", \"reason\": \"it "
                   "failed\", "
                   "\"reason_code\": \"start-failed\", \"remedy\": \"look\"}, "
                   "{\"name\": \"kv-3.service\", \"state\": \"missing\"}]}");
        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                check(tree, rows[i].words, rows[i].status, rows[i].out, rows[i].err);
        run(tree, "status --runtime-dir .", &a);
        assert_null(strstr(a.out, "kv-1 "));
        run(tree, "status --all --runtime-dir .", &a);
        assert_has(
                a.out,
                "  kv-2.service: it failed (start-failed)\n      see journalctl -u kv-2.service; a "
                "change of the unit, or systemctl reload tidbnumad, lets it be prepared again\n");
        assert_has(a.out,
                   "\nkv-1      prepared    3      24-31  -          -       stopped; starts on "
                   "node 3\n");
        assert_has(a.out, "\nkv-2      unprepared  -      -      -          -       stopped; "
                          "start-failed\n");
        assert_null(strstr(a.out, "kv-3"));
        run(tree, "status kv-1.service --json --runtime-dir .", &a);
        assert_null(strstr(a.out, "kv-2"));
        run(tree, "status kv-3 --runtime-dir .", &a);
        assert_has(a.out, "systemd has no such unit");
        assert_null(strstr(a.out, "kv-2"));
        fake_write(tree, "status.json", "{\"time_seconds\": 1, \"inst");
        check(tree, "status --runtime-dir .", 1, NULL, "status.json is damaged, or from another");
}

/* A daemon has its lock before it listens; what is published then is that of the one before. */
FILES_TEST(a_daemon_that_starts) {
        int ready;
        const pid_t pid = child_fork_until_ready(&ready);

        if (pid == 0) {
                pid_t holder;
                int fd;

                if (lock_file_take(tree->fd, RUNTIME_DIR_LOCK, &fd, &holder) < 0)
                        _exit(1);
                child_wait_ready(ready);
        }
        for (int k = 0; k < 3; k++) {
                if (k > 0)
                        fake_write(tree, "status.json",
                                   fmt("{\"time_seconds\": 1, \"sample_interval_seconds\": 1, "
                                       "\"instances\": [], \"process\": {\"pid\": %d}}",
                                       k == 1 ? 1 : pid));
                check(tree, "reload --runtime-dir .", 69, NULL,
                      k < 2 ? "is starting, and does not listen" : "something has removed it");
        }
        child_end(pid);
}

/* Once for all instances, and not where an entry is there. */
FILES_TEST(plan_without_irq) {
        static const char note[] = "note: no entry of `irq`: interrupts are not steered\n";
        const char *found;
        Answer a;

        run(tree, "plan --policy right.yaml --instances 2:db" MACHINE, &a);
        found = strstr(a.out, note);
        assert_non_null(found);
        assert_null(strstr(found + 1, "note: "));
        fake_write(tree, "irq.yaml",
                   "version: 1\n"
                   "policies:\n"
                   "  - {name: db, match: {exe: db, unit: \"db-*.service\"}}\n"
                   "irq:\n"
                   "  - match: {net: \"*\"}\n");
        run(tree, "plan --policy irq.yaml --instances 2:db" MACHINE, &a);
        assert_int_equal(a.status, 0);
        assert_null(strstr(a.out, "note: "));
}

/* Of this process: any may be asked for. */
FILES_TEST(locality) {
        char words[64];

        (void)snprintf(words, sizeof(words), "locality %d", getpid());
        check(tree, words, 0, "test-tidbnumactl, process ", NULL);
        check(tree, words, 0, "sampled: ", NULL);
        check(tree, fmt("locality --json %d", getpid()), 0, "\"method\": \"sampled\"", NULL);
        check(tree, "locality 2147483647", 1, NULL, "no process or instance '2147483647'");
        check(tree, "locality 0", 1, NULL, "no process or instance '0'");
        fake_write(tree, "apart/db.yaml",
                   "version: 1\npolicies:\n  - name: db\n    match: {exe: no-such-program}\n"
                   "    place: {nodes: 0}\n");
        check(tree, "locality nowhere --policy-dir apart --runtime-dir .", 1, NULL,
              "no process or instance 'nowhere'");
}

/* The first of all threads of the kernel; in a container that number is another process's, or free.
 */
static bool is_kernel_thread_there(void) {
        char name[32] = "";
        FILE *file = fopen("/proc/2/comm", "re");
        bool read = file && fgets(name, sizeof(name), file);

        if (file)
                (void)fclose(file);
        return read && strcmp(name, "kthreadd\n") == 0;
}

FILES_TEST(locality_of_a_kernel_thread) {
        if (!is_kernel_thread_there())
                skip();
        check(tree, "locality 2", 1, NULL, "2 is a kernel thread");
        check(tree, "locality --exact 2", 1, NULL, "2 is a kernel thread");
}

/* It is there until we have asked for its end, and has no memory any more. */
FILES_TEST(locality_of_what_has_ended) {
        siginfo_t info;
        pid_t pid = fork();

        if (pid == 0)
                _exit(0);
        assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
        check(tree, fmt("locality %d", pid), 1, NULL, "has ended");
        check(tree, fmt("locality --exact %d", pid), 1, NULL, "has ended");
        assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* Only where the kernel has numa_maps. */
FILES_TEST(locality_exact) {
        if (access("/proc/self/numa_maps", F_OK) < 0)
                skip();
        check(tree, fmt("locality --exact %d", getpid()), 0, "every page was counted (numa_maps)",
              NULL);
}

FILES_TEST(against) {
        json_t *json, *changes;

        check(tree, "plan --instances 1:db --policy right.yaml --against right.yaml" MACHINE, 0,
              "Nothing changes.\n", NULL);
        fake_write(tree, "other.yaml",
                   "version: 1\npolicies:\n"
                   "  - {name: db, match: {exe: db, unit: u.service}, place: {nodes: 0-1}}\n");
        json = parse(
                tree,
                "plan --json --instances 1:db --policy right.yaml --against other.yaml" MACHINE, 0);
        changes = json_object_get(json, "changes");
        assert_int_equal(json_array_size(changes), 1);
        changes = json_array_get(changes, 0);
        assert_string_equal(json_string_value(json_object_get(changes, "from")), "2");
        assert_string_equal(json_string_value(json_object_get(changes, "to")), "0-1");
        assert_true(json_is_object(json_object_get(json, "before")));
        assert_true(json_is_object(json_object_get(json, "after")));
        json_decref(json);
        check(tree, "plan --instances 1:db --policy right.yaml --against wrong.yaml" MACHINE, 1,
              NULL, "wrong.yaml:3:6");
}

FILES_TEST(json) {
        json_t *json = parse(tree, "plan --json --instances 1:tidb" MACHINE, 0);

        assert_int_equal(json_array_size(json_object_get(json, "instances")), 1);
        assert_int_equal(json_array_size(json_object_get(json, "nodes")), 4);
        assert_int_equal(json_array_size(json_object_get(json, "changes")), 0);
        json_decref(json);
        json = parse(tree, "explain tidb-1 --json --instances 1:tidb" MACHINE, 0);
        assert_true(json_is_null(json_object_get(json, "process")));
        assert_true(json_is_object(json_object_get(json, "instance")));
        json_decref(json);
        json = parse(tree, "advise --json --instances 1:tidb" MACHINE, 0);
        assert_true(json_is_object(json));
        json_decref(json);
}
