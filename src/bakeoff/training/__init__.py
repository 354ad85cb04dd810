"""How models learn; the only room that knows Lightning."""
