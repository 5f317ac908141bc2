"""Parts of tools/model_residuals.py."""
