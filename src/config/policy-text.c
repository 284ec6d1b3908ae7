/* What is wrong with a name, a path, a glob. */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/base/utf8.h"
#include "tidbnumad/config/policy-text.h"

#define POLICY_NAME_MAX 64u
#define UNIT_NAME_MAX 255u      /* systemd.unit(5) */
#define USER_NAME_MAX 255u      /* LOGIN_NAME_MAX less its NUL */
#define ARGS_MAX 4096u          /* length of a command line that is compared */
#define INTERFACE_NAME_MAX 15u  /* IFNAMSIZ less its NUL */
#define CONTROLLER_NAME_MAX 32u /* "nvme" and a number are far below */

/* The end of the bracket expression that begins at `p`, or NULL when it is not closed. A "]" at
 * the beginning belongs to the set, see glob(7). */
static const char *bracket_end(const char *p) {
        p++;
        if (*p == '!' || *p == '^')
                p++;
        return *p ? strchr(p + 1, ']') : NULL;
}

/* What fnmatch(3) would quietly never match. */
static const char *glob_fault(const char *glob) {
        for (const char *p = glob; *p; p++) {
                if (*p == '\\' && *++p == '\0')
                        return "it ends with a backslash";
                if (*p == '[') {
                        p = bracket_end(p);
                        if (!p)
                                return "a [ is not closed";
                }
        }
        return NULL;
}

/* A blank before a dash or a slash starts an argument. In a base name any blank does: a program
 * whose name has one can still be given as a path. */
static bool has_arguments(const char *exe) {
        if (*exe != '/')
                return strchr(exe, ' ');
        return strstr(exe, " -") || strstr(exe, " /");
}

static const char *exe_fault(const char *exe) {
        if (*exe == '\0')
                return "it is empty";
        if (*exe == ' ' || exe[strlen(exe) - 1] == ' ')
                return "a blank at an end; remove it";
        if (has_arguments(exe))
                return "arguments belong to `args`; write ? for a blank in a path";
        if (utf8_has_control(exe))
                return "it contains a control character";
        if (strlen(exe) >= PATH_MAX)
                return "it is too long";
        if (*exe != '/') {
                if (strchr(exe, '/'))
                        return "a relative path";
                return strpbrk(exe, "*?[\\") ? "a glob has to be an absolute path" : NULL;
        }
        if (text_ends_with(exe, "/") || strcmp(exe, "/") == 0)
                return "it names a folder";
        if (strstr(exe, "//") || strstr(exe, "/./") || strstr(exe, "/../"))
                return "paths from the kernel contain no //, /./ or /../";
        return glob_fault(exe);
}

/* What systemd allows in the name of a unit, and globs. */
static bool is_unit_text(const char *unit) {
        for (const char *p = unit; *p; p++) {
                if (*p == '[')
                        p = bracket_end(p);
                else if (!isalnum((unsigned char)*p) && !strchr(":-_.\\@*?", *p))
                        return false;
        }
        return true;
}

static const char *unit_fault(const char *unit) {
        const char *fault;

        if (*unit == '\0')
                return "it is empty";
        if (utf8_has_control(unit) || strpbrk(unit, " /"))
                return "a unit name contains no spaces, slashes or control characters";
        if (strlen(unit) > UNIT_NAME_MAX)
                return "it is too long";
        if (!text_ends_with(unit, ".service") && !text_ends_with(unit, ".scope") &&
            !strchr("*?]", unit[strlen(unit) - 1]))
                return "it does not end with .service or .scope";
        fault = glob_fault(unit);
        if (!fault && strpbrk(unit, "(|){}+"))
                return "no unit name contains ( ) | { } or +, and globs are * ? and [...]; write "
                       "an entry for each alternative";
        if (!fault && !is_unit_text(unit))
                return "a character that no unit name contains";
        return fault;
}

static const char *user_fault(const char *user) {
        if (*user == '\0')
                return "it is empty";
        if (utf8_has_control(user) || strpbrk(user, " :/*?[") || *user == '-')
                return "not the name of a user";
        return strlen(user) > USER_NAME_MAX ? "it is too long" : NULL;
}

static const char *name_fault(const char *name) {
        static const char allowed[] =
                "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                "._-";

        if (*name == '\0')
                return "it is empty";
        if (strlen(name) > POLICY_NAME_MAX)
                return "it is too long";
        return name[strspn(name, allowed)] ? "a character that is not allowed" : NULL;
}

/* A pattern with a blank at either end would match no command line of the kernel. */
static const char *args_fault(const char *args) {
        if (*args == '\0')
                return "it is empty";
        if (utf8_has_control(args))
                return "it contains a control character";
        if (strlen(args) > ARGS_MAX)
                return "it is too long";
        return glob_fault(args);
}

/* The kernel's rules for names of interfaces, and of devices in general. */
static const char *device_fault(const char *name, size_t max, bool glob) {
        if (*name == '\0')
                return "it is empty";
        if (utf8_has_control(name) || strpbrk(name, " /:"))
                return "no device has a name with spaces, slashes, colons or control characters";
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
                return "no device has that name";
        if (!glob && strpbrk(name, "*?[\\"))
                return "a glob, but names are expected here";
        if (strlen(name) > max && !(glob && strpbrk(name, "*?[\\")))
                return "it is too long";
        if (strlen(name) > PATH_MAX)
                return "it is too long";
        return glob ? glob_fault(name) : NULL;
}

static bool is_hex(const char *text, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (!isxdigit((unsigned char)text[i]))
                        return false;
        return true;
}

/* [domain:]bus:device.function, as lspci(8) shows it. */
static const char *pci_fault(const char *address) {
        const char *p = address;

        if (strlen(p) == POLICY_PCI_ADDRESS_LENGTH) {
                if (!is_hex(p, 4) || p[4] != ':')
                        return "not an address";
                p += 5;
        }
        if (strlen(p) != strlen("00:00.0") || !is_hex(p, 2) || p[2] != ':' || !is_hex(p + 3, 2) ||
            p[5] != '.' || p[6] < '0' || p[6] > '7')
                return "not an address";
        return NULL;
}

const char *policy_text_fault(PolicyKeyType type, const char *text) {
        switch (type) {
        case POLICY_KEY_NAME:
                return name_fault(text);
        case POLICY_KEY_EXE:
                return exe_fault(text);
        case POLICY_KEY_UNIT:
                return unit_fault(text);
        case POLICY_KEY_USER:
                return user_fault(text);
        case POLICY_KEY_ARGS:
                return args_fault(text);
        case POLICY_KEY_INTERFACES:
                return device_fault(text, INTERFACE_NAME_MAX, false);
        case POLICY_KEY_NET_GLOBS:
                return device_fault(text, INTERFACE_NAME_MAX, true);
        case POLICY_KEY_NVME_GLOBS:
                return device_fault(text, CONTROLLER_NAME_MAX, true);
        case POLICY_KEY_PCI_ADDRESSES:
                return pci_fault(text);
        default:
                return NULL;
        }
}

int policy_word_find(const char *const *words, const char *text) {
        for (unsigned i = 0; words[i]; i++)
                if (strcmp(text, words[i]) == 0)
                        return (int)i;
        return -EINVAL;
}
