"""The command line: the composition root, where environment, clock, terminal and exit codes live.

Owns verbs, options and how errors look. Owns no decision: every verb is a thin use of the same functions.
"""
