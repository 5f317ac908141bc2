"""Parts of tools/accept."""
