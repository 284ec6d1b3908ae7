#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tidbnumad/config/policy-load.h"
#include "tidbnumad/ctl/output.h"
#include "tidbnumad/ctl/policies.h"
#include "tidbnumad/ctl/status-file.h"
#include "tidbnumad/model/product.h"
#include "tidbnumad/model/snapshot.h"
#include "tidbnumad/sys/policy-dir.h"
#include "tidbnumad/sys/proc.h"
#include "tidbnumad/sys/sysroot.h"
#include "tidbnumad/sys/unit-file.h"
#include "tidbnumad/world/processes.h"

void policies_done(Policies *policies) {
        policy_set_done(&policies->set);
        source_file_list_done(&policies->files);
        diagnostics_done(&policies->errors);
        diagnostics_done(&policies->warnings);
        *policies = (Policies){ 0 };
}

int policies_read_file(const char *path, SourceFileList *list, Diagnostics *errors) {
        _cleanup_free_ char *text = must_have(malloc(SOURCE_FILE_MAX_BYTES + 1));
        const bool is_stdin = strcmp(path, "-") == 0;
        _cleanup_close_ int fd = -EBADF;
        struct stat st;
        ssize_t n;

        /* O_NONBLOCK: a FIFO must not block the command. */
        fd = is_stdin ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                      : open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        if (fd < 0 || fstat(fd, &st) < 0)
                n = -errno;
        else if (!is_stdin && !S_ISREG(st.st_mode))
                n = S_ISDIR(st.st_mode) ? -EISDIR : -ESPIPE;
        else /* one byte more than the limit, to detect a larger file */
                n = read_up_to(fd, text, SOURCE_FILE_MAX_BYTES + 1);
        if (n > (ssize_t)SOURCE_FILE_MAX_BYTES)
                diagnostics_addf(errors,
                                 "%s: larger than %zu bytes, expected at most that; split it into "
                                 "several files",
                                 path, SOURCE_FILE_MAX_BYTES);
        else if (n == -ESPIPE)
                diagnostics_addf(errors,
                                 "%s: not a regular file, expected one; to read from a pipe, give "
                                 "- and connect the pipe to standard input",
                                 path);
        else if (n < 0)
                diagnostics_addf(errors, "%s: cannot be read: %s, expected a file of YAML", path,
                                 strerror((int)-n));
        else
                return must(source_file_list_add(list, path, text, (size_t)n));
        return -EINVAL;
}

static int user_look_up(const char *user, uid_t *ret, _unused_ void *userdata) {
        return user_to_uid(user, ret);
}

/* `cards`: those that a policy may name; NULL: any. */
static int parse_sources(const Machine *machine, const DeviceList *cards, int read_result,
                         Policies *p) {
        int r = must(policy_set_parse(&p->files, &machine->topology, cards, &p->set, &p->errors,
                                      &p->warnings));

        if (r < 0)
                return r;
        if (machine->runs) /* a description of a machine has no users */
                policy_users_look_up(&p->set, &p->files, &machine->sysroot, user_look_up, NULL,
                                     &p->warnings);
        must(p->warnings.error);
        return read_result;
}

/* From the folders, if there are any, else from the files. */
static int load_sources(const char *const *dirs, size_t n_dirs, bool named,
                        const char *const *paths, size_t n_paths, const Machine *machine,
                        Policies *ret) {
        int worst = 0;

        *ret = (Policies){ 0 };
        policy_set_init(&ret->set);
        if (n_dirs > 0)
                worst = must(policy_dir_read(dirs, n_dirs, named, &ret->files, &ret->errors,
                                             &ret->warnings));
        /* Reads every file even after errors, so that all errors are reported at once. */
        for (size_t i = 0; i < n_paths && n_dirs == 0; i++) {
                int r = policies_read_file(paths[i], &ret->files, &ret->errors);

                worst = r < 0 ? r : worst;
        }
        return parse_sources(machine, machine->runs ? &machine->devices : NULL, worst, ret);
}

int policies_load(const Args *args, const Machine *machine, Policies *ret) {
        return load_sources(args->policy_dirs, args->n_policy_dirs, args->policy_is_set,
                            args->policy_files, args->n_policy_files, machine, ret);
}

#define POLICY_DIR "--policy-dir"

/* From the folders that the daemon was started with. 1: it was given none, or its command line
 * cannot be read. */
static int load_of_daemon(const Args *args, const Machine *machine, Policies *ret) {
        const pid_t pid = daemon_process_find(args->runtime_dir, machine_daemon(machine));
        _cleanup_free_ char *bytes = must_have(malloc(CMDLINE_MAX_BYTES));
        const ssize_t size = path_read(AT_FDCWD, bytes, CMDLINE_MAX_BYTES, "/proc/%d/cmdline", pid);
        char *dirs[ARGS_POLICY_DIRS_MAX] = { 0 };
        const char *word = NULL;
        size_t n = 0;
        int r = 1;

        while (size > 0 && n < ELEMENTSOF(dirs) &&
               (word = cmdline_next(bytes, (size_t)size, word))) {
                const bool next = strcmp(word, POLICY_DIR) == 0;

                if (!next && strncmp(word, POLICY_DIR "=", strlen(POLICY_DIR "=")) != 0)
                        continue;
                word = next ? cmdline_next(bytes, (size_t)size, word) : word;
                if (!word)
                        break;
                word += next ? 0 : strlen(POLICY_DIR "=");
                dirs[n++] = must_have(*word == '/' ? strdup(word)
                                                   : text_new("/proc/%d/cwd/%s", pid, word));
        }
        if (n > 0)
                r = load_sources((const char *const *)dirs, n, true, NULL, 0, machine, ret);
        while (n > 0)
                free(dirs[--n]);
        return r;
}

int policies_load_in_force(const Args *args, const Machine *machine, Policies *ret) {
        const Snapshot *status = machine_daemon(machine);
        _cleanup_close_ int fd = -EBADF;
        int r = 0;

        *ret = (Policies){ 0 };
        policy_set_init(&ret->set);
        /* A dry run keeps nothing: what is there would be of a former daemon. */
        if (status && status->policy_in_force && status->mode != DAEMON_DRY_RUN &&
            !args->policy_is_set)
                fd = open(args->runtime_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd >= 0)
                r = must(policy_kept_read(fd, &ret->files));
        if (r > 0) /* a card may have gone since: that ends no policy */
                return parse_sources(machine, NULL, 0, ret);
        r = status && !args->policy_is_set ? load_of_daemon(args, machine, ret) : 1;
        return r > 0 ? policies_load(args, machine, ret) : r;
}

int policies_load_path(const char *path, const Machine *machine, Policies *ret) {
        struct stat st;
        bool is_dir = stat(path, &st) == 0 && S_ISDIR(st.st_mode);

        return load_sources(&path, is_dir ? 1 : 0, true, &path, 1, machine, ret);
}

int policies_load_defaults(const Machine *machine, const bool *wanted, Policies *ret) {
        _cleanup_text_ Text text = { 0 };
        int r;

        *ret = (Policies){ .defaults = true };
        policy_set_init(&ret->set);
        text_append(&text, "version: 1\nhost:\n  reserve: {nodes: nic}\npolicies:\n");
        for (Product i = PRODUCT_OTHER + 1; i < N_PRODUCTS; i++) {
                const ProductInfo *info = product_info(i);

                if (wanted && !wanted[i])
                        continue;
                text_appendf(&text, "  - name: %s\n    match: {exe: %s", info->name, info->exe);
                if (info->words)
                        text_appendf(&text, ", args: \"* %s*\"", info->words);
                text_appendf(&text, "}\n    place: %s\n    memory: %s\n", info->place,
                             info->memory);
        }
        must(source_file_list_add(&ret->files, "(defaults)", must_text(&text), text.length));
        r = parse_sources(machine, NULL, 0, ret);
        diagnostics_done(
                &ret->warnings); /* warnings about defaults that the operator did not write */
        return r;
}

bool policies_are_built_in(const Policies *policies) {
        return policies->set.n_policies == 0 || policies->set.policies[0].built_in;
}

void policies_append(const Diagnostics *diagnostics, const char *prefix, Text *text) {
        for (size_t i = 0; i < diagnostics->n_messages; i++) {
                text_append(text, prefix);
                diagnostics_render(diagnostics, i, text);
                if (text->error == 0 && text->data[text->length - 1] != '\n')
                        text_append(text, "\n");
        }
}

void policies_print(const Diagnostics *diagnostics) {
        _cleanup_text_ Text text = { 0 };

        policies_append(diagnostics, "", &text);
        output_lines(stderr, &text);
}

int policies_refuse(const Policies *policies, const char *machine, Error *error) {
        policies_print(&policies->errors);
        return error_set(error, -EINVAL, "the policies are refused%s%s",
                         machine ? " for the machine " : "", machine ? machine : "");
}
