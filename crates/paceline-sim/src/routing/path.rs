//! The egress ports a packet takes, kept small for the usual few hops.

use crate::InputError;
use crate::graph::PortNo;

/// Egress ports of a path: element 0 the NIC port of the sending host, then one per switch; the last leads to the receiving host.
///
/// Up to 8 ports lie in place, longer paths (up to 255) in a heap allocation.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Path {
    /// Number of ports, which is the number of links crossed: 1 to 255; 0 only in the default, empty path.
    pub len: u8,
    /// The first ports; those from `len` on are 0.
    pub ports: [PortNo; 8],
    /// All ports of a path longer than 8.
    long: Option<Box<[PortNo]>>,
}

impl Path {
    /// Most links a path may cross.
    pub const MAX: usize = 255;

    /// A path of these ports.
    ///
    /// # Errors
    /// No port, or more than 255.
    pub fn new(ports: &[PortNo]) -> Result<Self, InputError> {
        if ports.is_empty() || ports.len() > Self::MAX {
            let error = InputError::new("path of an impossible length").field("links of a path").value(ports.len());
            return Err(error.allowed("1 to 255"));
        }
        let mut head = [0; 8];
        let n = ports.len().min(8);
        head[..n].copy_from_slice(&ports[..n]);
        let long = (ports.len() > 8).then(|| ports.into());
        Ok(Self { len: ports.len() as u8, ports: head, long })
    }

    /// All ports, in order.
    pub fn as_slice(&self) -> &[PortNo] {
        match &self.long {
            Some(long) => long,
            None => &self.ports[..self.len as usize],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_long_paths_keep_their_ports() {
        for n in [1usize, 7, 8, 9, 255] {
            let ports: Vec<PortNo> = (0..n as PortNo).map(|p| p + 300).collect();
            let path = Path::new(&ports).unwrap();
            assert_eq!((path.as_slice(), path.len as usize), (&ports[..], n));
        }
        assert!(Path::new(&[]).is_err());
        assert!(Path::new(&[0; 256]).is_err());
        assert!(size_of::<Path>() <= 40);
    }
}
