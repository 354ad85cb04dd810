"""From your own file to a decision in the time you have: what to run next, what it will take, when to stop."""
