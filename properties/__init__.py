"""What must hold of each system, every property with a witness that shows it can be exercised."""
