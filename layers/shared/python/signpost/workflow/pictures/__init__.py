"""Pictures of definitions and instances: Mermaid and SVG."""
