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
static void add_card(const Situation *s, const Case *c, size_t i, Address address,
                     ServerInstance *ret) {
        const WordList *cards = &c->policies.set.host.reserve.devices;
        const Device *card =
                device_nic_of(&s->machine.devices, (const char *const *)cards->words,
                              cards->n_words, &c->planned.plan.choices[i].placement.nodes);

        if (!card)
                return;
        ret->card = card->name;
        if (s->machine.runs && s->machine.sysroot.live &&
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

static const char *host_name(const Situation *s, char *buffer, size_t size) {
        if (!s->machine.runs ||
            path_read(s->machine.sysroot.proc_fd, buffer, size, "sys/kernel/hostname") <= 0)
                return NULL;
        return buffer;
}

static int collect(const Situation *s, const Case *c, Subjects *ret) {
        int r = 0;

        ret->n = c->planned.report.n_instances;
        ret->instances = calloc(ret->n + 1, sizeof(*ret->instances));
        ret->addresses = calloc(ret->n + 1, sizeof(*ret->addresses));
        ret->asked = calloc(ret->n + 1, sizeof(*ret->asked));
        if (!ret->instances || !ret->addresses || !ret->asked)
                return -ENOMEM;
        for (size_t i = 0; i < ret->n && r >= 0; i++) {
                if (c->runs)
                        r = ask_server(&s->machine.sysroot, &c->instances.instances[i],
                                       s->args->ask, &ret->asked[i]);
                ret->instances[i] = case_server(s, c, i, &ret->asked[i]);
                add_card(s, c, i, ret->addresses[i], &ret->instances[i]);
        }
        return r;
}

static int build(const Situation *s, const Case *c, const Subjects *subjects, const char *host,
                 AdviceReport *ret) {
        const AdviceInput input = { .topology = &s->machine.topology,
                                    .instances = subjects->instances,
                                    .n_instances = subjects->n,
                                    .plan = &c->planned.plan,
                                    .daemon_binds = c->policies.set.mode == ENFORCEMENT_ENFORCE &&
                                                    !c->policies.defaults &&
                                                    !policies_are_built_in(&c->policies),
                                    .host = host };

        return advice_build(&input, ret);
}

/* Notes on the machine and on the policies are omitted: `plan` prints them. */
static void print_notes(const Case *c) {
        for (size_t i = c->first_note_of_source; i < c->planned.report.n_notes; i++)
                if (i < c->first_note_of_policies || i >= c->first_note_of_instances)
                        output_line(stderr, "note: %s", c->planned.report.notes[i]);
}

static int print(const Situation *s, const Case *c, const AdviceReport *report) {
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
        print_notes(c);
        return s->args->json ? output_json(&text) : output_text(&text);
}

int command_advise(const Args *args) {
        _cleanup_situation_ Situation situation = { .machine = MACHINE_NONE };
        _cleanup_advice_report_ AdviceReport report = { 0 };
        _cleanup_(subjects_done) Subjects subjects = { 0 };
        _cleanup_case_ Case c = { 0 };
        char host[HOST_NAME_MAX + 2];
        int r = situation_open(args, &situation);

        if (r >= 0)
                r = case_open(&situation, NULL, NULL, &c);
        if (r < 0)
                return r;
        r = collect(&situation, &c, &subjects);
        if (r >= 0)
                r = build(&situation, &c, &subjects, host_name(&situation, host, sizeof(host)),
                          &report);
        if (r >= 0)
                r = print(&situation, &c, &report);
        return r < 0 ? r : EXIT_SUCCESS;
}
