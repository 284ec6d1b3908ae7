/* Which processors count what. The codes are repeated here, as numbers of the vendors' files. */

#include "../../support/test.h"

#include "tidbnumad/model/memory.h"

enum { RAW = 4 };

typedef struct Known {
        Processor processor;
        const char *source, *coverage;
        uint64_t local, remote; /* 0: not counted */
} Known;

static const Known known[] = {
        { { PROCESSOR_INTEL, 6, 85 }, "intel", "loads", 0x1d3, 0x2d3 },
        { { PROCESSOR_INTEL, 6, 106 }, "intel", "loads", 0x1d3, 0x2d3 },
        { { PROCESSOR_INTEL, 6, 108 }, "intel", "loads", 0x1d3, 0x2d3 },
        { { PROCESSOR_INTEL, 6, 143 }, "intel", "loads", 0x1d3, 0x2d3 },
        { { PROCESSOR_INTEL, 6, 207 }, "intel", "loads", 0x1d3, 0x2d3 },
        { { PROCESSOR_INTEL, 6, 173 }, "intel", "loads", 0x1d3, 0x2d3 },
        { { PROCESSOR_INTEL, 6, 174 }, "intel", "loads", 0x1d3, 0x2d3 },
        { { PROCESSOR_AMD, 23, 49 }, "amd", "demand-fills", 0x843, 0x4043 }, /* Rome */
        { { PROCESSOR_AMD, 23, 0x30 }, "amd", "demand-fills", 0x843, 0x4043 },
        { { PROCESSOR_AMD, 25, 1 }, "amd", "fills", 0x844, 0x4044 },  /* Milan */
        { { PROCESSOR_AMD, 25, 17 }, "amd", "fills", 0x844, 0x4044 }, /* Genoa */
        { { PROCESSOR_AMD, 25, 160 }, "amd", "fills", 0x844, 0x4044 },
        { { PROCESSOR_AMD, 26, 2 }, "amd", "fills", 0x844, 0x4044 }, /* Turin */
        { { PROCESSOR_AMD, 26, 0x70 }, "amd", "fills", 0x844, 0x4044 },
        { { PROCESSOR_ARM, 0, 0xd0c }, "arm", "other-chip", 0, 0x31 },
        { { PROCESSOR_ARM, 0, 0xd40 }, "arm", "other-chip", 0, 0x31 },
        { { PROCESSOR_ARM, 0, 0xd49 }, "arm", "other-chip", 0, 0x31 },
        { { PROCESSOR_ARM, 0, 0xd4f }, "arm", "other-chip", 0, 0x31 },
};

static void assert_event(const AccessEvent *event, uint64_t config) {
        assert_int_equal(event->given, config != 0);
        if (!event->given)
                return;
        assert_int_equal(event->type, RAW);
        assert_int_equal(event->config, config);
}

TEST(known) {
        for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
                AccessEvents found;

                assert_int_equal(access_events_find(&known[i].processor, &found), 0);
                assert_string_equal(found.source, known[i].source);
                assert_string_equal(found.coverage, known[i].coverage);
                assert_event(&found.events[LOCALITY_LOCAL], known[i].local);
                assert_event(&found.events[LOCALITY_REMOTE], known[i].remote);
        }
}

TEST(unknown) {
        const Processor unknown[] = {
                { PROCESSOR_OTHER, 6, 85 },
                { PROCESSOR_INTEL, 6, 45 },  /* Sandy Bridge: another event */
                { PROCESSOR_INTEL, 6, 151 }, /* a client */
                { PROCESSOR_INTEL, 15, 6 },
                { PROCESSOR_AMD, 23, 1 }, /* Naples: no such event */
                { PROCESSOR_AMD, 23, 0x2f },
                { PROCESSOR_AMD, 24, 0 },
                { PROCESSOR_AMD, 26, 0x50 }, /* not Zen 5 */
                { PROCESSOR_AMD, 26, 0x80 },
                { PROCESSOR_AMD, 21, 1 },
                { PROCESSOR_ARM, 0, 0xd4a }, /* Neoverse E1 */
                { PROCESSOR_ARM, 0, 0xd01 },
        };
        AccessEvents found = { .source = "as it was" };

        for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++)
                assert_int_equal(access_events_find(&unknown[i], &found), -ENOENT);
        assert_string_equal(found.source, "as it was");
}

/* It counts, and nothing of it belongs to a thread. */
TEST(by_die) {
        const Processor kunpeng = { PROCESSOR_HISILICON, 0, 0xd01 };
        AccessEvents found = { .source = "as it was" };

        assert_int_equal(access_events_find(&kunpeng, &found), -EOPNOTSUPP);
        assert_string_equal(found.source, "as it was");
}

TEST(equal) {
        const AccessEvents none = { .source = NULL };
        AccessEvents a, b;

        assert_int_equal(access_events_find(&known[0].processor, &a), 0);
        b = a;
        assert_true(access_events_equal(&a, &b));
        b.events[LOCALITY_REMOTE].config++;
        assert_false(access_events_equal(&a, &b));
        b = a;
        b.events[LOCALITY_LOCAL].type++;
        assert_false(access_events_equal(&a, &b));
        b = a;
        b.events[LOCALITY_LOCAL].given = false;
        assert_false(access_events_equal(&a, &b));
        b = a;
        b.source = "policy";
        assert_false(access_events_equal(&a, &b));
        assert_false(access_events_equal(&a, &none));
        assert_true(access_events_equal(&none, &none));
}

TEST(words) {
        assert_string_equal(locality_to_string(LOCALITY_LOCAL), "local");
        assert_string_equal(locality_to_string(LOCALITY_REMOTE), "remote");
}
