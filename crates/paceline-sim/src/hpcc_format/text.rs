//! Lines, words and numbers of the reference's files, with errors that name the place.

use crate::InputError;
use crate::spelling::clip;

/// A line that is not blank.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<'a> {
    /// Name of the file, for messages.
    pub file: &'a str,
    /// Line number, from 1.
    pub number: usize,
    /// The line without surrounding white space.
    pub text: &'a str,
}

/// The lines of `text` that are not blank.
pub(super) fn lines<'a>(text: &'a str, file: &'a str) -> impl Iterator<Item = Line<'a>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    text.lines()
        .enumerate()
        .map(move |(i, text)| Line { file, number: i + 1, text: text.trim() })
        .filter(|line| !line.text.is_empty())
}

/// The error for a file without any text.
pub(super) fn empty(file: &str) -> InputError {
    InputError::new("the file is empty")
        .file(file)
        .line(1)
        .allowed("a header line with the counts, then that many rows")
}

/// Warns about what follows the last row the header counts: further rows (`is_row`) or other text.
pub(super) fn leave_rest<'a>(
    rest: &mut impl Iterator<Item = Line<'a>>,
    count: usize,
    what: &str,
    is_row: impl Fn(&Line<'_>) -> bool,
    warnings: &mut Vec<String>,
) {
    let Some(first) = rest.next() else { return };
    if is_row(&first) {
        let more = 1 + rest.take_while(|line| is_row(line)).count();
        let only = format!("the header says {count} {what}s, {more} more follow; only the first {count} are used");
        warnings.push(first.warning(format!("{only}, as in the reference")));
    } else {
        warnings.push(first.warning(format!("text after the last {what} is not read")));
    }
}

/// A whole number in decimal digits, without sign; `None` also when it passes 2^64 - 1.
pub(super) fn whole(word: &str) -> Option<u64> {
    if word.bytes().all(|b| b.is_ascii_digit()) { word.parse().ok() } else { None }
}

/// A finite decimal number, with or without exponent. The words a float parser also takes (`inf`, `nan`) are refused.
pub(super) fn real(word: &str) -> Option<f64> {
    let plain = word.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-'));
    if plain { word.parse().ok().filter(|d: &f64| d.is_finite()) } else { None }
}

impl<'a> Line<'a> {
    /// The words of the line.
    pub fn words(&self) -> Vec<&'a str> {
        self.text.split_whitespace().collect()
    }

    /// The words of a line of just so many, however long it is.
    pub fn row<const N: usize>(&self) -> Option<[&'a str; N]> {
        let mut words = self.text.split_whitespace();
        let mut row = [""; N];
        for place in &mut row {
            *place = words.next()?;
        }
        words.next().is_none().then_some(row)
    }

    /// An error at this line.
    pub fn error(&self, problem: impl Into<String>) -> InputError {
        InputError::new(problem).file(self.file).line(self.number)
    }

    /// An error at this line about one value of it.
    pub fn bad(&self, field: &str, value: &str, problem: &str, allowed: impl Into<String>) -> InputError {
        self.error(problem).field(field).value(clip(value)).allowed(allowed)
    }

    /// A warning at this line, in the form of the errors.
    pub fn warning(&self, message: impl std::fmt::Display) -> String {
        format!("{}:{}: {message}", self.file, self.number)
    }

    /// `word` as a whole number from `min` to `max`; `why` may add a clause to what is allowed.
    pub fn integer(&self, field: &str, word: &str, min: u64, max: u64, why: &str) -> Result<u64, InputError> {
        let allowed = || format!("a whole number from {min} to {max}{why}");
        match whole(word) {
            Some(n) if (min..=max).contains(&n) => Ok(n),
            // Digits that do not parse are a number past 2^64.
            None if !word.bytes().all(|b| b.is_ascii_digit()) => {
                Err(self.bad(field, word, "not a whole number", allowed()))
            }
            _ => Err(self.bad(field, word, "out of range", allowed())),
        }
    }

    /// `word` as a finite number that passes `ok`.
    pub fn number(&self, field: &str, word: &str, ok: impl Fn(f64) -> bool, allowed: &str) -> Result<f64, InputError> {
        match real(word) {
            Some(d) if ok(d) => Ok(d),
            Some(_) => Err(self.bad(field, word, "out of range", allowed)),
            None => Err(self.bad(field, word, "not a finite number", allowed)),
        }
    }
}
