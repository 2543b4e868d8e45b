"""The pure core: facts in, decisions out.

Nothing here does I/O, reads a clock, starts a thread, logs or draws from global random state;
a test walks the imports and enforces it.
"""
