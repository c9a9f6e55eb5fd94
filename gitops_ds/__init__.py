"""gitops-ds: a fleet's intent in git, solved exactly, rendered for Open Cluster Management and committed.

The line that the whole package follows, one public function an arrow:

    Intent + Inventory -> Problem -> Solution -> Manifests -> Tree -> Commit
"""

__version__ = "0.1.0"
