"""Many runs: their points, the runner and its store of finished runs, and what a sweep over one scenario found."""
