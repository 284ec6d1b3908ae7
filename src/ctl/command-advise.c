/* tidbnumactl advise: settings that fit the places. They are printed, never applied. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "tidbnumad/ctl/ask.h"
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

/* If there are several cards, adds the one on the instance's node. */
static void add_card(const Situation *s, size_t i, Address address, ServerInstance *ret) {
        const WordList *cards = &s->policies->set.host.reserve.devices;
        const Device *card = device_nic_of(&s->machine->devices, (const char *const *)cards->words,
                                           cards->n_words, &s->plan.choices[i].placement.nodes);

        if (!card)
                return;
        ret->card = card->name;
        if (s->machine->runs && s->machine->sysroot.live &&
            interface_address_read(ret->card, address) >= 0)
                ret->address = address;
}

/* What is asked for, by index of the plan's instances. Owned. */
typedef struct Subjects {
        ServerInstance *instances;
        Address *addresses;
        Asked *asked;
        size_t n;
} Subjects;

static void subjects_done(Subjects *subjects) {
        for (size_t i = 0; subjects->asked && i < subjects->n; i++)
                asked_done(&subjects->asked[i]);
        free(subjects->instances);
        free(subjects->addresses);
        free(subjects->asked);
}

static const char *host_name(const Machine *machine, char *buffer, size_t size) {
        if (!machine->runs ||
            path_read(machine->sysroot.proc_fd, buffer, size, "sys/kernel/hostname") <= 0)
                return NULL;
        return buffer;
}

static int collect(const Situation *s, Subjects *ret) {
        int r = 0;

        ret->n = s->report.n_instances;
        ret->instances = calloc(ret->n + 1, sizeof(*ret->instances));
        ret->addresses = calloc(ret->n + 1, sizeof(*ret->addresses));
        ret->asked = calloc(ret->n + 1, sizeof(*ret->asked));
        if (!ret->instances || !ret->addresses || !ret->asked)
                return -ENOMEM;
        for (size_t i = 0; i < ret->n && r >= 0; i++) {
                if (s->runs)
                        r = ask_server(&s->machine->sysroot, &s->instances.instances[i],
                                       s->args->ask, &ret->asked[i]);
                ret->instances[i] = situation_server(s, i, &ret->asked[i]);
                add_card(s, i, ret->addresses[i], &ret->instances[i]);
        }
        return r;
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
        _cleanup_(subjects_done) Subjects subjects = { 0 };
        char host[HOST_NAME_MAX + 2];
        int r = situation_open_machine(args, &machine);

        if (r >= 0)
                r = situation_load(&s);
        if (r >= 0)
                r = collect(&s, &subjects);
        if (r >= 0) {
                const AdviceInput input = { .topology = &machine.topology,
                                            .instances = subjects.instances,
                                            .n_instances = subjects.n,
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
