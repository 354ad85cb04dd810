"""What is asked of a model."""
