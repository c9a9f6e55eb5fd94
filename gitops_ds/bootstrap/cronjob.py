"""A CronJob that runs `gitops-ds reconcile` on a schedule, and all that it takes.

Owns the schedule and what becomes of runs that are late, long or unsuccessful. Owns no pod (`pod.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from gitops_ds.bootstrap.pod import Pod, surroundings, template
from gitops_ds.bootstrap.written import Document, Written

LONGEST: Final = 900
"""Seconds that a run may take: reading a hub has 300, and the tries of a push come on top."""

_NOTE: Final = """\
A run that is held (exit code 3), or has no place for a workload (4), counts as failed: it wants to be looked at. It is
not tried again before the next time."""


@dataclass(frozen=True, slots=True)
class CronJob:
    """A reconciler that runs on a schedule.

    Attributes:
        pod: what is run.
        schedule: when, in the five fields of cron, in UTC.
    """

    pod: Pod
    schedule: str = "*/15 * * * *"


def cronjob_files(wanted: CronJob) -> tuple[Written, ...]:
    """The CronJob with namespace, account, rights and network policy."""
    return (Written("gitops-ds.yaml", (*surroundings(wanted.pod), Document(_cronjob(wanted), _NOTE))),)


def _cronjob(wanted: CronJob) -> dict[str, Any]:
    pod = wanted.pod
    job = {
        "backoffLimit": 0,
        "activeDeadlineSeconds": LONGEST,
        "template": template(pod, {"args": pod.arguments("reconcile")}, {"restartPolicy": "Never"}),
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": pod.metadata(),
        "spec": {
            "schedule": wanted.schedule,
            "timeZone": "Etc/UTC",
            "concurrencyPolicy": "Forbid",
            "startingDeadlineSeconds": 300,
            "successfulJobsHistoryLimit": 3,
            "failedJobsHistoryLimit": 5,
            "jobTemplate": {"metadata": {"labels": pod.labels}, "spec": job},
        },
    }
