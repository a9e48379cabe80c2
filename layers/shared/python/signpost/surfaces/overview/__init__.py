"""Resources at `signpost://` URIs, on every surface: workflows, runs, configuration and the deployment."""
