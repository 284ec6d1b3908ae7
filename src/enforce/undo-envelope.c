/* What records have around them as files: version, checksum and boot. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/enforce/undo-envelope.h"

static char *compact(const json_t *json) {
        return json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENSURE_ASCII);
}

int undo_checksum(const json_t *record, char ret[static UNDO_CHECKSUM_SIZE]) {
        _cleanup_free_ char *text = compact(record);
        uint64_t sum = UINT64_C(14695981039346656037);

        if (!text)
                return -ENOMEM;
        for (const char *p = text; *p; p++)
                sum = (sum ^ (unsigned char)*p) * UINT64_C(1099511628211);
        (void)snprintf(ret, UNDO_CHECKSUM_SIZE, "%016" PRIx64, sum);
        return 0;
}

int undo_envelope_render(json_t *record, int version, char **ret, size_t *ret_size) {
        _cleanup_(json_decrefp) json_t *inner = record, *root = NULL;
        char checksum[UNDO_CHECKSUM_SIZE], *text;
        int r = inner ? undo_checksum(inner, checksum) : -ENOMEM;

        if (r < 0)
                return r;
        root = json_pack("{s:i, s:s, s:O}", "version", version, "checksum", checksum, "record",
                         inner);
        text = root ? compact(root) : NULL;
        if (!text)
                return -ENOMEM;
        *ret = text;
        *ret_size = strlen(text);
        return 0;
}

static int check_sum(const json_t *root, const json_t *record) {
        const char *said = json_string_value(json_object_get(root, "checksum"));
        char checksum[UNDO_CHECKSUM_SIZE];
        int r;

        if (!said || !json_is_object(record))
                return -EBADMSG;
        r = undo_checksum(record, checksum);
        return r < 0 ? r : strcmp(said, checksum) == 0 ? 0 : -EILSEQ;
}

static int check_boot(const json_t *record, const char *boot_id) {
        const char *boot = json_string_value(json_object_get(record, "boot"));

        if (!boot)
                return -EBADMSG;
        return strcmp(boot, boot_id) == 0 ? 0 : -ESTALE;
}

int undo_envelope_parse(const char *text, size_t size, int version, const char *boot_id,
                        json_t **ret) {
        _cleanup_(json_decrefp) json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
        json_t *record = json_object_get(root, "record");
        const json_t *said = json_object_get(root, "version");
        int r;

        if (!json_is_integer(said))
                return -EBADMSG;
        if (json_integer_value(said) != version)
                return -ENOTSUP;
        r = check_sum(root, record);
        if (r >= 0)
                r = check_boot(record, boot_id);
        if (r < 0)
                return r;
        *ret = json_incref(record);
        return 0;
}
