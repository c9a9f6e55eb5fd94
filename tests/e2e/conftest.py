"""Fleets for the tests of this folder: made once in a worker, and copied for each test that changes one."""

from pathlib import Path

import pytest

from tests.e2e.fleet import Fleet, copy_of, new_fleet


@pytest.fixture(scope="session")
def fresh_template(tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    return new_fleet(tmp_path_factory.mktemp("fresh") / "root")


@pytest.fixture(scope="session")
def settled_template(fresh_template: Fleet, tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    fleet = copy_of(fresh_template, tmp_path_factory.mktemp("settled") / "root")
    assert fleet.run("reconcile").code == 0
    return fleet


@pytest.fixture
def fresh(fresh_template: Fleet, tmp_path: Path) -> Fleet:
    """The sample with its intent committed and nothing rendered."""
    return copy_of(fresh_template, tmp_path / "root")


@pytest.fixture
def settled(settled_template: Fleet, tmp_path: Path) -> Fleet:
    """The sample after its first reconcile."""
    return copy_of(settled_template, tmp_path / "root")
