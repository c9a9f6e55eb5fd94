"""The placement problem as packing: which workloads go together on which configuration, for the most value.

Owns the search's data and its combinatorial parts. Owns no solver: the master problems are solved behind `solver/`.
"""
