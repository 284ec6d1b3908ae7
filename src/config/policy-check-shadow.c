/* Entries that never count, because an earlier one takes all that they are for. Only what is
 * certain is reported: two globs that merely overlap are not reported. */
#include <fnmatch.h>
#include <string.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/config/policy-check.h"

/* Does `wide` match everything that `narrow` matches? NULL is a key that is not set. */
static bool covers(const char *wide, const char *narrow, int flags) {
        if (!wide)
                return true;
        if (!narrow)
                return false;
        if (strcmp(wide, narrow) == 0)
                return true;
        /* A ? or a set could match the `*` of the narrower glob, and not what it matches. */
        if (strpbrk(narrow, "*?[\\") && strpbrk(wide, "?[\\"))
                return false;
        return fnmatch(wide, narrow, flags) == 0;
}

static bool covers_exe(const char *wide, const char *narrow) {
        const char *slash = narrow ? strrchr(narrow, '/') : NULL;

        if (wide && narrow && wide[0] != '/')
                return strcmp(wide, slash ? slash + 1 : narrow) == 0;
        return covers(wide, narrow, FNM_PATHNAME);
}

/* --- policies --- */

static bool covers_policy(const PolicyMatch *wide, const PolicyMatch *narrow) {
        return covers_exe(wide->exe, narrow->exe) && covers(wide->unit, narrow->unit, 0) &&
               (!wide->user || text_equal(wide->user, narrow->user)) &&
               covers(wide->args, narrow->args, 0) &&
               (wide->containers == CONTAINERS_INCLUDED ||
                narrow->containers == CONTAINERS_EXCLUDED);
}

void policy_check_shadowed(const PolicyMerge *merge, Diagnostics *warnings) {
        for (size_t j = 1; j < merge->n_drafts; j++) {
                const PolicyDraft *later = &merge->drafts[j];

                for (size_t i = 0; i < j && !later->faulty; i++) {
                        const PolicyDraft *earlier = &merge->drafts[i];

                        if (earlier->faulty ||
                            !covers_policy(&earlier->policy.match, &later->policy.match))
                                continue;
                        diagnostics_add_at(
                                warnings, later->file, later->at,
                                "policy `%s` has no effect: policy `%s` (%s:%u) is before it and "
                                "matches all of its processes; put the narrower one first",
                                later->policy.name, earlier->policy.name, earlier->policy.file,
                                earlier->policy.line);
                        break;
                }
        }
}

/* --- entries of `instances` --- */

static bool check_entry(const PolicyDraft *draft, size_t i, size_t j, Diagnostics *errors,
                        Diagnostics *warnings) {
        const PolicyMatch *earlier = &draft->policy.instances[i].match;
        const PolicyMatch *later = &draft->policy.instances[j].match;
        uint32_t line = draft->entries[i].at.line;

        if (!covers(earlier->unit, later->unit, 0) ||
            (earlier->port != 0 && earlier->port != later->port))
                return false;
        if (earlier->port == later->port && text_equal(earlier->unit, later->unit))
                diagnostics_add_at(errors, draft->file, draft->entries[j].at,
                                   "a second entry of `instances` for the same %s, expected one; "
                                   "the first is in line %u",
                                   !later->unit       ? "port"
                                   : later->port == 0 ? "unit"
                                                      : "unit and port",
                                   line);
        else
                diagnostics_add_at(warnings, draft->file, draft->entries[j].at,
                                   "this entry of `instances` has no effect: that in line %u is "
                                   "before it and matches the same; put the narrower one first",
                                   line);
        return true;
}

void policy_check_entries(const PolicyDraft *draft, Diagnostics *errors, Diagnostics *warnings) {
        for (size_t j = 1; j < draft->policy.n_instances; j++)
                for (size_t i = 0; i < j; i++)
                        if (check_entry(draft, i, j, errors, warnings))
                                break;
}

/* --- entries of `irq` --- */

static bool covers_words(const WordList *wide, const WordList *narrow) {
        for (size_t i = 0; i < narrow->n_words; i++) {
                bool found = false;

                for (size_t j = 0; j < wide->n_words && !found; j++)
                        found = covers(wide->words[j], narrow->words[i], 0);
                if (!found)
                        return false;
        }
        return true;
}

static const IrqPolicy *find_cover(const PolicySet *set, size_t narrow) {
        const IrqPolicy *later = &set->irqs[narrow];

        for (size_t i = 0; i < narrow; i++) {
                const IrqPolicy *wide = &set->irqs[i];

                if (covers_words(&wide->net, &later->net) &&
                    covers_words(&wide->nvme, &later->nvme) &&
                    covers_words(&wide->pci, &later->pci))
                        return wide;
        }
        return NULL;
}

void policy_check_irqs(const PolicySet *set, const SourceFileList *files, Diagnostics *warnings) {
        for (size_t i = 0; i < set->n_irqs; i++) {
                const IrqPolicy *irq = &set->irqs[i], *cover = find_cover(set, i);
                const SourceFile *file = source_file_find(files, irq->file);
                SourceSpan at = { irq->line, irq->column, 0 };

                if (!file || irq->net.n_words + irq->nvme.n_words + irq->pci.n_words == 0)
                        continue; /* it was refused */
                if (cover)
                        diagnostics_add_at(warnings, file, at,
                                           "this entry of `irq` has no effect: that in %s:%u is "
                                           "before it and matches the same devices; put the "
                                           "narrower one first",
                                           cover->file, cover->line);
                if (irq->steer == STEER_RESERVED && set->host.reserve.kind == RESERVE_NONE &&
                    set->host.reserve.cpus == 0)
                        diagnostics_add_at(warnings, file, at,
                                           "`steer: reserved` has no CPUs to steer to, because no "
                                           "node and no CPU is reserved; set `host.reserve.nodes` "
                                           "or `host.reserve.cpus`");
        }
}
