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

/* If there are several cards, adds to each instance the one on its node. */
static int add_cards(Situation *s, Address **ret_addresses) {
        const WordList *reserved = &s->policies->set.host.reserve.devices;

        *ret_addresses = calloc(s->report.n_instances + 1, sizeof(**ret_addresses));
        if (!*ret_addresses)
                return -ENOMEM;
        for (size_t i = 0; i < s->report.n_instances; i++) {
                const Device *card =
                        device_nic_of(&s->machine->devices, (const char *const *)reserved->words,
                                      reserved->n_words, &s->plan.choices[i].placement.nodes);

                if (!card)
                        continue;
                s->servers[i].card = card->name;
                if (s->machine->runs && s->machine->sysroot.live &&
                    interface_address_read(card->name, (*ret_addresses)[i]) >= 0)
                        s->servers[i].address = (*ret_addresses)[i];
        }
        return 0;
}

static const char *host_name(const Machine *machine, char *buffer, size_t size) {
        if (!machine->runs ||
            path_read(machine->sysroot.proc_fd, buffer, size, "sys/kernel/hostname") <= 0)
                return NULL;
        return buffer;
}

static int print(const Situation *s, const AdviceReport *report) {
        _cleanup_text_ Text text = { 0 };
        int r;

        if (s->args->json)
                r = advice_render_json(report, &text);
        else if (s->args->tiup)
                r = advice_render_tiup(report, report->host ? report->host : UNKNOWN_HOST, &text);
        else
                r = advice_render_table(report, output_width(), &text);
        if (r < 0)
                return r;
        /* `plan` prints the notes on the machine and on the policies. */
        for (size_t i = s->first_note_of_source; i < s->report.notes.n_words; i++)
                if (i < s->first_note_of_policies || i >= s->first_note_of_instances)
                        output_line(stderr, "note: %s", s->report.notes.words[i]);
        return s->args->json ? output_json(&text) : output_text(&text);
}

int command_advise(const Args *args) {
        _cleanup_machine_ Machine machine = MACHINE_NONE;
        _cleanup_situation_ Situation s = { .args = args, .machine = &machine };
        _cleanup_advice_report_ AdviceReport report = { 0 };
        _cleanup_free_ Address *addresses = NULL;
        char host[HOST_NAME_MAX + 2];
        int r = situation_open_machine(args, &machine);

        if (r >= 0)
                r = situation_load(&s);
        if (r >= 0)
                r = situation_load_servers(&s);
        if (r >= 0)
                r = add_cards(&s, &addresses);
        if (r >= 0) {
                const AdviceInput input = { .topology = &machine.topology,
                                            .instances = s.servers,
                                            .n_instances = s.report.n_instances,
                                            .plan = &s.plan,
                                            .daemon_binds =
                                                    s.policies->set.mode == ENFORCEMENT_ENFORCE &&
                                                    !s.policies->defaults &&
                                                    !policies_are_built_in(s.policies),
                                            .host = host_name(&machine, host, sizeof(host)) };

                r = advice_build(&input, &report);
        }
        if (r >= 0)
                r = print(&s, &report);
        return r < 0 ? r : EXIT_SUCCESS;
}
