"""Tuning real training: plan, session, result, retraining."""
