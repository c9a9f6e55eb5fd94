"""Benchmarks: ours against rivals, from the same instances, in one run. Read docs/bench.md first."""
