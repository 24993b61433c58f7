"""What must hold of a Verified Log."""
