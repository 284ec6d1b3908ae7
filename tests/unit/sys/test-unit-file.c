/* What unit files set, as systemd reads it. */

#include "../../support/test.h"

#include "../../support/id-sets.h"
#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/sys/unit-file.h"

TEST(texts) {
        static const struct {
                const char *text, *list;
                bool changed;
        } rows[] = {
                { "", "", false },
                { "[Service]\nAllowedCPUs=0-6\n", "0-6", true },
                { "[Service]\nAllowedCPUs=0-6", "0-6", true },
                { "[Service]\r\nAllowedCPUs = 0-2,4 6\r\n", "0-2,4,6", true },
                { "[Service]\nAllowedCPUs=\"0-2\" 7\n", "0-2,7", true },
                { "[Service]\nAllowedCPUs=1\nAllowedCPUs=3\n", "1,3", true },
                { "[Service]\nAllowedCPUs=1\nAllowedCPUs=\n", "", true },
                { "[Service]\nAllowedCPUs=1\nAllowedCPUs=\nAllowedCPUs=5\n", "5", true },
                { "[Service]\nAllowedCPUs=1 \\\n# no\n  ; no\n 2\n", "1-2", true },
                { "[Service]\nAllowedCPUs=1 \\\n\nAllowedCPUs=4\n", "1,4", true },
                { "[Service]\n#AllowedCPUs=1\n ;AllowedCPUs=1\n", "", false },
                { "[Service]\n# a \\\nAllowedCPUs=1\n", "1", true },
                { "[Unit]\nAllowedCPUs=1\n[Slice]\nAllowedCPUs=2\n", "", false },
                { "AllowedCPUs=1\n", "", false },
                { "[Service]\nAllowedCPUs=none\n", "", false },
                { "[Service]\nAllowedCPUs=1\nAllowedCPUs=2-x\n", "1", true },
                { "[Service]\nAllowedCPUsX=1\nStartupAllowedCPUs=1\n", "", false },
                { "[Service]\nAllowedCPUs\n[Service", "", false },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                IdSet set = { 0 };

                print_message("%s\n", rows[i].text);
                assert_int_equal(unit_file_add(rows[i].text, "AllowedCPUs", &set), rows[i].changed);
                assert_id_view(ID_VIEW(&set), rows[i].list);
        }
}

TEST(files_add_up) {
        IdSet set = { 0 };

        assert_true(unit_file_add("[Service]\nAllowedMemoryNodes=1\n", "AllowedMemoryNodes", &set));
        assert_true(unit_file_add("[Service]\nAllowedMemoryNodes=3\n", "AllowedMemoryNodes", &set));
        assert_id_view(ID_VIEW(&set), "1,3");
        assert_true(unit_file_add("[Service]\nAllowedMemoryNodes=\n", "AllowedMemoryNodes", &set));
        assert_id_view(ID_VIEW(&set), "");
}
