"""Pull requests on GitHub, GitLab and Gitea, and what stands in for one where there is no token.

Owns the forges' APIs and their words. Owns neither what a pull request says (`report/markdown.py`) nor its branch
(`repo/`).
"""

from gitops_ds.forge.choose import Provider, forge_for, provider_of
from gitops_ds.forge.model import Forge, Patience, PullRequest
from gitops_ds.forge.promoter import HYDRATOR_METADATA, Reference, hydrator_metadata, proposed_branch
from gitops_ds.forge.push_options import GITLAB_OPTION_LIMIT, gitlab_push_options

__all__ = [
    "GITLAB_OPTION_LIMIT",
    "HYDRATOR_METADATA",
    "Forge",
    "Patience",
    "Provider",
    "PullRequest",
    "Reference",
    "forge_for",
    "gitlab_push_options",
    "hydrator_metadata",
    "proposed_branch",
    "provider_of",
]
