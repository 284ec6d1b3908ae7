/* What stands around a record: none that is another's, of another version or boot, or damaged. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../support/test.h"

#include "tidbnumad/enforce/undo-envelope.h"

#define BOOT "0a1b2c3d-0001-4000-8000-00000000000f"
#define RECORD "{\"a\":[1,\"\\u00E9\"],\"boot\":\"" BOOT "\"}"
/* FNV-1a of RECORD, made by another program. */
#define SUM "f99261a7b93a8b21"
#define TEXT(sum, record, version)                                                                 \
        "{\"checksum\":\"" sum "\",\"record\":" record ",\"version\":" version "}"

static int parse(const char *text, int version, json_t **ret) {
        return undo_envelope_parse(text, strlen(text), version, BOOT, ret);
}

TEST(render) {
        char *text = NULL;
        size_t size;

        assert_int_equal(
                undo_envelope_render(json_pack("{s:s, s:[i, s]}", "boot", BOOT, "a", 1, "é"), 3,
                                     &text, &size),
                0);
        assert_string_equal(text, TEXT(SUM, RECORD, "3"));
        assert_int_equal(size, strlen(text));
        free(text);
}

TEST(no_memory_for_the_record) {
        char *text = NULL;
        size_t size;

        assert_int_equal(undo_envelope_render(NULL, 1, &text, &size), -ENOMEM);
        assert_null(text);
}

TEST(parse) {
        json_t *record = NULL;

        assert_int_equal(parse(TEXT(SUM, RECORD, "3"), 3, &record), 0);
        assert_int_equal(json_integer_value(json_array_get(json_object_get(record, "a"), 0)), 1);
        json_decref(record);
}

TEST(refused) {
        static const struct {
                const char *text;
                int error;
        } cases[] = {
                { "", -EBADMSG },
                { "[]", -EBADMSG },
                { TEXT(SUM, RECORD, "\"3\""), -EBADMSG },
                { TEXT(SUM, RECORD, "4"), -ENOTSUP },
                { TEXT("", "7", "4"), -ENOTSUP }, /* what it has inside is not looked at */
                { TEXT("0000000000000000", RECORD, "3"), -EILSEQ },
                { TEXT(SUM, "[]", "3"), -EBADMSG },
                { "{\"record\":" RECORD ",\"version\":3}", -EBADMSG },
                { TEXT(SUM, RECORD, "3,\"version\":3"), -EBADMSG },
                { TEXT("bf24c5f070d7e1eb", "{\"boot\":\"x\"}", "3"), -ESTALE },
                { TEXT("05b214fc70ee3356", "{\"boot\":1}", "3"), -EBADMSG },
        };

        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                json_t *record = NULL;
                int r = parse(cases[i].text, 3, &record);

                if (r != cases[i].error || record)
                        fail_msg("%s: %d", cases[i].text, r);
        }
}
