//! The one error type for user input: it names the place, the value and what is allowed.

use std::fmt;

use serde::Serialize;

/// Bad input. Shown as `file:line: field = value: problem; allowed: …`.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct InputError {
    /// File the input came from, as the user named it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Line in that file, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// Dotted field, flow or node the problem is at (`switch.ecn.k_max`, `flow 17`, `node 4`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// The value as given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// What is wrong, one clause.
    pub problem: String,
    /// What is allowed instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed: Option<String>,
}

impl InputError {
    /// An error that so far only says what is wrong.
    pub fn new(problem: impl Into<String>) -> Self {
        Self { problem: problem.into(), ..Self::default() }
    }
    /// Adds the file.
    #[must_use]
    pub fn file(mut self, file: impl Into<String>) -> Self {
        self.file = Some(file.into());
        self
    }
    /// Adds the line, from 1.
    #[must_use]
    pub fn line(mut self, line: usize) -> Self {
        self.line = Some(line);
        self
    }
    /// Adds the field.
    #[must_use]
    pub fn field(mut self, field: impl Into<String>) -> Self {
        self.field = Some(field.into());
        self
    }
    /// Adds the value as given.
    #[must_use]
    pub fn value(mut self, value: impl fmt::Display) -> Self {
        self.value = Some(value.to_string());
        self
    }
    /// Adds what is allowed.
    #[must_use]
    pub fn allowed(mut self, allowed: impl Into<String>) -> Self {
        self.allowed = Some(allowed.into());
        self
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |text| Plain(text, MOST_SHOWN);
        match (self.file.as_deref().map(shown), self.line) {
            (Some(file), Some(line)) => write!(f, "{file}:{line}: ")?,
            (Some(file), None) => write!(f, "{file}: ")?,
            (None, Some(line)) => write!(f, "line {line}: ")?,
            (None, None) => {}
        }
        match (self.field.as_deref().map(shown), self.value.as_deref().map(shown)) {
            (Some(field), Some(value)) => write!(f, "{field} = {value}: ")?,
            (Some(field), None) => write!(f, "{field}: ")?,
            (None, Some(value)) => write!(f, "`{value}`: ")?,
            (None, None) => {}
        }
        write!(f, "{}", Plain(&self.problem, usize::MAX))?;
        if let Some(allowed) = &self.allowed {
            write!(f, "; allowed: {}", Plain(allowed, usize::MAX))?;
        }
        Ok(())
    }
}

/// Characters of a file name, field or value that are shown; paths of 4096 characters are possible, and cut in the middle.
const MOST_SHOWN: usize = 300;

/// A text in one line that does nothing to a terminal, of at most so many characters: what is in files is not ours.
struct Plain<'a>(&'a str, usize);

impl fmt::Display for Plain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.0.chars().count();
        let cut = if count > self.1 { self.1 / 2..count - self.1 / 2 } else { 0..0 };
        for (i, c) in self.0.chars().enumerate() {
            if cut.contains(&i) {
                if i == cut.start {
                    f.write_str("…")?;
                }
            } else if c.is_control() || is_layout(c) {
                write!(f, "{}", c.escape_default())?;
            } else {
                write!(f, "{c}")?;
            }
        }
        Ok(())
    }
}

/// Whether a character ends a line or turns the direction of writing.
fn is_layout(c: char) -> bool {
    matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

impl std::error::Error for InputError {}

/// Why there is no result.
#[derive(Debug)]
pub enum RunError {
    /// The input is wrong; nothing was written.
    Input(InputError),
    /// The disk did not take the results; what was written before stays.
    Io(std::io::Error),
    /// Memory ran out; what was simulated before stays.
    Memory(String),
    /// `run.strict` and something is not as it should be; the results are there.
    Strict(String),
    /// An error of ours: the results are there, and contradict themselves.
    Unsound(String),
}

impl From<InputError> for RunError {
    fn from(e: InputError) -> Self {
        RunError::Input(e)
    }
}

impl From<std::io::Error> for RunError {
    fn from(e: std::io::Error) -> Self {
        RunError::Io(e)
    }
}

impl std::error::Error for RunError {}

impl std::fmt::Display for RunError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RunError::Input(e) => e.fmt(f),
            RunError::Io(e) => write!(f, "results cannot be written: {e}"),
            RunError::Memory(e) | RunError::Strict(e) => f.write_str(e),
            RunError::Unsound(e) => write!(f, "internal error, please report it; the results cannot be trusted: {e}"),
        }
    }
}
