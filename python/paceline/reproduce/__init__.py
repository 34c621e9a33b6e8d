"""Published results, regenerated and judged: experiments, their points, the sweep that runs them, the verdicts."""
