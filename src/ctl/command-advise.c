/* tidbnumactl advise: settings that fit the places. They are printed, never applied. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "tidbnumad/ctl/commands.h"
#include "tidbnumad/ctl/output.h"
#include "tidbnumad/ctl/situation.h"
#include "tidbnumad/plan/advice.h"
#include "tidbnumad/publish/advice.h"
#include "tidbnumad/sys/devices.h"
#include "tidbnumad/sys/sysroot.h"

/* Placeholder for an unknown host name, for the operator to replace. */
#define UNKNOWN_HOST "HOST"

typedef char Address[ADDRESS_TEXT_SIZE];

int command_advise(const Args *args, Error *error) {
        _cleanup_machine_ Machine machine = MACHINE_NONE;
        _cleanup_situation_ Situation s = { .args = args, .machine = &machine };
        _cleanup_advice_report_ AdviceReport report = { 0 };
        _cleanup_free_ Address *addresses = NULL;
        _cleanup_text_ Text text = { 0 };
        char host[HOST_NAME_MAX + 2];
        AdviceInput input;
        const WordList *reserved;
        int r = machine_open(args, &machine, error);

        if (r >= 0)
                r = situation_load(&s, error);
        if (r < 0)
                return r;
        situation_load_servers(&s);
        /* If there are several cards, each instance gets the one on its node. */
        reserved = &s.policies->set.host.reserve.devices;
        addresses = must_have(calloc(s.report.n_instances + 1, sizeof(*addresses)));
        for (size_t i = 0; i < s.report.n_instances; i++) {
                const Device *card =
                        device_nic_of(&machine.devices, (const char *const *)reserved->words,
                                      reserved->n_words, &s.servers[i].nodes);

                if (!card)
                        continue;
                s.servers[i].card = card->name;
                if (machine.runs && machine.sysroot.live &&
                    interface_address_read(card->name, addresses[i]) >= 0)
                        s.servers[i].address = addresses[i];
        }
        input = (AdviceInput){ .topology = &machine.topology,
                               .instances = s.servers,
                               .n_instances = s.report.n_instances,
                               .daemon_binds = s.policies->set.mode == ENFORCEMENT_ENFORCE &&
                                               !s.policies->defaults &&
                                               !policies_are_built_in(s.policies) };
        if (machine.runs &&
            path_read(machine.sysroot.proc_fd, host, sizeof(host), "sys/kernel/hostname") > 0)
                input.host = host;
        must(advice_build(&input, &report));
        if (args->json)
                (void)advice_render_json(&report, &text);
        else if (args->tiup)
                (void)advice_render_tiup(&report, report.host ? report.host : UNKNOWN_HOST, &text);
        else
                (void)advice_render_table(&report, output_width(), &text);
        /* `plan` prints the notes on the machine and on the policies. */
        for (size_t i = s.first_note_of_source; i < s.report.notes.n_words; i++)
                if (i < s.first_note_of_policies || i >= s.first_note_of_instances)
                        output_line(stderr, "note: %s", s.report.notes.words[i]);
        r = args->json ? output_json(&text) : output_text(&text);
        return r < 0 ? r : EXIT_SUCCESS;
}
