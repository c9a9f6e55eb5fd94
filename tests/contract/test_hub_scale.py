"""2,000 clusters with 20 score objects each are read in one pass, and the memory for it has a bound."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.hubs import CLUSTER, hub_server

CLUSTERS, SCORES = 2000, 20
MOST = 350
"""Mebibytes that the whole process may have had at once; the answers alone are some 60 MiB of JSON."""

READER = """
import re, sys
from pathlib import Path
from gitops_ds.hub.live import read_live
found = read_live(kubeconfig=Path(sys.argv[1]))
peak = re.search(r"VmHWM:\\s*(\\d+) kB", Path("/proc/self/status").read_text())
print(len(found.clusters), len(found.scores), sum(len(s.items) for s in found.scores), int(peak[1]) // 1024)
"""


def fleet() -> Iterator[dict[str, Any]]:
    items = [{"name": f"app{i:02d};{device}", "value": i} for i in range(3) for device in ("3g.48gb", "2g.24gb")]
    fields: dict[str, Any] = {
        "f:status": {"f:scores": {f'k:{{"name":"{item["name"]}"}}': {"f:value": {}} for item in items}}
    }
    written = [{"manager": "agent", "time": "2026-01-15T08:59:30Z", "subresource": "status", "fieldsV1": fields}]
    for c in range(CLUSTERS):
        name = f"cluster{c:04d}"
        yield {"apiVersion": f"{CLUSTER}/v1", "kind": "ManagedCluster", "metadata": {"name": name}}
        for s in range(SCORES):
            metadata = {"name": f"score-{s:02d}", "namespace": name, "managedFields": written}
            head = {"apiVersion": f"{CLUSTER}/v1alpha1", "kind": "AddOnPlacementScore", "metadata": metadata}
            yield {**head, "status": {"scores": items}}


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is read from /proc")
def test_forty_thousand_scores_are_read_in_one_pass_within_bounds(tmp_path: Path) -> None:
    with hub_server() as hub:
        hub.put_all(fleet())
        config = hub.kubeconfig(tmp_path)
        line = [sys.executable, "-W", "error", "-c", READER, str(config)]
        done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == 0, done.stderr
        clusters, scores, items, peak = map(int, done.stdout.split())
        assert (clusters, scores, items) == (CLUSTERS, CLUSTERS * SCORES, CLUSTERS * SCORES * 6)
        pages = [seen for seen in hub.requests if seen.path.endswith("addonplacementscores")]
        assert len(pages) == CLUSTERS * SCORES // 500
        assert peak < MOST
