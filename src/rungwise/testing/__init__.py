"""Conformance suites to subclass, and stand-ins for tests."""
