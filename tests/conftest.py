"""Settings of every test: Hypothesis draws the same examples each time, at any speed."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "rungwise",
    derandomize=True,
    deadline=None,
    # A busy machine is slow; that says nothing about a test.
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("rungwise")
