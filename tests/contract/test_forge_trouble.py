"""A forge in trouble, and a network in trouble: what is tried again and for how long, and that nothing is doubled."""

import ssl
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path

import pytest
import trustme

from gitops_ds.errors import InputError, RefusedError, RepositoryError
from gitops_ds.forge import Forge, Patience, forge_for
from tests.contract.test_forge import BASE, HEAD, connect, failure, kind_of
from tests.forges import SITES, TOKEN, GitHubSite, Mishap, Site, serving

NOW = format_datetime(datetime(2026, 1, 15, 9, tzinfo=UTC), usegmt=True)
SOON = format_datetime(datetime(2026, 1, 15, 9, 0, 7, tzinfo=UTC), usegmt=True)


@pytest.fixture(autouse=True)
def _direct(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(params=sorted(SITES))
def site(request: pytest.FixtureRequest) -> Iterator[Site]:
    with serving(SITES[request.param]()) as site:
        yield site


@pytest.fixture
def github() -> Iterator[Site]:
    with serving(GitHubSite()) as site:
        yield site


# What passes by itself is waited for.


@pytest.mark.parametrize("status", [0, 500, 502, 503, 504, 408])
def test_a_forge_out_of_order_is_asked_again_each_time_later(site: Site, status: int) -> None:
    site.open(HEAD)
    site.mishaps = [Mishap(status)] * 3
    waits: list[float] = []
    assert connect(site, waits=waits).find(HEAD, BASE) is not None
    assert waits == [1, 2, 4]


def test_after_four_tries_the_next_run_has_to_do_it(site: Site) -> None:
    site.mishaps = [Mishap(500, b'{"message": "database is locked"}')] * 9
    said = failure(lambda: connect(site).find(HEAD, BASE), RepositoryError)
    assert "is out of order (status 500); database is locked; try again" in said
    assert len(site.seen) == 4


def test_a_page_that_is_no_json_is_no_answer(site: Site) -> None:
    site.mishaps = [Mishap(200, b"<html>Please log in</html>")] * 9
    said = failure(lambda: connect(site).find(HEAD, BASE), RepositoryError)
    assert "answered with something else than its API does" in said
    assert "no proxy or login page" in said
    assert "html" not in said


def test_json_that_is_cut_off_is_asked_for_again(site: Site) -> None:
    site.open(HEAD)
    site.mishaps = [Mishap(200, b'[{"number": 1'), Mishap(200, b"[" * 100_000)]
    assert connect(site).find(HEAD, BASE) is not None


def test_an_edit_is_sent_again(site: Site) -> None:
    forge = connect(site)
    made = forge.create(HEAD, BASE, "t", "b")
    site.mishaps = [Mishap(502, after=True), Mishap(0)]
    assert forge.update(made, "u", "c").title == "u"


# A request to make one may have arrived: it is looked for before it is sent again.


@pytest.mark.parametrize("status", [0, 500, 502, 200])
def test_one_that_was_made_although_the_answer_was_lost_is_found(site: Site, status: int) -> None:
    site.mishaps = [Mishap(status, b"<", method="POST", after=True)]
    made = connect(site).create(HEAD, BASE, "t", "b")
    assert made.number == 1
    assert len(site.pulls) == 1
    assert [s.method for s in site.seen] == ["POST", "GET"]


@pytest.mark.parametrize("status", [0, 503])
def test_one_that_was_not_made_is_sent_again_after_a_look(site: Site, status: int) -> None:
    site.mishaps = [Mishap(status, method="POST")] * 2
    waits: list[float] = []
    assert connect(site, waits=waits).create(HEAD, BASE, "t", "b").number == 1
    assert [s.method for s in site.seen] == ["POST", "GET", "POST", "GET", "POST"]
    assert waits == [1, 2]


def test_making_one_ends_after_four_tries(site: Site) -> None:
    site.mishaps = [Mishap(500, method="POST")] * 9
    failure(lambda: connect(site).create(HEAD, BASE, "t", "b"), RepositoryError)
    assert len(site.calls("POST")) == 4
    assert site.pulls == []


def test_a_comment_is_not_said_twice(site: Site) -> None:
    forge = connect(site)
    made = forge.create(HEAD, BASE, "t", "b")
    site.mishaps = [Mishap(502, method="POST", after=True)]
    failure(lambda: forge.close(made, "why"), RepositoryError)
    assert site.comments == [(1, "why")]
    assert site.pulls[0]["state"] == "closed"


# Limits on requests.


@pytest.mark.parametrize(("header", "seconds"), [("17", 17), (SOON, 7), ("0", 0)])
def test_a_limit_is_waited_for_as_long_as_the_forge_asks(site: Site, header: str, seconds: float) -> None:
    site.mishaps = [Mishap(429, headers={"Retry-After": header, "Date": NOW}, method="POST")]
    waits: list[float] = []
    assert connect(site, waits=waits).create(HEAD, BASE, "t", "b").number == 1
    assert waits == [seconds]
    assert [s.method for s in site.seen] == ["POST", "POST"]


def test_a_limit_beyond_the_budget_is_not_waited_for(site: Site) -> None:
    site.mishaps = [Mishap(429, headers={"Retry-After": "3600"})]
    waits: list[float] = []
    said = failure(lambda: connect(site, waits=waits).find(HEAD, BASE), RepositoryError)
    assert "limits requests now, and asks to wait 3600 s; no more than 60 s are waited in one run" in said
    assert waits == []


def test_several_limits_share_one_budget(site: Site) -> None:
    site.mishaps = [Mishap(429, headers={"Retry-After": "25"})] * 3
    waits: list[float] = []
    failure(lambda: connect(site, waits=waits).find(HEAD, BASE), RepositoryError)
    assert waits == [25, 25]


def test_githubs_limits_come_as_403_too(github: Site) -> None:
    reset = str(int(datetime(2026, 1, 15, 9, 0, 20, tzinfo=UTC).timestamp()))
    github.mishaps = [
        Mishap(403, headers={"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": reset, "Date": NOW}),
        Mishap(403, b'{"message": "You have exceeded a secondary rate limit."}', {"Retry-After": "5"}),
    ]
    waits: list[float] = []
    assert connect(github, waits=waits).find(HEAD, BASE) is None
    assert waits == [21, 5]


def test_a_secondary_limit_that_says_no_time_is_a_minute(github: Site) -> None:
    github.mishaps = [Mishap(403, b'{"message": "You have exceeded a secondary rate limit."}')]
    waits: list[float] = []
    connect(github, waits=waits).find(HEAD, BASE)
    assert waits == [60]


def test_a_maintenance_that_says_how_long_is_waited_for(site: Site) -> None:
    site.mishaps = [Mishap(503, headers={"Retry-After": "9"})]
    waits: list[float] = []
    connect(site, waits=waits).find(HEAD, BASE)
    assert waits == [9]


# Redirects.


def test_a_redirect_on_the_same_host_is_followed_for_reading(site: Site) -> None:
    site.open(HEAD)
    here = connect(site)
    here.find(HEAD, BASE)
    seen = site.seen[-1]
    query = "&".join(f"{key}={value}" for key, value in seen.query.items())
    site.mishaps = [Mishap(301, headers={"Location": f"{site.root}{seen.path}?{query}"})]
    assert here.find(HEAD, BASE) is not None


def test_a_redirect_to_another_host_is_refused_and_gets_no_token(site: Site) -> None:
    with serving(SITES["github"]()) as other:
        location = f"{other.url.replace('//', '//user:secret@')}/steal?x=1"
        site.mishaps = [Mishap(307, headers={"Location": location})]
        said = failure(lambda: connect(site).create(HEAD, BASE, "t", "b"), RefusedError)
        assert f"sends on to {other.url}; the token is not taken to another host" in said
        assert "secret" not in said
        assert other.seen == []


def test_a_repository_that_moved_is_said(site: Site) -> None:
    site.mishaps = [Mishap(301, headers={"Location": f"{site.root}/elsewhere"}, method="POST")]
    said = failure(lambda: connect(site).create(HEAD, BASE, "t", "b"), RefusedError)
    assert f"{site.repository} has moved; set the remote's URL to where it is now" in said


def test_a_circle_of_redirects_ends(site: Site) -> None:
    site.mishaps = [Mishap(302, headers={"Location": f"{site.root}/{i}"}) for i in range(9)]
    assert "sends on more than 3 times" in failure(lambda: connect(site).find(HEAD, BASE), RefusedError)


# The network.


def impatient(site: Site, timeout: float = 5, **more: object) -> Forge:
    patience = Patience(tries=1)
    remote = f"https://git.example/{site.repository}"
    return forge_for(kind_of(site), remote, site.api, TOKEN, timeout=timeout, patience=patience, **more)  # type: ignore[arg-type]


def test_nobody_listening_is_said_with_host_and_port(site: Site) -> None:
    site.url = "http://127.0.0.1:1"
    said = failure(lambda: impatient(site).find(HEAD, BASE), RepositoryError)
    assert "at 127.0.0.1:1 cannot be reached; " in said
    assert "Connection refused" in said


@pytest.mark.parametrize("trickle", [1.0, 0.02])
def test_an_answer_that_takes_too_long_is_given_up(github: Site, trickle: float) -> None:
    github.mishaps = [Mishap(200, b"[" + b" " * 500 + b"]", trickle=trickle)]
    said = failure(lambda: impatient(github, 0.2).find(HEAD, BASE), RepositoryError)
    assert "did not answer within 0.2 s" in said


def test_a_proxy_that_cannot_be_used_is_said_without_its_password(
    github: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", "nonsense://user:hunter2@proxy:1")
    said = failure(lambda: impatient(github), InputError)
    assert "the proxy that the environment names cannot be used" in said
    assert "hunter2" not in said


# TLS.


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


def tls(authority: trustme.CA, *names: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(*names).configure_cert(context)
    return context


def test_a_private_authority_is_trusted_where_its_file_is_given(authority: trustme.CA, tmp_path: Path) -> None:
    file = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(str(file))
    with serving(GitHubSite(), tls(authority, "127.0.0.1")) as site:
        site.open(HEAD)
        assert impatient(site, ca_file=file).find(HEAD, BASE) is not None


def test_a_certificate_that_is_not_trusted_is_said_at_once(authority: trustme.CA, tmp_path: Path) -> None:
    file = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(str(file))
    with serving(GitHubSite(), tls(authority, "127.0.0.1")) as site:
        said = failure(lambda: connect(site).find(HEAD, BASE), RefusedError)
        assert "the certificate of GitHub at 127.0.0.1:" in said
        assert "is not trusted: unable to get local issuer certificate" in said
        assert site.seen == []
    with serving(GitHubSite(), tls(authority, "other.example")) as site:
        said = failure(lambda: impatient(site, ca_file=file).find(HEAD, BASE), RefusedError)
        assert "IP address mismatch" in said


def test_a_ca_file_that_is_none_is_said(github: Site, tmp_path: Path) -> None:
    said = failure(lambda: impatient(github, ca_file=tmp_path / "none.pem"), InputError)
    assert "none.pem cannot be read; No such file" in said
    (tmp_path / "bad.pem").write_text("nothing")
    assert "it holds no certificate" in failure(lambda: impatient(github, ca_file=tmp_path / "bad.pem"), InputError)
