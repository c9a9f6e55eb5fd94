"""Scores from real Prometheus and VictoriaMetrics, and what is said where a server does not answer as it should."""

import json
import ssl
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
import trustme

from gitops_ds.errors import HubError, HubUnreachable, InputError
from gitops_ds.hub import prometheus
from gitops_ds.hub.prometheus import read_prometheus, with_score_sources
from gitops_ds.ids import ScoreName
from gitops_ds.intent.sources import ScoreSource
from gitops_ds.inventory import Inventory, ScoreObject, Skipped
from gitops_ds.problem import build
from tests import builders as make
from tests.contract.metric_servers import as_json, eventually, gauge, metric_server, scripted
from tests.worlds import ONE, points, state, states, world

SPEED, POWER = ScoreName("speed"), ScoreName("power-draw")
PASSWORD = "open sesame"
HASHED = "$2b$05$abcdefghijklmnopqrstuupx2xBUC4954936wVIjyyPHmUBFu0wCW"
Page = Mapping[str, str]


def labels(cluster: str, app: str, device: str, score: str = "speed", **more: str) -> dict[str, str]:
    return {"ds_cluster": cluster, "ds_app": app, "ds_device": device, "ds_score_name": score, **more}


PAGE = gauge(
    (labels("c1", "w1", "half", ds_node="n1", ds_meta=""), 80),
    (labels("c1", "w1", "half", ds_node="n2"), 80.4321),
    (labels("c1", "w2", "half"), -0.5),
    (labels("c1", "w2", "full"), "NaN"),
    (labels("c2", "w1", "half"), 101),
    (labels("c2", "w1", "half", score="Power_Draw"), "1e-07"),
    ({"ds_app": "w1"}, 7),
)


def source(url: str, **fields: Any) -> ScoreSource:
    return ScoreSource.model_validate({"name": "vm", "prometheus": {"url": url, **fields}})


def read(url: str, *, at: datetime | None = None, **fields: Any) -> tuple[ScoreObject, ...]:
    waited: list[float] = []
    now = at or datetime.now(UTC)
    return read_prometheus(source(url, **fields), [SPEED, POWER], now, pause=waited.append)


def ready(url: str, **fields: Any) -> tuple[ScoreObject, ...]:
    """The scores, once the server is up and has scraped."""

    def attempt() -> tuple[ScoreObject, ...]:
        try:
            return read(url, **fields)
        except HubUnreachable:
            return ()
        except HubError as error:
            if "has no scores" in str(error):
                return ()
            raise

    found: tuple[ScoreObject, ...] = eventually(attempt)
    return found


@pytest.fixture(scope="module", params=["prometheus", "victoria-metrics"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with (
        scripted([(200, {"Content-Type": "text/plain"}, PAGE.encode())]) as exporter,
        metric_server(request.param, tmp_path_factory.mktemp(request.param), exporter.url) as url,
    ):
        ready(url)
        yield url


def test_a_real_server_gives_each_sample_exactly_and_with_its_own_time(server: str) -> None:
    skipped: list[Skipped] = []
    now = datetime.now(UTC)
    found = read_prometheus(source(server), [SPEED, POWER], now, skipped=skipped)
    assert [(o.origin, o.cluster, o.name) for o in found] == [
        ("vm", "c1", "speed"),
        ("vm", "c2", "power-draw"),
        ("vm", "c2", "speed"),
    ]
    values = {(o.cluster, o.name, tuple(sorted(s.labels.items()))): s.value for o in found for s in o.samples}
    assert values == {
        ("c1", "speed", (("app", "w1"), ("device", "half"), ("node", "n1"))): Fraction(80),
        ("c1", "speed", (("app", "w1"), ("device", "half"), ("node", "n2"))): Fraction("80.4321"),
        ("c1", "speed", (("app", "w2"), ("device", "half"))): Fraction("-0.5"),
        **nan_where_kept(found),
        ("c2", "speed", (("app", "w1"), ("device", "half"))): Fraction(101),
        ("c2", "power-draw", (("app", "w1"), ("device", "half"))): Fraction("1e-07"),
    }
    assert all(timedelta(seconds=-1) < now - s.seen_at < timedelta(seconds=30) for o in found for s in o.samples)
    assert [s.why for s in skipped] == ["without ds_cluster or ds_score_name"]


def nan_where_kept(found: tuple[ScoreObject, ...]) -> dict[Any, None]:
    """VictoriaMetrics takes a NaN for the end of a series; Prometheus keeps it, and it is no number then."""
    key = (("app", "w2"), ("device", "full"))
    kept = [s for o in found for s in o.samples if tuple(sorted(s.labels.items())) == key]
    return {("c1", "speed", key): None} if kept else {}


def test_the_time_of_a_sample_is_its_own_and_not_that_of_the_question(server: str) -> None:
    (first, *_) = read(server)
    later = read(server, at=datetime.now(UTC) + timedelta(seconds=100))[0]
    assert later.seen_at is not None
    assert first.seen_at is not None
    assert later.seen_at - first.seen_at < timedelta(seconds=60)


def test_a_time_before_the_first_sample_has_no_scores(server: str) -> None:
    with pytest.raises(HubError, match="it has no scores at 2020-01-01T00:00:00"):
        read(server, at=datetime(2020, 1, 1, tzinfo=UTC))


def test_the_query_chooses_among_the_series(server: str) -> None:
    found = read(server, query='dynamic_score{ds_cluster="c2"}')
    assert {o.cluster for o in found} == {"c2"}


def test_both_sources_are_blended_in_one_intent(server: str) -> None:
    scores: list[dict[str, Any]] = [
        {"name": "speed", "dimension": make.DIMENSION, "weight": 0.5},
        {"name": "speed", "dimension": make.DIMENSION, "source": "vm"},
    ]
    text = make.intent(ONE, ["w1", "w2"], scores=scores, preference={"maxAge": "15m"})
    loaded = with_reconciler(text)
    facts = make.inventory(*world())
    now = datetime.now(UTC)
    hub = [s.__class__(s.cluster, s.name, s.items, seen_at=now) for s in facts.scores]
    whole = with_score_sources(make.inventory(*world(*hub)), [source(server)], [one.intent for one in loaded], now)
    problem = build(loaded, whole, now)
    # The hub says 10 for both; of two nodes the mean counts.
    assert points(problem, "w1") == 5 + Fraction("80.216")
    assert points(problem, "w2") == 5 - Fraction("0.5")
    assert "speed of c1 from vm: w1;half stands 2 times: mean of them" in problem.warnings


def with_reconciler(text: str) -> Any:
    reconciler = (
        "apiVersion: gitops-ds.io/v1alpha1\nkind: Reconciler\nmetadata: {name: r}\n"
        "spec: {scoreSources: [{name: vm, prometheus: {url: 'http://vm:8428'}}]}\n"
    )
    return make.load(text, reconciler)


def test_prometheus_behind_tls_and_a_password(tmp_path: Path) -> None:
    authority = trustme.CA()
    issued = authority.issue_cert("localhost")
    issued.private_key_pem.write_to_path(tmp_path / "key.pem")
    issued.cert_chain_pems[0].write_to_path(tmp_path / "cert.pem")
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    (tmp_path / "password").write_text(PASSWORD + "\n", encoding="utf-8")
    (tmp_path / "wrong").write_text("open barley", encoding="utf-8")
    config = (
        f"tls_server_config: {{cert_file: {tmp_path}/cert.pem, key_file: {tmp_path}/key.pem}}\n"
        f"basic_auth_users: {{reader: '{HASHED}'}}\n"
    )
    page = (200, {"Content-Type": "text/plain"}, PAGE.encode())
    login = {"username": "reader", "passwordFile": str(tmp_path / "password")}
    with scripted([page]) as exporter, metric_server("prometheus", tmp_path, exporter.url, config) as url:
        assert len(ready(url, caFile=str(tmp_path / "ca.pem"), basicAuth=login)) == 3
        with pytest.raises(HubError, match=r"its certificate is not trusted.*name its certificate authority"):
            read(url, basicAuth=login)
        with pytest.raises(HubError, match="it does not know us") as error:
            read(url, caFile=str(tmp_path / "ca.pem"), basicAuth=login | {"passwordFile": str(tmp_path / "wrong")})
        assert "barley" not in str(error.value)
        with pytest.raises(HubError, match=r"cannot be reached|does not speak TLS|is no Prometheus"):
            read(url.replace("https", "http"), basicAuth=login)


def vector(*series: tuple[dict[str, str], str, float]) -> dict[str, Any]:
    result: list[dict[str, Any]] = []
    for said, value, moment in series:
        result.append({"metric": {"__name__": "dynamic_score", **said}, "value": [1, value]})
        result.append({"metric": {**said, "gitops_ds_sample_time": "1"}, "value": [1, str(moment)]})
    return {"status": "success", "data": {"resultType": "vector", "result": result}}


GOOD = as_json(vector((labels("c1", "w1", "half"), "5", make.NOW.timestamp())))


def test_the_token_is_sent_as_a_header_and_the_query_as_a_form(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("s3cret-token\n", encoding="utf-8")
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(tls)
    with scripted([GOOD], tls) as told:
        found = read(
            told.url + "/select/0/prometheus/",
            at=make.NOW,
            bearerTokenFile=str(tmp_path / "token"),
            caFile=str(tmp_path / "ca.pem"),
        )
    assert [s.value for o in found for s in o.samples] == [5]
    (asked,) = told.asked
    assert (asked.method, asked.path) == ("POST", "/select/0/prometheus/api/v1/query")
    assert asked.headers["Authorization"] == "Bearer s3cret-token"
    assert asked.form["time"] == f"{make.NOW.timestamp():.3f}"
    assert "s3cret" not in str(asked.form)


def slow(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.flush()
    handler.rfile.read(1)


def cut(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"status": "success"')
    handler.close_connection = True


ERROR: dict[str, Any] = {"status": "error", "errorType": "bad_data", "error": "the token s3cret-token is odd\nand more"}
PARTIAL = {**json.loads(GOOD[2]), "warnings": ["store 3 is away"]}
LONE = {
    "status": "success",
    "data": {"resultType": "vector", "result": [{"metric": labels("c1", "w", "d"), "value": [1, "5"]}]},
}


@pytest.mark.parametrize(
    ("replies", "kind", "said"),
    [
        ([as_json(ERROR, 401)], HubError, "it does not know us; the token \\*\\*\\* is odd and more; check the token"),
        ([as_json(ERROR, 403)], HubError, "it knows us and forbids the query"),
        ([as_json(ERROR, 400)], HubError, r"it refuses the query \(status 400\); the token"),
        ([as_json(ERROR, 422)], HubError, r"it refuses the query \(status 422\)"),
        ([(404, {}, b"<html>no</html>")], HubError, r"what answers \(status 404\) is no Prometheus"),
        ([(200, {}, b"<html>hello</html>")], HubError, r"what answers \(status 200\) is no Prometheus"),
        ([(302, {"Location": "http://elsewhere/"}, b"")], HubError, "it answers with a redirect"),
        ([(503, {}, b"")] * 4, HubUnreachable, r"too busy to answer \(status 503\)"),
        ([(429, {"Retry-After": "90"}, b"")], HubUnreachable, "it asks for 90 seconds before the next try"),
        ([as_json(PARTIAL)], HubUnreachable, "the answer is not complete, so it is not used; store 3 is away"),
        ([as_json({**json.loads(GOOD[2]), "isPartial": True})], HubUnreachable, "the result is partial"),
        ([as_json(LONE)], HubUnreachable, "samples and their times do not match"),
        ([as_json({"status": "success", "data": {"resultType": "matrix", "result": []}})], HubError, "no list of"),
        ([as_json(vector())], HubError, "it has no scores at .*; run the query dynamic_score there"),
        ([as_json(vector(({"a": "b"}, "1", 1.0)))], HubError, "no series has the labels ds_cluster and ds_score_name"),
        ([as_json(vector((labels("c1", "w", "d"), "much", 1.0)))], HubError, "a sample is not as Prometheus writes it"),
        (
            [as_json(vector((labels("c1", "w", "d", "Speed"), "1", 1.0), (labels("c1", "w", "d"), "1", 1.0)))],
            HubError,
            "Speed and speed are one score, speed, to the hub",
        ),
        ([slow], HubUnreachable, "no answer within 0.5 seconds|not complete within"),
        ([cut], HubUnreachable, "the connection ended before the answer did"),
    ],
)
def test_a_read_that_is_not_complete_is_refused_in_plain_words(
    replies: list[Any], kind: type[HubError], said: str, tmp_path: Path
) -> None:
    (tmp_path / "token").write_text("s3cret-token", encoding="utf-8")
    fields = {"bearerTokenFile": str(tmp_path / "token")}
    one = source("http://x", **fields)
    with scripted(replies) as told:
        server = one.prometheus.model_copy(update={"url": told.url, "timeout": timedelta(seconds=0.5)})
        asked = one.model_copy(update={"prometheus": server})
        with pytest.raises(HubError, match=said) as error:
            read_prometheus(asked, [SPEED], make.NOW, pause=lambda _: None)
    assert type(error.value) is kind
    assert "s3cret" not in str(error.value)


def test_what_passes_by_itself_is_tried_again_after_longer_pauses() -> None:
    waited: list[float] = []
    with scripted([(503, {}, b""), cut, (429, {"Retry-After": "3"}, b""), GOOD]) as told:
        assert len(read_prometheus(source(told.url), [SPEED], make.NOW, pause=waited.append)) == 1
    assert waited == [0.5, 1.0, 3.0]
    assert len(told.asked) == 4


def test_an_answer_that_is_too_large_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prometheus, "LARGEST_ANSWER", 2**20)
    with scripted([(200, {}, b" " * (2**20 + 1))]) as told, pytest.raises(HubError, match="more than 1 MiB"):
        read(told.url)


def test_a_server_that_is_not_there_and_files_that_are_not(tmp_path: Path) -> None:
    with scripted([GOOD]) as told:
        url = told.url
    with pytest.raises(HubUnreachable, match=r"it cannot be reached; .*refused"):
        read(url)
    with pytest.raises(HubError, match="the file of the bearer token cannot be read; No such file"):
        read(url, bearerTokenFile=str(tmp_path / "none"))
    (tmp_path / "empty").touch()
    with pytest.raises(HubError, match="the file of the bearer token holds none"):
        read(url, bearerTokenFile=str(tmp_path / "empty"))
    with pytest.raises(HubError, match="the file of the certificate authority cannot be read; it holds no cert"):
        read("https://localhost:1", caFile=str(tmp_path / "empty"))


def test_two_scrapers_of_one_score_count_once_and_the_newest_wins() -> None:
    now = make.NOW.timestamp()
    one = labels("c1", "w1", "half")
    answer = vector(({**one, "instance": "a"}, "5", now - 60), ({**one, "instance": "b"}, "7", now))
    with scripted([as_json(answer)]) as told:
        (found,) = read(told.url, at=make.NOW)
    assert [(s.value, s.seen_at) for s in found.samples] == [(Fraction(7), make.NOW)]


def test_a_source_that_fails_fails_the_plan_and_one_that_nobody_names_is_not_asked() -> None:
    scores = [{"name": "speed", "source": "vm"}]
    (loaded,) = with_reconciler(make.intent(ONE, ["w1"], scores=scores))
    with scripted([(500, {}, b"")]) as told:
        with pytest.raises(HubError, match="score source vm"):
            with_score_sources(Inventory(), [source(told.url)], [loaded.intent], make.NOW)
        unnamed = with_score_sources(Inventory(), [source(told.url)], [], make.NOW)
    assert len(told.asked) == 1
    assert unnamed == Inventory()
    with pytest.raises(InputError, match="the score source vm has not been read"):
        build([loaded], make.inventory(*world()), make.NOW)


def test_each_sample_has_an_age_of_its_own() -> None:
    now = make.NOW.timestamp()
    answer = vector(
        (labels("c1", "w1", "half"), "5", now - 3600),
        (labels("c1", "w2", "half"), "7", now - 10),
    )
    scores = [{"name": "speed", "dimension": make.DIMENSION, "source": "vm"}]
    loaded = with_reconciler(make.intent(ONE, ["w1", "w2"], scores=scores, preference={"maxAge": "15m"}))
    with scripted([as_json(answer)]) as told:
        facts = with_score_sources(
            make.inventory(*world()), [source(told.url)], [one.intent for one in loaded], make.NOW
        )
    problem = build(loaded, facts, make.NOW)
    assert state(problem, "w1") == "STALE"
    assert states(problem)["w2"] == {"c1/p1": "ELIGIBLE"}
    assert problem.warnings == ("speed of c1 from vm: w1;half is stale (60m old)",)
