"""Skill documents, prompts, subscriptions and their changes."""
