"""Hazards of a publication: parts of texts, names, settings and patterns that harm their readers unnoticed. Each is
reported as a warning with a stable code."""
