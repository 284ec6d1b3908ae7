/* What is published, as status.json and back: by the tables of model/instance.h and
 * model/snapshot.h. */
#pragma once

#include "tidbnumad/base/json.h"
#include "tidbnumad/model/snapshot.h"

/* Renders the whole state as one JSON object into `text`, which is emptied first and keeps its
 * memory. Keys are in a fixed order; what is not known is null. Returns 0 or -ENOMEM. */
int status_render(const Snapshot *snapshot, Text *text);

/* A part of it as it was read: a daemon of another version may have keys that this one does not
 * know. */
void status_put_json(Json *json, const char *key, const struct json_t *value);

/* Bits of PlacementWarning, as a list of {"rule", "text"}. */
void status_put_warnings(Json *json, const char *key, uint32_t warnings);

/* What a node is, of the object that is open: its number, package, CPUs and memory. */
void status_put_node(Json *json, const Node *node);

/* Reads it. What an older daemon leaves out is zero, NAN, NULL, or what the table has for that.
 * -EBADMSG: not a valid status; -ENOMEM. `ret` is untouched then. */
int status_parse(const char *text, size_t size, Snapshot *ret);

/* Of one that was parsed, or of zeros. */
void status_done(Snapshot *snapshot);
#define _cleanup_status_ _cleanup_(status_done)
