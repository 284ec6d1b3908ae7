/* Good files, damaged in many small ways: never a crash, and never half a load. What is damaged is
 * the same in every run. */
#include "load-support.h"

static const char *const good[] = {
        V "policies:\n"
          "  - name: tidb\n"
          "    match: {exe: tidb-server, user: tidb, unit: \"tidb-*.service\", args: '*-L*'}\n"
          "    place: {count: 1, nodes: [0, 1-3], near: storage, same_package: true, avoid: 3}\n"
          "    cpus: one-per-core\n"
          "    memory: bind\n"
          "    on_full: keep\n"
          "    rate: 256MiB/s\n"
          "    instances:\n"
          "      - match: {unit: tidb-4000.service}\n"
          "        nodes: 1\n"
          "      - match: {port: 4001}\n"
          "        nodes: [2]\n"
          "sampling:\n"
          "  interval: 10s\n",
        "version: 1\n"
        "policies: [{name: a, match: &m {exe: '/opt/*/a'}, migrate: none}, {name: b, match: *m, "
        "place: {share: shared}}]\n"
        "enforcement: {mode: observe, on_stop: keep}\n",
        "version: 1\n"
        "host: {numa_balancing: off, reserve: {nodes: nic, devices: [eth0, eth1], strict: true}}\n"
        "irq:\n"
        "- match: {net: ['eth*', ens1], nvme: nvme0, pci: '3b:00.0'}\n"
        "  steer: [0-3, 8]\n"
        "  irqbalance: ban\n"
        "  xps: false\n"
        "  rps: on\n"
        "- {match: {nvme: '*'}, steer: '0,2'}\n"
        "sampling: {access: on, budget: 0.5%}\n",
};

/* xorshift64, Marsaglia 2003. */
static uint64_t next_random(uint64_t *state) {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        return *state;
}

/* Overwrites, removes or repeats a piece. `text` has room for twice its length. */
static void damage(char *text, size_t *length, uint64_t *random) {
        static const char interesting[] = "0123456789aeiz\0\t\n \"'#%&*,-:<?@[]`{|}~\\\x7f\xc3\xff";
        size_t at = next_random(random) % *length;
        size_t span = 1 + next_random(random) % 24;

        if (span > *length - at)
                span = *length - at;
        switch (next_random(random) % 4) {
        case 0:
        case 1:
                text[at] = interesting[next_random(random) % (sizeof(interesting) - 1)];
                break;
        case 2:
                memmove(text + at, text + at + span, *length - at - span);
                *length -= span;
                break;
        default:
                memmove(text + at + span, text + at, *length - at);
                *length += span;
                break;
        }
}

/* load_run() asserts that a failed load left the set alone and said why. */
TEST(mutations) {
        unsigned refused = 0, taken = 0;
        uint64_t random = 88172645463325252;

        for (unsigned i = 0; i < 600; i++) { /* 200 of each */
                _cleanup_load_ Load load = { 0 };
                const char *text = good[i % ELEMENTSOF(good)];
                size_t length = strlen(text);
                char damaged[2048];

                memcpy(damaged, text, length);
                for (uint64_t n = 1 + next_random(&random) % 2; n > 0 && length > 0; n--)
                        damage(damaged, &length, &random);
                assert_int_equal(source_file_list_add(&load.files, "a.yaml", damaged, length), 0);
                load_run(&load);
                *(load.result == 0 ? &taken : &refused) += 1;
        }
        /* Damage that is never or always refused would not be much of a test. */
        print_message("%u refused, %u taken\n", refused, taken);
        assert_true(refused > 150);
        assert_true(taken > 10);
}

/* Every prefix of a file, as an editor that died leaves it. */
TEST(truncations) {
        for (size_t i = 0; i < ELEMENTSOF(good); i++)
                for (size_t length = 0; length <= strlen(good[i]); length++) {
                        _cleanup_load_ Load load = { 0 };

                        assert_int_equal(
                                source_file_list_add(&load.files, "a.yaml", good[i], length), 0);
                        load_run(&load);
                        if (length == strlen(good[i]) && load.result < 0)
                                fail_msg("%s", load.errors.messages[0]);
                }
}
