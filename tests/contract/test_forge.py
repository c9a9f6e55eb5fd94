"""Pull requests on the three forges, over real HTTP: one open one, found, made, changed in place, closed."""

import logging
from collections.abc import Callable, Iterator

import pytest

from gitops_ds.errors import GitopsDsError, RefusedError, RepositoryError
from gitops_ds.forge import Forge, Patience, PullRequest, forge_for
from tests.forges import SITES, TOKEN, Mishap, Site, serving

HEAD, BASE = "gitops-ds/main", "main"
KINDS = tuple(sorted(SITES))


@pytest.fixture(autouse=True)
def _direct(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(params=KINDS)
def site(request: pytest.FixtureRequest) -> Iterator[Site]:
    with serving(SITES[request.param]()) as site:
        yield site


def kind_of(site: Site) -> str:
    return next(kind for kind, cls in SITES.items() if isinstance(site, cls))


def connect(site: Site, token: str = TOKEN, *, waits: list[float] | None = None, repository: str = "") -> Forge:
    """The forge at the site; `waits` gets the seconds of every wait, none of which really passes."""
    patience = Patience(sleep=(waits if waits is not None else []).append)
    remote = f"https://git.example/{repository or site.repository}.git"
    return forge_for(kind_of(site), remote, site.api, token, timeout=5, patience=patience)  # type: ignore[arg-type]


def failure(call: Callable[[], object], kind: type[GitopsDsError]) -> str:
    with pytest.raises(kind) as error:
        call()
    assert type(error.value) is kind or issubclass(type(error.value), kind)
    assert TOKEN not in str(error.value) + repr(error.value)
    return str(error.value)


def test_none_is_found_where_none_is_open(site: Site) -> None:
    site.open("other")
    site.open(HEAD, "other")
    site.open(HEAD, state="closed")
    site.open(HEAD, fork=True)
    assert connect(site).find(HEAD, BASE) is None


def test_the_open_one_is_found_behind_many_others(site: Site) -> None:
    site.open(HEAD, state="merged")
    for _ in range(7):
        site.open(HEAD, fork=True)
    site.open(HEAD, title="ours", body="a body")
    found = connect(site).find(HEAD, BASE)
    assert found is not None
    assert (found.number, found.title, found.body, found.state) == (9, "ours", "a body", "open")
    assert found.head_sha == "ab" * 20
    assert found.url.endswith("/9")


def test_one_is_made_with_its_labels(site: Site) -> None:
    forge = connect(site)
    made = forge.create(HEAD, BASE, "place 3 workloads", "## Plan\n", ["gitops", "bot"])
    assert (made.number, made.title, made.state) == (1, "place 3 workloads", "open")
    assert sorted(site.pulls[0]["labels"]) == ["bot", "gitops"]
    assert site.pulls[0]["body"].strip() == "## Plan"
    assert forge.find(HEAD, BASE) == made


def test_one_that_is_open_already_is_brought_up_to_date_instead(site: Site) -> None:
    site.open(HEAD, title="of yesterday", body="old")
    made = connect(site).create(HEAD, BASE, "of today", "new")
    assert (made.number, made.title, made.body) == (1, "of today", "new")
    assert len(site.pulls) == 1


def test_an_update_that_changes_nothing_makes_no_call(site: Site) -> None:
    forge = connect(site)
    made = forge.create(HEAD, BASE, "a title", "line\n\nline\n")
    before = len(site.seen)
    assert forge.update(made, "a title", "line\n\nline\n") == made
    assert len(site.seen) == before


def test_an_update_changes_title_and_body_and_nothing_else(site: Site) -> None:
    forge = connect(site)
    made = forge.create(HEAD, BASE, "a title", "a body", ["bot"])
    changed = forge.update(made, "another title", "another body")
    assert (changed.number, changed.title, changed.body) == (1, "another title", "another body")
    assert site.pulls[0]["labels"] == ["bot"]
    assert site.pulls[0]["state"] == "open"


@pytest.mark.parametrize("mark", ["Draft: ", "[WIP] ", "draft:", "WIP:  ", "(Draft) "])
def test_what_a_person_marked_as_a_draft_stays_one(site: Site, mark: str) -> None:
    site.open(HEAD, title=f"{mark}a title", body="a body")
    forge = connect(site)
    found = forge.find(HEAD, BASE)
    assert found is not None
    assert forge.update(found, "a title", "a body") is found
    assert forge.update(found, "new", "a body").title == f"{mark}new"


def test_closing_closes_and_says_why(site: Site) -> None:
    forge = connect(site)
    made = forge.create(HEAD, BASE, "a title", "a body")
    forge.close(made, "the plan changes nothing any more")
    assert site.pulls[0]["state"] == "closed"
    assert site.comments == [(1, "the plan changes nothing any more")]
    assert forge.find(HEAD, BASE) is None


def test_what_is_closed_is_left_alone(site: Site) -> None:
    forge = connect(site)
    forge.close(PullRequest(1, "https://x/1", "t", "b", "", "merged"), "why")
    assert site.seen == []


def test_a_body_beyond_the_limit_is_cut_and_says_so(site: Site) -> None:
    forge = connect(site)
    body = "".join(f"- line {i} \N{GRINNING FACE}\n" for i in range(forge.body_limit // 16))
    assert len(body.encode()) > forge.body_limit
    made = forge.create(HEAD, BASE, "t" * 300, body)
    assert len(made.body.encode()) <= forge.body_limit
    assert made.body.strip().endswith(f"(cut here: the whole text has {len(body):,} characters)")
    assert len(made.title) in (255, 256)
    assert forge.update(made, "t" * 300, body) == made


def test_a_title_is_one_line(site: Site) -> None:
    assert connect(site).create(HEAD, BASE, "one\n\x07two\r\n", "b").title == "one two"


# Refused: trying again will not help, and is not tried.


def test_a_wrong_token_is_said_and_not_shown(site: Site) -> None:
    said = failure(lambda: connect(site, "tok-WRONG-0815").find(HEAD, BASE), RefusedError)
    assert "does not take the token: it is wrong, expired or revoked" in said
    assert "tok-WRONG-0815" not in said
    assert len(site.seen) == 1


def test_a_missing_permission_is_named(site: Site) -> None:
    site.read_only = True
    said = failure(lambda: connect(site).create(HEAD, BASE, "t", "b"), RefusedError)
    assert f"the token may not do this in {site.repository}" in said
    needed = {"github": "Pull requests: write", "gitlab": "the scope api", "gitea": "write:repository"}[kind_of(site)]
    assert "; it needs the " in said
    assert needed in said
    assert 'it says "' in said
    assert len(site.calls("POST")) == 1


def test_a_repository_that_is_not_there_is_named(site: Site) -> None:
    said = failure(lambda: connect(site, repository="acme/none").find(HEAD, BASE), RefusedError)
    assert "has no repository acme/none, or the token may not see it" in said


def test_a_branch_that_is_not_there_is_refused_in_the_forges_words(site: Site) -> None:
    said = failure(lambda: connect(site).create("not-pushed", BASE, "t", "b"), RefusedError)
    shown = {"github": "head: invalid", "gitlab": "source_branch does not exist", "gitea": "couldn't be found"}
    assert shown[kind_of(site)] in said


def test_a_branch_without_a_change_is_refused_in_the_forges_words() -> None:
    for kind, words in (("github", "No commits between main and"), ("gitea", "There are no changes between")):
        with serving(SITES[kind]()) as site:
            site.unchanged = {HEAD}
            said = failure(lambda site=site: connect(site).create(HEAD, BASE, "t", "b"), RefusedError)  # type: ignore[misc]
            assert words in said


def test_a_label_that_gitea_does_not_know_is_said_before_anything_is_made() -> None:
    with serving(SITES["gitea"]()) as site:
        said = failure(lambda: connect(site).create(HEAD, BASE, "t", "b", ["bot", "nope"]), RefusedError)
        assert "acme/fleet has no label nope" in said
        assert site.pulls == []


# The token.


def test_the_token_is_in_one_header_and_nowhere_else(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    forge = connect(site)
    made = forge.create(HEAD, BASE, "t", "b", ["bot"])
    forge.close(forge.update(made, "u", "c"), "why")
    for seen in site.seen:
        assert [key for key, value in seen.headers.items() if TOKEN in value] == ["authorization"]
        assert TOKEN not in f"{seen.path}{seen.query}{seen.body}"
        assert seen.headers["user-agent"].startswith("gitops-ds/")
    assert TOKEN not in caplog.text
    assert TOKEN not in f"{forge!r}{vars(forge)}"


def test_a_forge_that_repeats_the_token_does_not_get_it_shown(site: Site) -> None:
    site.mishaps = [Mishap(400, b'{"message": "what is %s for?"}' % TOKEN.encode())]
    assert "what is *** for?" in failure(lambda: connect(site).find(HEAD, BASE), RefusedError)


def test_an_unknown_form_of_answer_is_an_error_and_no_bug(site: Site) -> None:
    for body in (b"null", b"{}"):
        site.mishaps = [Mishap(200, body)]
        assert "check the API's URL" in failure(lambda: connect(site).find(HEAD, BASE), RepositoryError)
    site.mishaps = [Mishap(200, b'[{"number": "x"}, 3, null]')]
    assert connect(site).find(HEAD, BASE) is None
    site.mishaps = [Mishap(201, b'{"number": "x"}', method="POST")]
    assert "in a form that is not known" in failure(lambda: connect(site).create(HEAD, BASE, "t", "b"), RepositoryError)
