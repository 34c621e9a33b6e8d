//! Commented scenarios to start from.

/// Names and texts of the scenarios that come with Paceline, in the order they are listed.
pub const TEMPLATES: &[(&str, &str)] = &[
    ("quickstart", include_str!("templates/quickstart.toml")),
    ("hpcc-websearch", include_str!("templates/hpcc-websearch.toml")),
    ("incast", include_str!("templates/incast.toml")),
    ("dcqcn-incast", include_str!("templates/dcqcn-incast.toml")),
    ("all-reduce", include_str!("templates/all-reduce.toml")),
    ("fat-tree", include_str!("templates/fat-tree.toml")),
    ("tcp-udp-pfc", include_str!("templates/tcp-udp-pfc.toml")),
];

/// The scenario of this name.
pub fn template(name: &str) -> Option<&'static str> {
    TEMPLATES.iter().find(|(n, _)| *n == name).map(|(_, text)| *text)
}
