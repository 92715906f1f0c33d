"""The query grammar: what is read, how it is spelt, and what a refusal says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stateward.core.errors import InvalidRequest
from stateward.core.model import SECOND, from_iso
from stateward.core.query import (
    ELSEWHERE,
    KEYS,
    PRIORITY_CLASSES,
    TERMS_MAX,
    TEXT_MAX,
    VALUES_MAX,
    Query,
    Term,
    check_names,
    parse_query,
)
from stateward.settings import PRIORITIES

NOW = from_iso("2026-03-01T12:00:00Z")
HOUR = 3600 * SECOND
KINDS = {
    "upload": {"parsing": "running", "error": "failed"},
    "contract": {"pending": "ready", "failed": "failed"},
}


def parsed(text: str) -> Query:
    return parse_query(text, now=NOW)


def only_term(text: str) -> Term:
    (term,) = parsed(text).terms
    return term


def refusal(text: str) -> str:
    with pytest.raises(InvalidRequest) as refused:
        parsed(text)
    return str(refused.value)


# What is read


@pytest.mark.parametrize("text", ["", "   ", "\t\n"])
def test_no_text_is_the_empty_query(text: str) -> None:
    query = parsed(text)

    assert query.is_empty
    assert str(query) == ""


def test_several_values_mean_any_of_them() -> None:
    assert only_term("status:error,parsing") == Term(key="status", values=("error", "parsing"))


def test_the_same_key_twice_means_any_of_them_too() -> None:
    assert parsed("status:parsing status:error") == parsed("status:error,parsing")


def test_the_same_key_twice_with_a_minus_excludes_both() -> None:
    assert parsed("-status:a -status:b") == parsed("-status:a,b")


def test_a_key_and_its_opposite_stay_apart() -> None:
    assert len(parsed("status:a -status:b").terms) == 2


def test_two_words_must_both_be_found() -> None:
    assert [term.values for term in parsed("report bank").terms] == [("bank",), ("report",)]


def test_two_comparisons_must_both_hold() -> None:
    assert str(parsed("priority>=3 priority<8")) == "priority<8 priority>=3"


@pytest.mark.parametrize("text", ["-status:error", "not:status:error", "-status=error"])
def test_a_minus_or_not_turns_a_term_round(text: str) -> None:
    assert only_term(text) == Term(key="status", values=("error",), is_negated=True)


def test_a_comparison_with_a_minus_is_turned_into_its_opposite() -> None:
    assert only_term("-retries>2") == Term(key="retries", op="<=", values=(2,))
    assert only_term("-age>=2h") == only_term("age<2h")


def test_names_that_are_declared_in_small_letters_may_be_shouted() -> None:
    assert parsed("STATUS:Error Machine:UPLOAD IS:Failed") == parsed(
        "status:error machine:upload is:failed"
    )


def test_quotes_hold_spaces_commas_quotes_and_backslashes() -> None:
    term = only_term(r'message:"a b, c","say \"hi\"","C:\temp\\"')

    assert term.texts == ("C:\\temp\\", "a b, c", 'say "hi"')


def test_a_quoted_word_is_never_a_key_or_a_minus() -> None:
    assert [term.texts for term in parsed('"status:error" "-x"').terms] == [
        ("-x",),
        ("status:error",),
    ]


def test_source_is_a_short_name_for_a_label() -> None:
    assert parsed("source:bank_csv") == parsed("meta.source_type=bank_csv")
    assert str(parsed("meta.source_type=bank_csv")) == "source:bank_csv"


def test_labels_keep_their_case_and_may_be_empty() -> None:
    assert only_term('meta.Client-Id.2=""') == Term(key="meta.Client-Id.2", values=("",))


def test_a_priority_has_a_name_or_a_number() -> None:
    assert parsed("priority:vip_customer") == parsed("priority:10")
    assert only_term("priority>=regulatory_filing") == Term(key="priority", op=">=", values=(7,))


def test_the_names_of_priorities_are_those_of_the_settings() -> None:
    assert PRIORITY_CLASSES == PRIORITIES


def test_an_age_becomes_the_moment_it_speaks_of() -> None:
    assert only_term("age>2h") == Term(key="created", op="<", values=(NOW - 2 * HOUR,))
    assert only_term("idle<=90m") == Term(key="entered", op=">=", values=(NOW - 90 * 60 * SECOND,))
    assert only_term("age<1.5d") == Term(key="created", op=">", values=(NOW - 36 * HOUR,))


def test_an_age_before_all_time_is_the_beginning_of_time() -> None:
    assert only_term("age>9999w").values == (0,)


def test_a_date_is_its_midnight_in_utc() -> None:
    assert parsed("created>2026-01-01") == parsed("created>2026-01-01T01:00:00+01:00")


def test_the_word_of_alerts_for_what_is_overdue_is_known() -> None:
    assert str(parsed("is:stuck,failed")) == str(parsed("is:failed,overdue"))


def test_a_document_is_found_by_a_part_of_its_name() -> None:
    assert parsed("document:report,invoice").terms[0].texts == ("invoice", "report")


def test_the_lists_that_callers_ask_for_hold_what_is_wanted() -> None:
    query = parsed("status:error,parsing machine:upload stage:parse is:failed -status:parsed")

    assert query.statuses == ("error", "parsing")
    assert query.machines == ("upload",)
    assert query.stages == ("parse",)
    assert query.claims == ("failed",)
    assert parsed("-stage:parse").stages == ()


# One spelling


def test_the_canonical_text_has_one_order_and_no_span() -> None:
    text = 'annual "a b" idle>1h -is:ended error:PDF_* meta.client=42 status:parsing,error'

    assert str(parsed(text)) == (
        "status:error,parsing -is:ended error:PDF_* entered<2026-03-01T11:00:00.000000Z "
        'meta.client:42 "a b" annual'
    )


VALUE = st.text(st.sampled_from('ab1 ,"\\-:=*_é日😀%\t'), min_size=1, max_size=6)
TERMS = st.one_of(
    st.tuples(
        st.sampled_from(["", "-", "not:"]),
        st.sampled_from(["", "message=", "meta.a:", "source:", "error:"]),
        st.lists(VALUE, min_size=1, max_size=3),
    ).map(lambda parts: parts[0] + parts[1] + ",".join(quoted(value) for value in parts[2])),
    st.tuples(
        st.sampled_from(["status:", "-worker:"]),
        st.lists(VALUE.map(lambda text: text.replace("*", "+")), min_size=1, max_size=3),
    ).map(lambda parts: parts[0] + ",".join(quoted(value) for value in parts[1])),
    st.sampled_from(
        ["priority>=7", "-priority:1,vip_customer", "retries<3", "age>2h", "-idle<=3.5d",
         "created>=2026-01-01", "entered<2026-01-01T10:00:00.000001Z", "is:overdue,failed",
         "id:UL_1,UL_2*", "artifact:ABCD", "stage:parse", "plain", "replaces:UL_1"],
    ),
)  # fmt: skip


def quoted(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


@given(st.lists(TERMS, max_size=6))
def test_the_canonical_text_parses_to_the_same_query(terms: list[str]) -> None:
    query = parsed(" ".join(terms))

    assert parsed(str(query)) == query


@given(
    st.lists(TERMS, max_size=6).flatmap(
        lambda terms: st.tuples(st.just(terms), st.permutations(terms))
    )
)
def test_the_order_of_terms_means_nothing(both: tuple[list[str], list[str]]) -> None:
    assert parsed(" ".join(both[0])) == parsed(" ".join(both[1]))


@given(st.text(max_size=40) | st.text(st.sampled_from('status:,-"\\>=<1h not.ma '), max_size=40))
def test_any_text_is_read_or_refused_and_nothing_else(text: str) -> None:
    try:
        query = parsed(text)
    except InvalidRequest:
        return

    assert parsed(str(query)) == query


# Refusals


def test_an_unknown_key_is_refused_with_a_near_miss_and_all_keys() -> None:
    message = refusal("statusx:error")

    assert "did you mean status?" in message
    assert all(key in message for key in KEYS)


def test_words_of_other_tools_lead_to_ours() -> None:
    for theirs, ours in ELSEWHERE.items():
        assert f"did you mean {ours}?" in refusal(f"{theirs}:x")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("zzz:1", "the keys are"),
        ("http://host/file", "put it in quotes"),
        ("status:", "needs a value"),
        ("status: error", "without a space"),
        ("status:a,", "comma"),
        ("status:a,,b", "comma"),
        ("-", "needs a value"),
        ("not:", "needs a value"),
        ("--word", "twice"),
        ('message:"never closed', "never closed"),
        ('message:"a"b', "whole value"),
        ('a"b', "whole value"),
        ('""', "empty"),
        ('status:""', "empty"),
        ("status!=error", "-status:error"),
        ("status>error", "use ':'"),
        ("meta.a>3", "use ':'"),
        ("meta.:x", "a label has"),
        (f"meta.{'a' * 65}:x", "a label has"),
        ("id:U*L", "may end with one"),
        ("id:*", "may end with one"),
        ("status:pars*", "whole values; '*' is for error, flag, document, message, id"),
        ("worker:w*", "whole values"),
        ("is:failedd", "did you mean failed?"),
        ("is:new", "takes waiting"),
        ("artifact:abc", "SHA-256"),
        ("artifact:wxyz", "SHA-256"),
        ("priority:vip_custommer", "did you mean vip_customer?"),
        ("priority:11", "1 to 10"),
        ("priority>=0", "1 to 10"),
        ("priority>1,2", "one value"),
        ("retries>many", "whole number"),
        ("retries>٣", "whole number"),
        ("retries>1234567890", "whole number"),
        ("age:2h", "age>2h"),
        ("age>2", "units"),
        ("age>2y", "units"),
        ("idle>-2h", "idle>2h"),
        ("created:2026-01-01", "compare it"),
        ("created>yesterday", "not a time"),
        ("created>2026-02-30", "not a time"),
        ("created>2026-01-01T10:00:00", "not a time"),
        ("created>1969-12-31", "not a time"),
        ("created>9999-12-31T23:59:59-14:00", "not a time"),
        ("a\x00b", "NUL"),
        ("a\ud800b", "NUL"),
    ],
)
def test_a_mistake_is_refused_with_a_sentence(text: str, says: str) -> None:
    assert says in refusal(text)


def test_queries_have_bounds() -> None:
    assert "characters" in refusal("x" * (TEXT_MAX + 1))
    assert "terms" in refusal("a " * (TERMS_MAX + 1))
    assert "values" in refusal("id:" + ",".join(f"UL_{n}" for n in range(VALUES_MAX + 1)))
    assert "written out" in refusal('"' + "\\ " * (TEXT_MAX // 2 - 1) + '"')
    assert len(refusal("status>" + "x" * 1000)) < 200


# Names


def test_known_names_pass() -> None:
    query = parsed("status:error -machine:contract stage:parse worker:anyone")

    check_names(query, kinds=KINDS, stages=["parse"])
    with pytest.raises(InvalidRequest, match="there is no stage 'parse'"):
        check_names(query, kinds=KINDS, stages=["extract"])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("-status:error1", "there is no status 'error1'; did you mean error"),
        ("machine:uploadd", "there is no machine 'uploadd'; did you mean upload?"),
        ("stage:zzz", "there is no stage 'zzz'; there are: parse"),
    ],
)
def test_a_misspelt_name_is_refused_before_it_matches_everything(text: str, says: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        check_names(parsed(text), kinds=KINDS, stages=["parse"])

    assert says in str(refused.value)
