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

/// Memory that processes may take without being killed for it, and what is left of it, MiB.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Memory {
    all: f64,
    left: f64,
}

/// Why this process should stop before the system kills it for want of memory; `None` while there is enough, or where the system does
/// not tell.
pub(crate) fn memory_ends() -> Option<String> {
    let read = |path: &str| std::fs::read_to_string(path).ok();
    let machine = read("/proc/meminfo").and_then(|text| of_machine(&text));
    let group = read("/proc/self/cgroup").and_then(|text| of_group(&text, &read));
    machine.into_iter().chain(group).find_map(|memory| ends(memory, memory_mib("VmRSS:")))
}

/// Above this share of the memory in this process a run ends where little is left. It stays where others have taken it.
const MUCH: f64 = 1.0 / 8.0;

/// What is little, MiB: a fiftieth, at least what a run may take until memory is looked at again, but a quarter at most.
fn little(all: f64) -> f64 {
    (all / 50.0).max(128.0).min(all / 4.0)
}

fn ends(memory: Memory, own: f64) -> Option<String> {
    let Memory { all, left } = memory;
    (own > all * MUCH && left < little(all)).then(|| {
        format!(
            "memory runs out: this process holds {own:.0} MiB, and of {all:.0} MiB there are {:.0} left",
            left.max(0.0)
        )
    })
}

/// A line `key: number kB` or `key number`, as it is.
fn number(text: &str, key: &str) -> Option<f64> {
    text.lines().find_map(|line| line.strip_prefix(key)?.split_whitespace().next()?.parse().ok())
}

fn of_machine(meminfo: &str) -> Option<Memory> {
    let mib = |key| number(meminfo, key).map(|kib| kib / 1024.0);
    Some(Memory { all: mib("MemTotal:")?, left: mib("MemAvailable:")? })
}

/// The limit of this process's control group (containers and batch systems set it), where it has one: version 2, then 1. What files
/// take in caches is no loss.
fn of_group(groups: &str, read: &dyn Fn(&str) -> Option<String>) -> Option<Memory> {
    groups.lines().find_map(|line| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        let (root, limit, used) = match controllers {
            "" => ("/sys/fs/cgroup", "memory.max", "anon "),
            "memory" => ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "total_rss "),
            _ => return None,
        };
        // Within a container the path may be the machine's, and the group at the root.
        [path.trim_end_matches('/'), ""].into_iter().find_map(|path| {
            let all: f64 = read(&format!("{root}{path}/{limit}"))?.trim().parse().ok()?;
            let used = number(&read(&format!("{root}{path}/memory.stat"))?, used)?;
            let mib = |bytes: f64| bytes / f64::from(1 << 20);
            Some(Memory { all: mib(all), left: mib(all - used) })
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run that fills the machine ends by itself, with its results; a small one is not ended because others fill it.
    #[test]
    fn runs_end_only_where_they_take_what_is_missing() {
        let memory = of_machine("MemTotal:       16384000 kB\nMemFree: 1 kB\nMemAvailable:     102400 kB\n").unwrap();
        assert_eq!(memory, Memory { all: 16000.0, left: 100.0 });
        let said = "memory runs out: this process holds 9000 MiB, and of 16000 MiB there are 100 left";
        assert_eq!(ends(memory, 9000.0).as_deref(), Some(said));
        assert_eq!(ends(memory, 1000.0), None);
        assert_eq!(ends(Memory { left: 900.0, ..memory }, 15_000.0), None);
        // A small container: 40 MiB a look are usual.
        let small = Memory { all: 400.0, left: 90.0 };
        assert!(ends(small, 300.0).is_some() && ends(Memory { left: 110.0, ..small }, 280.0).is_none());
    }

    /// Containers' limits count in both versions of control groups; "max" and the number that means it in the first are none.
    #[test]
    fn limits_of_containers_count() {
        let mib = |n: u64| (n << 20).to_string();
        let read = |path: &str| match path {
            "/sys/fs/cgroup/memory.max" | "/sys/fs/cgroup/memory/job/memory.limit_in_bytes" => Some(mib(512) + "\n"),
            "/sys/fs/cgroup/free/memory.max" => Some("max\n".to_string()),
            "/sys/fs/cgroup/memory.stat" => Some(format!("anon {}\nfile 9\n", mib(500))),
            "/sys/fs/cgroup/memory/job/memory.stat" => Some(format!("rss 1\ntotal_rss {}\n", mib(500))),
            _ => None,
        };
        let limit = Some(Memory { all: 512.0, left: 12.0 });
        assert_eq!(of_group("0::/\n", &read), limit);
        assert_eq!(of_group("0::/system/job.scope\n", &read), limit);
        assert_eq!(of_group("4:memory:/job\n0::/elsewhere\n", &read), limit);
        assert_eq!(of_group("4:cpu:/job\n", &read), None);
        assert_eq!(of_group("0::/free", &|path| read(path).filter(|_| path.contains("free"))), None);
    }
}
