//! What a run takes of the machine.

/// CPU seconds of the calling thread so far; 0 where the system does not tell.
pub fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split_whitespace().next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(0.0) * 1e-9
}

/// Largest resident memory of the process, MiB; 0 where the system does not tell.
pub fn peak_rss_mib() -> f64 {
    memory_mib("VmHWM:")
}

/// A line of the process's status, in MiB; 0 where the system has none.
pub(crate) fn memory_mib(key: &str) -> f64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|l| l.strip_prefix(key));
    line.and_then(|l| l.split_whitespace().next()?.parse::<f64>().ok()).unwrap_or(0.0) / 1024.0
}
