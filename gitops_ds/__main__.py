"""`python -m gitops_ds` is `gitops-ds`."""

from gitops_ds.cli.main import run

if __name__ == "__main__":
    run()
