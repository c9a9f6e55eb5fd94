"""The sample that ships: two clusters whose GPU can be split three ways, two inference workloads, two static scores.

Owns the files: `hub/` is a hub's snapshot, `intent/` and `policies/` are what the sample's fleet repository starts
with. Owns no code that reads them: the sample goes through the same doors as everybody's own files.
"""

from importlib import resources
from pathlib import Path


def sample_folder() -> Path:
    """The folder that holds `hub/`, `intent/` and `policies/`, wherever the package is installed."""
    return Path(str(resources.files(__name__)))
