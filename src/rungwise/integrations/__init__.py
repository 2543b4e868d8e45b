"""rungwise inside other libraries: one module for each, which is imported by its own name.

Law of this package: a module translates between its library and the engine, and decides nothing.
"""
