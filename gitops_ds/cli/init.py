"""`gitops-ds init`: the files that a fleet repository starts with."""

from __future__ import annotations

from pathlib import Path

import click

SCHEMA = ".gitops-ds/intent.schema.json"
INTENT = """\
# yaml-language-server: $schema=../.gitops-ds/intent.schema.json
apiVersion: gitops-ds.io/v1alpha1
kind: PlacementIntent
metadata:
  name: {name}
  namespace: {namespace} # the hub namespace of the workloads, the policies and the Placements
spec:
  preference:
    scores:
      - name: example-performance-score # an AddOnPlacementScore that each cluster's namespace on the hub holds
        dimension: "${{app}};${{device}}" # how its items are named
    maxAge: 15m # a score without a sign of life for longer wins no move
  clusters:
    - name: cluster1
      policies: # at most one is chosen; each is labelled with what it supplies
        - policy-enable-mig-3g-${{cluster}}
        - policy-enable-mig-2g-${{cluster}}
  workloads:
    - name: mwrs-app01 # a ManifestWorkReplicaSet
  stability:
    moveCost: 5 # the score points that a move must gain
    reconfigureCost: 10
"""


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), default=Path())
@click.option("--name", default="my-intent", show_default=True, help="The name of the first intent.")
@click.option("--namespace", default="default", show_default=True, help="Its namespace on the hub.")
def command(*, folder: Path, name: str, namespace: str) -> int:
    """Start a fleet repository in FOLDER: an intent to fill in, its JSON Schema, and a git hook.

    A file that is there already is left as it is, so that it is safe to run again.
    """
    from gitops_ds.cli.files import write_new
    from gitops_ds.cli.terminal import say
    from gitops_ds.hook import PRE_COMMIT
    from gitops_ds.intent.load import load_intents
    from gitops_ds.intent.schema import intent_schema
    from gitops_ds.report.json import dumps

    path = f"intent/{name}.yaml"
    intent = INTENT.format(name=name, namespace=namespace).encode()
    load_intents({path: intent})
    files = {
        path: intent,
        SCHEMA: f"{dumps(intent_schema())}\n".encode(),
        "policies/README.md": b"Candidate policies: OCM Policies labelled resource-supply-kind, -amount and -device.\n",
        "hooks/pre-commit": PRE_COMMIT.encode(),
    }
    written, left = write_new(folder, files)
    if "hooks/pre-commit" in written:
        (folder / "hooks/pre-commit").chmod(0o755)
    for one in written:
        say(f"wrote  {one}")
    for one in left:
        say(f"left   {one} (it is there already)")
    say(
        "\nNext:\n"
        f"  1. name your clusters, policies and workloads in {path}\n"
        "  2. gitops-ds validate\n"
        "  3. git config core.hooksPath hooks   # checks every commit\n"
        "  4. git add -A && git commit, then: gitops-ds plan --hub kubernetes"
    )
    return 0
