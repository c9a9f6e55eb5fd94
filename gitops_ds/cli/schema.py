"""`gitops-ds schema`: the JSON Schema of intents."""

from __future__ import annotations

import click


@click.command()
@click.argument("kind", required=False)
def command(*, kind: str | None) -> int:
    """Print the JSON Schema (2020-12) of an intent KIND, or of any intent document.

    An editor with yaml-language-server completes and checks intents by it; `gitops-ds init` saves it as
    .gitops-ds/intent.schema.json and points new files there.
    """
    from gitops_ds.cli.terminal import say
    from gitops_ds.errors import Fault, UsageError
    from gitops_ds.intent.load import KINDS
    from gitops_ds.intent.schema import intent_schema
    from gitops_ds.report.json import dumps

    if kind is not None and kind not in KINDS:
        raise UsageError(Fault(f"{kind} is no kind of intent", fix=f"known kinds: {', '.join(sorted(KINDS))}"))
    say(dumps(intent_schema(kind)))
    return 0
