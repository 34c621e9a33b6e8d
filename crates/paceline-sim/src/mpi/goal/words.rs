//! GOAL text as words.

use crate::InputError;
use crate::spelling::clip;

/// A word of GOAL text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Word<'a> {
    /// Letters, digits and `_`, beginning with a letter.
    Name(&'a str),
    /// Digits.
    Number(&'a str),
    /// `-1`.
    Any,
    Open,
    Close,
    Colon,
    /// End of a line.
    Line,
    /// End of the text.
    End,
    /// Anything else.
    Other(&'a str),
}

impl Word<'_> {
    /// For an error message.
    pub(super) fn show(self) -> String {
        match self {
            Word::Name(text) | Word::Number(text) | Word::Other(text) => clip(text),
            Word::Any => "-1".to_string(),
            Word::Open => "{".to_string(),
            Word::Close => "}".to_string(),
            Word::Colon => ":".to_string(),
            Word::Line => "end of line".to_string(),
            Word::End => "end of file".to_string(),
        }
    }
}

/// The words of a text, one after the other.
pub(super) struct Words<'a> {
    text: &'a str,
    file: &'a str,
    at: usize,
    /// Line of the word that comes next, from 1.
    line: usize,
    /// Line of the word taken last.
    pub(super) last_line: usize,
}

impl<'a> Words<'a> {
    pub(super) fn new(text: &'a str, file: &'a str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        Self { text, file, at: 0, line: 1, last_line: 1 }
    }

    /// An error at the word taken last.
    pub(super) fn bad(&self, problem: impl Into<String>) -> InputError {
        self.here(InputError::new(problem))
    }

    /// The same of an error that has no place yet.
    pub(super) fn here(&self, error: InputError) -> InputError {
        error.file(self.file).line(self.last_line)
    }

    /// Takes the next word, if it is the one that is asked for.
    pub(super) fn take_if(&mut self, word: Word<'_>) -> Result<bool, InputError> {
        let before = (self.at, self.line, self.last_line);
        if self.take()? == word {
            return Ok(true);
        }
        (self.at, self.line, self.last_line) = before;
        Ok(false)
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Passes spaces and comments.
    fn pass_space(&mut self) -> Result<(), InputError> {
        loop {
            let rest = self.rest();
            let space = rest.len() - rest.trim_start_matches([' ', '\t', '\r']).len();
            self.at += space;
            let rest = self.rest();
            if rest.starts_with("//") {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if let Some(comment) = rest.strip_prefix("/*") {
                self.last_line = self.line;
                let end = comment.find("*/").ok_or_else(|| {
                    self.bad("the comment does not end").value("/*").allowed("`*/` at the end of a comment")
                })?;
                self.line += rest[..end + 4].bytes().filter(|b| *b == b'\n').count();
                self.at += end + 4;
            } else {
                return Ok(());
            }
        }
    }

    /// The next word.
    pub(super) fn take(&mut self) -> Result<Word<'a>, InputError> {
        self.pass_space()?;
        self.last_line = self.line;
        let rest = self.rest();
        let Some(first) = rest.chars().next() else { return Ok(Word::End) };
        let run = |keep: fn(char) -> bool| rest.find(|c| !keep(c)).unwrap_or(rest.len());
        let (length, word): (usize, fn(&'a str) -> Word<'a>) = match first {
            '\n' => {
                self.line += 1;
                (1, |_| Word::Line)
            }
            '{' => (1, |_| Word::Open),
            '}' => (1, |_| Word::Close),
            ':' => (1, |_| Word::Colon),
            '-' if rest.starts_with("-1") && !rest[2..].starts_with(|c: char| c.is_ascii_digit()) => (2, |_| Word::Any),
            c if c.is_ascii_digit() => (run(|c| c.is_ascii_digit()), Word::Number),
            c if c.is_ascii_alphabetic() => (run(|c| c.is_ascii_alphanumeric() || c == '_'), Word::Name),
            _ => (run(|c| !c.is_whitespace()).max(first.len_utf8()), Word::Other),
        };
        self.at += length;
        Ok(word(&rest[..length]))
    }
}
