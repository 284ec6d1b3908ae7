/* The table of products: each row is found by what it is, no two rows are confused, and the manual
 * page lists the same.
 *
 * `test-product --render` prints the text between the two marks of the page. */
#include "../../support/test.h"

#include "../../support/page-section.h"
#include "tidbnumad/base/text.h"
#include "tidbnumad/model/product.h"

static const char *path;

TEST(a_process_is_the_product_of_its_executable_and_words) {
        for (Product i = PRODUCT_OTHER + 1; i < N_PRODUCTS; i++) {
                const ProductInfo *info = product_info(i);
                _cleanup_text_ Text args = { 0 }, exe = { 0 }, unit = { 0 }, near = { 0 };

                text_appendf(&exe, "/tidb-deploy/%s-1/bin/%s", info->name, info->exe);
                text_appendf(&args, "bin/%s %s --name=x", info->exe,
                             info->words ? info->words : "");
                text_appendf(&unit, "%s-3379.service", info->name);
                text_appendf(&near, "%s2", exe.data);
                assert_int_equal(product_of(exe.data, args.data, NULL), i);
                assert_int_equal(product_of(exe.data, NULL, unit.data), i);
                assert_int_equal(product_of(near.data, args.data, unit.data), PRODUCT_OTHER);
                assert_int_equal(product_of_pattern(info->exe, NULL, unit.data), i);
        }
}

TEST(what_names_no_product_is_none) {
        static const char *const names[] = { "/srv/tidb-server/bin/x", "*", "other", "", NULL };

        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                assert_int_equal(product_of(names[i], NULL, NULL), PRODUCT_OTHER);
        assert_string_equal(product_to_string(PRODUCT_OTHER), "other");
        assert_int_equal(product_info(PRODUCT_OTHER)->weight, 2);
}

TEST(services_of_pd_are_told_apart_by_their_words_or_their_unit) {
        static const struct {
                const char *args, *unit;
                Product product;
        } cases[] = {
                { NULL, NULL, PRODUCT_PD },
                { "bin/pd-server --name=pd", NULL, PRODUCT_PD },
                { "bin/pd-server services tso", NULL, PRODUCT_TSO },
                { "bin/pd-server services tso --name=a", "x.service", PRODUCT_TSO },
                { "bin/pd-server services tsonami", NULL, PRODUCT_PD },
                { "bin/pd-server --data-dir=/my-services tso", NULL, PRODUCT_PD },
                { "bin/pd-server services resource-manager", NULL, PRODUCT_RESOURCE_MANAGER },
                { NULL, "tso-3379.service", PRODUCT_TSO },
                { NULL, "tsonami.service", PRODUCT_PD },
                { NULL, "pd-2379.service", PRODUCT_PD },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                print_message("%zu\n", i);
                assert_int_equal(product_of("/d/bin/pd-server", cases[i].args, cases[i].unit),
                                 cases[i].product);
        }
        assert_int_equal(product_of_pattern("pd-server", "*services tso*", NULL), PRODUCT_TSO);
        assert_int_equal(product_of_pattern("pd-server", NULL, "scheduling-*"), PRODUCT_SCHEDULING);
        assert_string_equal(product_to_string(PRODUCT_TSO), "tso");
        assert_string_equal(product_to_string(PRODUCT_PD), "pd-server");
}

TEST(a_pattern_means_a_product_if_it_fits_one) {
        assert_int_equal(product_of_pattern("tikv-server", NULL, NULL), PRODUCT_TIKV);
        assert_int_equal(product_of_pattern("/srv/*/bin/tikv-server", NULL, NULL), PRODUCT_TIKV);
        assert_int_equal(product_of_pattern("/srv/tidb-s*", NULL, NULL), PRODUCT_TIDB);
        assert_int_equal(product_of_pattern("/srv/tidb-*", NULL, NULL), PRODUCT_OTHER);
        assert_int_equal(product_of_pattern("/srv/*-server", NULL, NULL), PRODUCT_OTHER);
        assert_int_equal(product_of_pattern("*", NULL, NULL), PRODUCT_OTHER);
        assert_int_equal(product_of_pattern(NULL, NULL, NULL), PRODUCT_OTHER);
}

/* Names of policies, of which two of a set must not be the same. */
TEST(names_are_unique) {
        for (Product i = PRODUCT_OTHER + 1; i < N_PRODUCTS; i++)
                for (Product k = PRODUCT_OTHER + 1; k < i; k++)
                        assert_string_not_equal(product_info(i)->name, product_info(k)->name);
}

static void render_product(Text *text, const ProductInfo *info) {
        text_appendf(text, ".It Cm %s\nExecutable %s", info->name, info->exe);
        if (info->words)
                text_appendf(text, " with the words %s", info->words);
        if (text_ends_with(info->tiup.section, "_servers"))
                text_appendf(text, ", TiUP's %s", info->tiup.section);
        text_appendf(text, "; weight %u%s.\n", info->weight, info->heavy ? ", heavy" : "");
        text_appendf(text, ".br\n.Cm \"place: %s\" , \"memory: %s\"\n", info->place, info->memory);
}

static void render_page(Text *text) {
        for (Product i = PRODUCT_OTHER + 1; i < N_PRODUCTS; i++)
                render_product(text, product_info(i));
}

TEST(page_matches_table) {
        page_section_check(path, "PRODUCTS", render_page);
}

int main(int argc, char **argv) {
        if (argc != 2)
                return 2;
        if (strcmp(argv[1], "--render") == 0)
                return page_section_print(render_page);
        path = argv[1];
        return test_run_all();
}
