"""The study that runs: one session, and the parts that follow what happens in it.

Law of this package: :class:`~rungwise.session.session.StudySession` is the only one that brings an
engine, a backend and a log together. What else has to happen while a study runs is a part of it
(:class:`~rungwise.session.part.Part`), and no part knows another.
"""
