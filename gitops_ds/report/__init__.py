"""A Plan for readers: JSON for machines, text for a terminal.

Owns the form. Owns no fact: every word comes from the Plan.
"""
