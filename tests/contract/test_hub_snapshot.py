"""A snapshot folder on a real disk: what is read, what is refused, and what each refusal says."""

import json
import os
from pathlib import Path
from textwrap import dedent

import pytest

from gitops_ds.errors import GitopsDsError, HubError, InputError
from gitops_ds.hub import fetch_snapshot, read_snapshot
from gitops_ds.hub.snapshot import LARGEST_FILE

CLUSTER = dedent("""\
    apiVersion: cluster.open-cluster-management.io/v1
    kind: ManagedCluster
    metadata: {name: %s}
    spec: {hubAcceptsClient: true}
""")


def write(path: Path, text: str = CLUSTER % "c1") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def refusal(folder: Path, kind: type[GitopsDsError]) -> str:
    with pytest.raises(kind) as caught:
        read_snapshot(folder)
    return str(caught.value)


def test_manifests_are_read_at_any_depth_in_every_spelling(tmp_path: Path) -> None:
    write(tmp_path / "one.yaml")
    write(tmp_path / "deep" / "er" / "two.yml", f"{CLUSTER % 'c2'}---\n{CLUSTER % 'c3'}---\n")
    listed = {"apiVersion": "v1", "kind": "List", "items": [json.loads(json.dumps(cluster("c4")))]}
    write(tmp_path / "three.JSON", json.dumps(listed))
    write(tmp_path / "notes.txt", "kind: [")
    write(tmp_path / ".hidden" / "four.yaml", "kind: [")
    write(tmp_path / ".five.yaml", "kind: [")
    assert [c.name for c in read_snapshot(tmp_path).clusters] == ["c1", "c2", "c3", "c4"]


def cluster(name: str) -> dict[str, object]:
    return {"apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster", "metadata": {"name": name}}


def test_files_are_named_as_they_open_from_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "snap" / "b.yaml")
    write(tmp_path / "snap" / "a" / "z.yaml", CLUSTER % "c2")
    monkeypatch.chdir(tmp_path)
    assert list(fetch_snapshot(Path("snap"))) == ["snap/a/z.yaml", "snap/b.yaml"]
    assert str(read_snapshot(Path("snap")).clusters[0].source.at("spec")) == "snap/b.yaml:4:1"


def test_output_of_kubectl_get_is_read_with_all_its_noise(tmp_path: Path) -> None:
    write(
        tmp_path / "scores.yaml",
        """\
apiVersion: v1
items:
- apiVersion: cluster.open-cluster-management.io/v1alpha1
  kind: AddOnPlacementScore
  metadata:
    creationTimestamp: "2026-01-12T08:00:00Z"
    generation: 1
    managedFields:
    - apiVersion: cluster.open-cluster-management.io/v1alpha1
      fieldsType: FieldsV1
      fieldsV1:
        f:status:
          .: {}
          f:scores:
            .: {}
            k:{"name":"app01;all"}:
              .: {}
              f:name: {}
              f:value: {}
      manager: dynamic-scoring-agent
      operation: Update
      subresource: status
      time: "2026-01-15T08:59:30Z"
    name: perf
    namespace: cluster1
    resourceVersion: "81231"
    uid: 0a3a4a4e-6d3b-4d0a-8a5e-3f3f8c1f0a11
  status:
    scores:
    - name: app01;all
      value: 80
kind: List
metadata:
  resourceVersion: ""
""",
    )
    (score,) = read_snapshot(tmp_path).scores
    assert score.items == (("app01;all", 80),)
    assert score.seen_at is not None
    assert score.seen_at.isoformat() == "2026-01-15T08:59:30+00:00"
    assert str(score.source.at("metadata")) == f"{tmp_path}/scores.yaml:5:3"


def test_a_folder_that_is_missing_or_none_is_said(tmp_path: Path) -> None:
    assert refusal(tmp_path / "no", HubError) == (
        f"{tmp_path}/no: the snapshot folder does not exist; "
        "write one with `kubectl get -o yaml`, or give another folder"
    )
    assert "the snapshot is not a folder" in refusal(write(tmp_path / "file.yaml"), HubError)


@pytest.mark.parametrize("text", [None, "", "# nothing\n---\n---\n"])
def test_a_folder_without_a_manifest_is_an_error_and_no_empty_hub(tmp_path: Path, text: str | None) -> None:
    write(tmp_path / "README.md", "no manifest")
    if text is not None:
        write(tmp_path / "a.yaml", text)
    assert "the snapshot folder holds no manifest; write one with" in refusal(tmp_path, HubError)


def test_links_are_followed_inside_the_folder_and_refused_outside(tmp_path: Path) -> None:
    outside = write(tmp_path / "outside" / "secret.yaml", "password: hunter2")
    snap = tmp_path / "snap"
    write(snap / "..data" / "a.yaml")  # how a mounted ConfigMap looks
    (snap / "a.yaml").symlink_to("..data/a.yaml")
    (snap / "circle").symlink_to(".")
    assert [c.name for c in read_snapshot(snap).clusters] == ["c1"]
    (snap / "b.yaml").symlink_to(outside)
    (snap / "c").symlink_to(outside.parent)
    said = refusal(snap, HubError)
    assert said.splitlines() == [
        f"{snap}/{name}: this link leads outside the snapshot folder; copy what it names into the folder"
        for name in ("b.yaml", "c")
    ]
    assert "hunter2" not in said


def test_a_link_to_the_folder_itself_is_the_folder(tmp_path: Path) -> None:
    write(tmp_path / "real" / "a.yaml")
    (tmp_path / "link").symlink_to("real")
    assert [c.name for c in read_snapshot(tmp_path / "link").clusters] == ["c1"]


def test_links_that_lead_nowhere_are_refused(tmp_path: Path) -> None:
    (tmp_path / "gone.yaml").symlink_to("nothing.yaml")
    (tmp_path / "round.yaml").symlink_to("round.yaml")
    said = refusal(tmp_path, HubError)
    assert "gone.yaml: cannot be read: No such file or directory; check" in said
    assert "round.yaml: " in said


def test_pipes_are_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    assert "pipe.yaml: this is no regular file; remove it from the snapshot folder" in refusal(tmp_path, HubError)


def test_a_file_over_the_limit_is_refused_by_its_size_alone(tmp_path: Path) -> None:
    with (tmp_path / "big.yaml").open("wb") as file:
        file.truncate(LARGEST_FILE + 1)
    assert "big.yaml: the file is larger than 64 MiB; split it, one kind a file" in refusal(tmp_path, HubError)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_unreadable_files_and_folders_are_all_named(tmp_path: Path) -> None:
    file, folder = write(tmp_path / "a.yaml"), write(tmp_path / "b" / "c.yaml").parent
    file.chmod(0)
    folder.chmod(0)
    try:
        said = refusal(tmp_path, HubError)
    finally:
        folder.chmod(0o700)
    assert f"{file}: cannot be read: Permission denied; check its permissions" in said
    assert f"{folder}: cannot be read: Permission denied; check its permissions" in said


def test_a_file_that_the_system_will_not_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = write(tmp_path / "a.yaml")
    whole = Path.read_bytes

    def failing(path: Path) -> bytes:
        if path == broken:
            raise PermissionError(13, "Permission denied")
        return whole(path)

    monkeypatch.setattr(Path, "read_bytes", failing)
    assert f"{broken}: cannot be read: Permission denied; check its permissions" in refusal(tmp_path, HubError)


def test_a_binary_file_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "a.yaml")
    (tmp_path / "b.yaml").write_bytes(b"\x7fELF\x00\x01\xff")
    assert f"{tmp_path}/b.yaml:1:" in refusal(tmp_path, InputError)


def test_faults_of_syntax_and_of_shape_are_said_together(tmp_path: Path) -> None:
    write(tmp_path / "a.yaml", "kind: [")
    write(tmp_path / "b.yaml", f"{CLUSTER % 'c1'}status: []\n")
    said = refusal(tmp_path, InputError).splitlines()
    assert said[0].startswith(f"{tmp_path}/a.yaml:")
    assert said[-1] == f"{tmp_path}/b.yaml:5:1: ManagedCluster/c1: status: must be a mapping, is a list"
