"""Bootstrap: what a hub and a forge need around a fleet repository, as plain objects; a module per output.

`argocd` and `flux` apply what is committed; `cronjob` and `watch` run the reconciler in a cluster; `github` and
`gitlab` run it in CI and show the plan of a change to whoever reviews it.

Owns what these objects say. Owns no file, no look at a repository and no command line: what is to be written comes in
as values, and `Written` files go out.
"""

from gitops_ds.bootstrap.argocd import ArgoCd, argocd_files
from gitops_ds.bootstrap.cronjob import CronJob, cronjob_files
from gitops_ds.bootstrap.flux import Flux, flux_files
from gitops_ds.bootstrap.github import GitHub, github_files
from gitops_ds.bootstrap.gitlab import GitLab, gitlab_files
from gitops_ds.bootstrap.pod import Pod, Secrets
from gitops_ds.bootstrap.source import Source
from gitops_ds.bootstrap.watch import Watch, watch_files
from gitops_ds.bootstrap.written import Document, Written, one_stream

__all__ = [
    "ArgoCd",
    "CronJob",
    "Document",
    "Flux",
    "GitHub",
    "GitLab",
    "Pod",
    "Secrets",
    "Source",
    "Watch",
    "Written",
    "argocd_files",
    "cronjob_files",
    "flux_files",
    "github_files",
    "gitlab_files",
    "one_stream",
    "watch_files",
]
