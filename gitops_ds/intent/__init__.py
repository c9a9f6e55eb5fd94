"""Intents: what people write, read strictly, with every fault of every file reported at once.

Owns the kinds, their JSON Schema and the loader. Owns no look at the hub: whether a cluster or a policy exists is the
problem's to say.
"""
