"""The tree: layout, what is ours, how it differs from git, and no path that leaves rendered/."""

import hashlib

import pytest
import yaml

from gitops_ds.errors import RepositoryError
from gitops_ds.ids import IntentId, IntentName, Namespace
from gitops_ds.manifests import Manifest
from gitops_ds.tree import compare, digest_of, inventory_path, lay_out, lock_path, read_owned, written_root

LOCK, INVENTORY = lock_path(), inventory_path()


def _manifest(name: str, intent: str = "fleet", namespace: str = "default", kind: str = "Placement") -> Manifest:
    body = {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}}
    return Manifest(IntentId(Namespace(namespace), IntentName(intent)), body)


def test_each_object_is_a_file_and_each_folder_lists_what_is_in_it() -> None:
    tree = lay_out(
        [_manifest("b"), _manifest("a"), _manifest("a", intent="other"), _manifest("a", namespace="ns")], b"{}"
    )
    assert [path for path in tree if "kustomization" not in path] == [
        "rendered/default/fleet/placement-a.yaml",
        "rendered/default/fleet/placement-b.yaml",
        "rendered/default/other/placement-a.yaml",
        INVENTORY,
        LOCK,
        "rendered/ns/fleet/placement-a.yaml",
    ]
    listed = {p: yaml.safe_load(c)["resources"] for p, c in tree.items() if "kustomization" in p}
    assert listed == {
        "rendered/kustomization.yaml": ["default", "ns"],
        "rendered/default/kustomization.yaml": ["fleet", "other"],
        "rendered/default/fleet/kustomization.yaml": ["placement-a.yaml", "placement-b.yaml"],
        "rendered/default/other/kustomization.yaml": ["placement-a.yaml"],
        "rendered/ns/kustomization.yaml": ["fleet"],
        "rendered/ns/fleet/kustomization.yaml": ["placement-a.yaml"],
    }


def test_an_empty_tree_still_has_a_root_that_kustomize_reads() -> None:
    tree = lay_out([], b"{}")
    assert yaml.safe_load(tree["rendered/kustomization.yaml"])["resources"] == []


def test_the_inventory_names_every_other_file_with_its_digest() -> None:
    tree = lay_out([_manifest("a")], b"{}")
    assert read_owned(tree) == {p: hashlib.sha256(c).hexdigest() for p, c in tree.items() if p != INVENTORY}
    assert digest_of(tree) == hashlib.sha256(tree[INVENTORY]).hexdigest()


def test_two_objects_in_one_file_are_refused() -> None:
    with pytest.raises(
        RepositoryError, match=r"two objects would be written to rendered/default/fleet/placement-a\.yaml"
    ):
        lay_out([_manifest("a"), _manifest("a")], b"{}")


@pytest.mark.parametrize("name", ["../x", "a/../../b", "a\nb", "A", "", "..", ".git", "a" * 252, "a\\b", "a:b", "é"])
def test_a_name_that_is_no_plain_file_name_is_refused(name: str) -> None:
    with pytest.raises(RepositoryError, match="no safe file name"):
        lay_out([_manifest("a", intent=name)], b"{}")


@pytest.mark.parametrize(
    "line",
    [
        "0" * 64 + "  intent/a.yaml",
        "0" * 64 + "  rendered",
        "0" * 64 + "  rendered/",
        "0" * 64 + "  rendered/../intent/a.yaml",
        "0" * 64 + "  rendered//a",
        "0" * 64 + "  rendered/.git/config",
        "0" * 63 + "  rendered/a",
        "0" * 64 + " rendered/a",
        "<<<<<<< ours",
        "",
    ],
)
def test_an_inventory_that_is_not_ours_is_refused(line: str) -> None:
    with pytest.raises(RepositoryError, match="inventory:1 is not a line that gitops-ds writes"):
        read_owned({INVENTORY: f"{line}\n".encode()})


def test_compare_tells_added_changed_and_removed_and_leaves_what_is_not_ours() -> None:
    old = lay_out([_manifest("a"), _manifest("b")], b"{}")
    new = lay_out([_manifest("b"), _manifest("c")], b"{}")
    difference = compare({**old, "rendered/notes.txt": b"mine"}, new)
    assert [(c.path.removeprefix("rendered/"), c.action) for c in difference.changes] == [
        ("default/fleet/kustomization.yaml", "change"),
        ("default/fleet/placement-a.yaml", "remove"),
        ("default/fleet/placement-c.yaml", "add"),
        ("gitops-ds.inventory", "change"),
    ]
    assert (difference.edited, difference.in_the_way) == ((), ())
    assert difference.foreign == ("rendered/notes.txt",)


def test_compare_tells_edits_of_ours_and_strangers_in_the_way() -> None:
    old = lay_out([_manifest("a"), _manifest("b")], b"{}")
    new = lay_out([_manifest("a"), _manifest("b"), _manifest("c")], b"{}")
    current = {**old, "rendered/default/fleet/placement-a.yaml": b"x", "rendered/default/fleet/placement-c.yaml": b"y"}
    del current["rendered/default/fleet/placement-b.yaml"]
    difference = compare(current, new)
    assert difference.edited == ("rendered/default/fleet/placement-a.yaml", "rendered/default/fleet/placement-b.yaml")
    assert difference.in_the_way == ("rendered/default/fleet/placement-c.yaml",)


def test_a_stranger_that_is_just_as_ours_would_be_is_not_in_the_way() -> None:
    tree = lay_out([_manifest("a")], b"{}")
    path = "rendered/default/fleet/placement-a.yaml"
    assert compare({path: tree[path]}, tree).in_the_way == ()


@pytest.mark.parametrize("root", ["out", "rendered/prod", "rend"])
def test_a_folder_that_was_moved_as_a_whole_is_ours_still(root: str) -> None:
    before = lay_out([_manifest("a"), _manifest("b")], b"{}")
    moved = {root + path.removeprefix("rendered"): content for path, content in before.items()}
    assert written_root(before) == "rendered"
    assert written_root(moved, root) == "rendered"
    assert written_root({}, root) == root
    same = compare(moved, lay_out([_manifest("a"), _manifest("b")], b"{}", root), root)
    assert [(c.path, c.action) for c in same.changes] == [(inventory_path(root), "change")]
    assert (same.edited, same.in_the_way, same.foreign) == ((), (), ())
    edited = compare({**moved, f"{root}/default/fleet/placement-a.yaml": b"mine"}, {}, root)
    assert edited.edited == (f"{root}/default/fleet/placement-a.yaml",)


def test_a_folder_that_was_moved_up_is_ours_still() -> None:
    before = lay_out([_manifest("a")], b"{}", "rendered/prod")
    moved = {"rendered" + path.removeprefix("rendered/prod"): content for path, content in before.items()}
    assert compare(moved, lay_out([_manifest("a")], b"{}")).edited == ()
    assert read_owned(moved).keys() == lay_out([_manifest("a")], b"{}").keys() - {INVENTORY}


@pytest.mark.parametrize("line", ["rendered/default/x.yaml", "../x", "old/../x.yaml", "old/.git/config"])
def test_an_inventory_of_another_folder_names_files_of_that_one_alone(line: str) -> None:
    lines = "".join(f"{'0' * 64}  {path}\n" for path in ("old/gitops-ds.lock", line))
    with pytest.raises(RepositoryError, match="inventory:2 is not a line that gitops-ds writes"):
        read_owned({INVENTORY: lines.encode()})
