/* The version of Go in executables, made here as Go's linker makes them, and what is none. */
#include "../../support/test.h"

#include <elf.h>
#include <errno.h>

#include "tidbnumad/sys/go-version.h"

/* A header, one segment that is the whole file, the section's bytes, strings, names of sections,
 * and the table of sections. */
typedef struct Elf {
        Elf64_Ehdr header;
        Elf64_Phdr segment;
        unsigned char info[128];
        uint64_t string[2]; /* Go's string, for which the section has a pointer up to Go 1.17 */
        char text[32];
        char names[32];
        Elf64_Shdr sections[3];
} Elf;

#define BASE UINT64_C(0x400000)
#define ADDRESS(field) (BASE + offsetof(Elf, field))

static Elf elf_make(void) {
        Elf elf = { .header = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
                                             __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
                                                     ? ELFDATA2LSB
                                                     : ELFDATA2MSB,
                                             EV_CURRENT },
                                .e_phoff = offsetof(Elf, segment),
                                .e_phentsize = sizeof(Elf64_Phdr),
                                .e_phnum = 1,
                                .e_shoff = offsetof(Elf, sections),
                                .e_shentsize = sizeof(Elf64_Shdr),
                                .e_shnum = 3,
                                .e_shstrndx = 2 },
                    .segment = { .p_type = PT_LOAD, .p_vaddr = BASE, .p_filesz = sizeof(Elf) },
                    .names = "\0.go.buildinfo\0.shstrtab",
                    .sections = { [1] = { .sh_name = 1,
                                          .sh_type = SHT_PROGBITS,
                                          .sh_offset = offsetof(Elf, info),
                                          .sh_size = sizeof(elf.info) },
                                  [2] = { .sh_name = 15,
                                          .sh_type = SHT_STRTAB,
                                          .sh_offset = offsetof(Elf, names),
                                          .sh_size = sizeof(elf.names) } } };

        memcpy(elf.info, "\xff Go buildinf:", 14);
        elf.info[14] = sizeof(uint64_t);
        return elf;
}

/* Up to Go 1.17. */
static Elf elf_with_pointers(const char *version) {
        Elf elf = elf_make();
        const uint64_t pointer = ADDRESS(string);

        elf.info[15] = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
        memcpy(elf.info + 16, &pointer, sizeof(pointer));
        elf.string[0] = ADDRESS(text);
        elf.string[1] = strlen(version);
        memcpy(elf.text, version, strlen(version));
        return elf;
}

static Elf elf_inline(const char *version) {
        Elf elf = elf_make();

        elf.info[15] = 2;
        elf.info[32] = (unsigned char)strlen(version);
        memcpy(elf.info + 33, version, strlen(version));
        return elf;
}

typedef struct File {
        const Elf *elf;
        size_t size;
} File;

static ssize_t read_elf(uint64_t offset, void *buffer, size_t size, void *userdata) {
        const File *file = userdata;

        assert_true(offset <= INT64_MAX - size);
        if (offset >= file->size)
                return 0;
        size = size < file->size - offset ? size : file->size - offset;
        memcpy(buffer, (const char *)file->elf + offset, size);
        return (ssize_t)size;
}

static void assert_version(const Elf *elf, uint32_t minor) {
        File file = { elf, sizeof(*elf) };
        GoVersion version = { 0 };

        assert_int_equal(go_version_parse(read_elf, &file, &version), 0);
        assert_int_equal(version.major, 1);
        assert_int_equal(version.minor, minor);
}

static void assert_none(const Elf *elf, size_t size) {
        File file = { elf, size };
        GoVersion version = { 77, 78 };

        assert_int_equal(go_version_parse(read_elf, &file, &version), -ENODATA);
        assert_int_equal(version.major, 77);
        assert_int_equal(version.minor, 78);
}

TEST(versions) {
        static const struct {
                const char *text;
                uint32_t minor;
        } rows[] = { { "go1.17.13", 17 },
                     { "go1.21", 21 },
                     { "go1.25rc1", 25 },
                     { "go1.24.9 X:boringcrypto", 24 },
                     { "devel go1.26-4a3b2c1", 26 } };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                const Elf old = elf_with_pointers(rows[i].text), new = elf_inline(rows[i].text);

                assert_version(&old, rows[i].minor);
                assert_version(&new, rows[i].minor);
        }
}

TEST(no_version) {
        static const char *const texts[] = { "",     "go",   "go1",       "go1.",
                                             "gone", "1.21", "go1.99999", "devel +4a3b2c1" };

        for (size_t i = 0; i < ELEMENTSOF(texts); i++) {
                const Elf old = elf_with_pointers(texts[i]), new = elf_inline(texts[i]);

                assert_none(&old, sizeof(old));
                assert_none(&new, sizeof(new));
        }
}

static void foreign(Elf *elf) {
        elf->header.e_ident[EI_CLASS] = ELFCLASS32;
}

static void other_order(Elf *elf) {
        elf->header.e_ident[EI_DATA] ^= ELFDATA2LSB | ELFDATA2MSB;
}

static void no_sections(Elf *elf) {
        elf->header.e_shnum = 0;
}

static void many_sections(Elf *elf) {
        elf->header.e_shnum = UINT16_MAX;
}

static void sections_beyond(Elf *elf) {
        elf->header.e_shoff = UINT64_MAX - 8;
}

static void names_beyond(Elf *elf) {
        elf->sections[2].sh_offset = UINT64_MAX;
}

static void no_names(Elf *elf) {
        elf->header.e_shstrndx = 3;
}

static void other_name(Elf *elf) {
        elf->names[3] = 'G';
}

static void info_beyond(Elf *elf) {
        elf->sections[1].sh_offset = UINT64_MAX - 20;
}

static void info_short(Elf *elf) {
        elf->sections[1].sh_size = 31;
}

static void other_magic(Elf *elf) {
        elf->info[3] = 'g';
}

static void long_string(Elf *elf) {
        elf->info[32] = 200;
        elf->string[1] = UINT64_MAX;
}

TEST(broken_files) {
        static void (*const breaks[])(Elf *) = {
                foreign,  other_order, no_sections, many_sections, sections_beyond, names_beyond,
                no_names, other_name,  info_beyond, info_short,    other_magic,     long_string,
        };

        for (size_t i = 0; i < ELEMENTSOF(breaks); i++) {
                Elf old = elf_with_pointers("go1.17"), new = elf_inline("go1.21");

                breaks[i](&old);
                breaks[i](&new);
                assert_none(&old, sizeof(old));
                assert_none(&new, sizeof(new));
        }
}

TEST(pointers_to_nowhere) {
        Elf elf = elf_with_pointers("go1.17");

        memset(elf.info + 16, 0, 8);
        assert_none(&elf, sizeof(elf));
        elf = elf_with_pointers("go1.17");
        elf.string[0] = BASE - 1;
        assert_none(&elf, sizeof(elf));
        elf = elf_with_pointers("go1.17");
        elf.segment.p_offset = UINT64_MAX;
        assert_none(&elf, sizeof(elf));
        elf = elf_with_pointers("go1.17");
        elf.header.e_phnum = UINT16_MAX;
        assert_none(&elf, sizeof(elf));
        elf = elf_with_pointers("go1.17");
        elf.info[14] = 4;
        assert_none(&elf, sizeof(elf));
}

/* Wherever it ends. The sections are its last bytes, so that each cut is one too many. */
TEST(cut_files) {
        const Elf old = elf_with_pointers("go1.17"), new = elf_inline("go1.21");

        for (size_t size = 0; size < sizeof(Elf); size++) {
                assert_none(&old, size);
                assert_none(&new, size);
        }
}

TEST(this_program_is_not_by_go) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        _cleanup_sysroot_ Sysroot sysroot = SYSROOT_NONE;
        GoVersion version;

        assert_int_equal(sysroot_open(NULL, &sysroot), 0);
        assert_int_equal(proc_open(&sysroot, getpid(), &handle), 0);
        assert_int_equal(go_version_read(&handle, &version), -ENODATA);
}

TEST(from_1_25_on_a_program_follows_its_cpus) {
        assert_false(go_version_follows_cpus(&(GoVersion){ 1, 24 }));
        assert_true(go_version_follows_cpus(&(GoVersion){ 1, 25 }));
        assert_true(go_version_follows_cpus(&(GoVersion){ 2, 0 }));
}
