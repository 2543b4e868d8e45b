"""A live page of studies: what is tuned, why it stands where it stands, what it has saved.

Law of this package: it reads study files and nothing else; the tuner need not know. What a person
changes from the page goes through the requests of :mod:`rungwise.tuning.requests`, as from the
command line.
"""
