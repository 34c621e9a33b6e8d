"""Published results, regenerated and judged: experiments, verdicts, what is on record, pages."""
