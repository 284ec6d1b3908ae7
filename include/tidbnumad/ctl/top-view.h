/* One screen of tidbnumactl top, as text. */
#pragma once

#include "tidbnumad/base/text.h"
#include "tidbnumad/ctl/status-page.h"
#include "tidbnumad/model/topology.h"

typedef enum TopSort { TOP_BY_REMOTE, TOP_BY_NAME, TOP_BY_STATE, N_TOP_SORTS } TopSort;

typedef struct TopView {
        const StatusQuestion *question;
        const Topology *topology;
        const NodeCounters *before,
                *now; /* of its nodes, by index: of the last screen, and of this */
        TopSort sort;
        size_t selected; /* row of the instance table */
        bool detail;     /* show only that instance, also when the order changes */
        char *detailed;  /* its name; NULL: that of the selected row; owned */
        bool colors;
        unsigned columns, rows; /* size of the terminal */
} TopView;

/* Renders at most `rows` lines of at most `columns` columns, with problems first. The last line has
 * no newline. text->error shows a failure. `selected` becomes a row that there is, and `detail`
 * ends with the instance. */
void top_view_render(TopView *view, Text *text);
