/* What an operator has requested: which of several requests counts, and that a file keeps it. */
#include "../../support/test.h"
#include "tidbnumad/model/requests.h"

static void ask(Requests *requests, const char *glob, bool released) {
        assert_int_equal(requests_add(requests, glob, released), 0);
}

TEST(of_several_requests_that_name_an_instance_the_last_one_counts) {
        _cleanup_requests_ Requests r = { 0 };

        ask(&r, "tikv-*", true);
        ask(&r, "tikv-20160", false);
        assert_false(requests_release(&r, "tikv-20160", "tikv-20160.service"));
        assert_true(requests_release(&r, "tikv-20161", NULL));
        ask(&r, "tikv-20160.service", true);
        assert_true(requests_release(&r, "tikv-20160", "tikv-20160.service"));
        assert_false(requests_release(&r, "tikv-20160", "other.service") &&
                     requests_release(&r, "tidb-4000", NULL));
        assert_false(requests_release(&r, "tidb-4000", "tidb-4000.service"));
}

/* Whatever characters a glob would take for something else. */
TEST(a_name_is_itself) {
        _cleanup_requests_ Requests r = { 0 };

        ask(&r, "tikv[1]*", true);
        ask(&r, "data\\x2ddir.service", true);
        assert_true(requests_release(&r, "tikv[1]*", NULL));
        assert_true(requests_release(&r, "x", "data\\x2ddir.service"));
        assert_false(requests_release(&r, "tikv[1]", "dataxx2ddir.service"));
}

TEST(the_same_again_and_all_of_them_replace_what_was_requested_before) {
        _cleanup_requests_ Requests r = { 0 };

        ask(&r, "a", true);
        ask(&r, "b", true);
        ask(&r, "a", true);
        assert_int_equal(r.n, 2);
        ask(&r, "*", true);
        assert_int_equal(r.n, 1);
        ask(&r, "a", false);
        assert_int_equal(r.n, 2);
        ask(&r, "*", false);
        assert_int_equal(r.n, 0);
        ask(&r, "a", false); /* with nothing released it excepts nothing */
        assert_int_equal(r.n, 0);
}

TEST(names_that_a_file_could_not_keep_and_too_many_are_refused) {
        _cleanup_requests_ Requests r = { 0 };
        char name[REQUEST_NAME_MAX + 2];

        memset(name, 'a', sizeof(name) - 1);
        name[sizeof(name) - 1] = '\0';
        assert_int_equal(requests_add(&r, name, true), -EINVAL);
        name[REQUEST_NAME_MAX] = '\0';
        ask(&r, name, true);
        assert_int_equal(requests_add(&r, "", true), -EINVAL);
        assert_int_equal(requests_add(&r, "a\npause", true), -EINVAL);
        while (r.n < REQUESTS_MAX)
                ask(&r, fmt("i%zu", r.n), true);
        assert_int_equal(requests_add(&r, "one-more", true), -ENOSPC);
        assert_int_equal(r.n, REQUESTS_MAX);
        ask(&r, "i7", true); /* it takes the place of the former */
        ask(&r, "*", true);
        assert_int_equal(r.n, 1);
}

/* While a trial binds, nothing is released; while it ends, everything is; afterwards the requests
 * count that were there before. */
TEST(a_trial_is_above_the_requests) {
        static const struct {
                TrialRequest trial;
                bool one, other, any;
        } rows[] = {
                { TRIAL_REQUEST_NONE, true, false, true },
                { TRIAL_REQUEST_BINDS, false, false, false },
                { TRIAL_REQUEST_KEPT, true, false, true },
                { TRIAL_REQUEST_ENDS, true, true, true },
        };
        _cleanup_requests_ Requests r = { 0 };

        ask(&r, "tikv-*", true);
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_requests_ Requests again = { 0 };
                _cleanup_text_ Text text = { 0 };

                r.trial = rows[i].trial;
                assert_int_equal(requests_release(&r, "tikv-1", NULL), rows[i].one);
                assert_int_equal(requests_release(&r, "tidb-1", NULL), rows[i].other);
                assert_int_equal(requests_release_any(&r), rows[i].any);
                assert_false(requests_is_empty(&r));
                requests_render(&r, &text);
                assert_int_equal(requests_parse(text.data, text.length, &again), 0);
                assert_int_equal(again.trial, rows[i].trial);
                assert_int_equal(again.n, 1);
        }
}

TEST(a_release_of_all_ends_what_a_trial_has_kept) {
        _cleanup_requests_ Requests r = { .trial = TRIAL_REQUEST_KEPT };

        ask(&r, "tikv-*", true);
        ask(&r, "*", false);
        assert_int_equal(r.trial, TRIAL_REQUEST_KEPT);
        ask(&r, "*", true);
        assert_int_equal(r.trial, TRIAL_REQUEST_NONE);
        r.trial = TRIAL_REQUEST_BINDS;
        ask(&r, "*", true);
        assert_int_equal(r.trial, TRIAL_REQUEST_BINDS);
}

TEST(what_is_written_is_read_again) {
        _cleanup_requests_ Requests r = { .paused = true }, again = { 0 };
        _cleanup_text_ Text text = { 0 }, second = { 0 };

        ask(&r, "tikv-*", true);
        ask(&r, "name with blanks", false);
        requests_render(&r, &text);
        assert_int_equal(requests_parse(text.data, text.length, &again), 0);
        assert_true(again.paused);
        requests_render(&again, &second);
        assert_string_equal(second.data, text.data);
}

TEST(what_is_not_such_a_file_is_refused) {
        static const char *const texts[] = {
                "",
                "tidbnumad requests 1",
                "tidbnumad requests 2\n",
                "tidbnumad requests 1\npause",
                "tidbnumad requests 1\nPause\n",
                "tidbnumad requests 1\nrelease \n",
                "tidbnumad requests 1\nrelease a\n\n",
                "tidbnumad requests 1\ntrial\n",
        };
        Requests r = { 0 };

        for (size_t i = 0; i < ELEMENTSOF(texts); i++)
                assert_int_equal(requests_parse(texts[i], strlen(texts[i]), &r), -EBADMSG);
        assert_int_equal(requests_parse("tidbnumad requests 1\npau\0se\n", 28, &r), -EBADMSG);
        assert_int_equal(requests_parse("tidbnumad requests 1\n", 21, &r), 0);
        assert_false(r.paused);
}
