"""Delivery: how a plan gets into git, and what runs around that.

    deliver_here       a commit on the branch of this repository
    deliver_to_remote  a commit on the remote's branch, by compare and swap
    deliver_by_request a branch of its own at the remote, and a pull request for it
    deliver_for_promoter  the branch that GitOps Promoter opens its pull requests from

Each takes a `Draw`, which makes the plan from a commit, and makes it anew where the branch moved meanwhile. Owns the
order of the steps and what is tried again. Owns neither plans nor git: both are handed in or come through `repo/`.
"""

from gitops_ds.delivery.here import deliver_here
from gitops_ds.delivery.promoted import deliver_for_promoter, promotion
from gitops_ds.delivery.remote import Remote, deliver_to_remote
from gitops_ds.delivery.request import Request, deliver_by_request
from gitops_ds.delivery.value import Delivered, Draw, Drawn, Landing, Pushed, Reading, World

__all__ = [
    "Delivered",
    "Draw",
    "Drawn",
    "Landing",
    "Pushed",
    "Reading",
    "Remote",
    "Request",
    "World",
    "deliver_by_request",
    "deliver_for_promoter",
    "deliver_here",
    "deliver_to_remote",
    "promotion",
]
