"""PromQL looked over: what passes in PromQL and MetricsQL, and the column of what cannot be either."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitops_ds.intent.promql import PromqlError, check_queries, check_selector

RIGHT = (
    "up",
    'sum by (a) (rate(x{a="b",c=~"d.*"}[5m])) / 2',
    "max_over_time(rate(x[5m])[1h30m:1m])",
    "x[5m:]",
    "x[1h30m] offset -5m",
    "a; b",
    '{__name__="x"}',
    "avg_over_time(x{a=\"]}\"}[5m]) + y{b='}'} + z{c=`\\`}",
    "x offset 1d",
    "1e3 + 0x1F - .5 ^ 2 % Inf",
    "x @ 1700000000 + y @ start()",
    'x{a="b" or c="d"}',
    "sum(x) by (offset)",
    '{"http.requests", "c"="d"}',
    "x # a comment: ( [ {\n + y",
    "rate(x[5m]) > bool 3",
    'x{a="b",}',
    "rollup(x[5i])",
    'label_replace(x, "a", "$1", "b", "(.*)")',
)


@pytest.mark.parametrize("query", RIGHT)
def test_what_every_reader_takes_passes(query: str) -> None:
    check_queries(query)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("", "column 1: the query is empty"),
        ("a;", "column 3: a query is empty"),
        ("a;;b", "column 3: a query is empty"),
        ("sum(x", "column 4: ( is never closed"),
        ("x)", "column 2: ) closes nothing"),
        ("x]", "column 2: ] closes nothing"),
        ("(x}", "column 3: } closes nothing"),
        ("(a; b)", "column 1: ( is not closed before the ;"),
        ("x[5m", "column 2: [ is never closed"),
        ("x[5x]", 'column 3: "5x" is no duration such as 5m or 1h30m'),
        ("x[]", 'column 3: "" is no duration such as 5m or 1h30m'),
        ("x[:5m]", 'column 3: ":5m" is no duration such as 5m or 1h30m'),
        ("rate(x[$__rate_interval])", 'column 8: "$__rate_interval" is no duration such as 5m or 1h30m'),
        ("x offset y", "column 10: offset takes a duration such as 5m"),
        ("5mm", 'column 1: "5mm" is neither a number nor a duration such as 5m or 1h30m'),
        ('x{a="b}', 'column 5: the text that starts with " is never ended'),
        ("x{a=b}", "column 5: the value of a label stands in quotes"),
        ("x{a}", "column 4: a label has no value"),
        ("x{a=}", "column 5: a label has no value"),
        ('x{a="b" c="d"}', 'column 9: c is out of place: write label="value", ...'),
        ("x{5}", "column 3: 5 is out of place"),
        ("x +", "column 3: nothing follows +"),
        ("x and", "column 3: nothing follows and"),
        ("sum(x) * $factor", "column 10: $ is a dashboard's variable, which nobody fills in here"),
        ("x ? y", "column 3: ? has no meaning here"),
        ('x{a="b;c"}', "column 7: the agent ends a query at every ;, in quotes and comments too"),
    ],
)
def test_what_cannot_be_promql_is_refused_at_its_column(query: str, said: str) -> None:
    with pytest.raises(PromqlError, match=f"^{re.escape(said)}"):
        check_queries(query)


@pytest.mark.parametrize("query", ["dynamic_score", 'dynamic_score{env="prod"}', '{__name__="s"}', "job:score:mean{}"])
def test_a_selector_is_one(query: str) -> None:
    check_selector(query)


@pytest.mark.parametrize("query", ["max(x)", "x + 1", "x offset 5m", "x[5m]", '{a="b"} or {c="d"}', "x;y", "1"])
def test_more_than_a_selector_is_none(query: str) -> None:
    with pytest.raises(PromqlError, match="more than a selector"):
        check_selector(query)


@given(st.text(alphabet="x{}[]()\"'`\\;=~!,+5mh.:#@ \n$", max_size=30))
def test_every_text_is_judged_and_every_fault_has_a_column_in_it(query: str) -> None:
    try:
        check_queries(query)
    except PromqlError as error:
        found = re.match(r"column (\d+): .", str(error))
        assert found
        assert 1 <= int(found[1]) <= len(query) + 1


PLAIN = [query for query in RIGHT if re.search(r"[()\[\]{}]", query) and not re.search(r"[#'`$]", query)]


@given(st.sampled_from(PLAIN), st.data())
def test_a_query_that_lost_a_bracket_or_a_quote_is_refused(query: str, data: st.DataObject) -> None:
    at = data.draw(st.sampled_from([i for i, c in enumerate(query) if c in '()[]{}"']))
    with pytest.raises(PromqlError):
        check_queries(query[:at] + query[at + 1 :])
