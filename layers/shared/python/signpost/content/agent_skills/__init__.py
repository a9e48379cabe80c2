"""Agent Skills: the SKILL.md format, its folders and its files."""
