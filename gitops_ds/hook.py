"""The git hook that fleet repositories use: checks what is staged.

Owns its text. Owns no check: the hook calls `gitops-ds validate --staged`.
"""

PRE_COMMIT = """\
#!/bin/sh
# Refuses a commit with a faulty intent or a rendered file that was edited by hand.
# Switch it on once in each clone: git config core.hooksPath hooks
if ! command -v gitops-ds >/dev/null 2>&1; then
    echo "hooks/pre-commit: gitops-ds is not on the PATH, so nothing was checked: pip install gitops-ds" >&2
    exit 1
fi
exec gitops-ds validate --staged
"""
