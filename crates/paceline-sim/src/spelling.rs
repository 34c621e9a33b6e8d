//! Words of users in error messages: cut to what fits, and what may have been meant by an unknown one.

/// Most characters of a user's text or value in a message.
pub(crate) const MAX_SHOWN: usize = 80;

/// Words longer than this are not compared: bounds the work.
const MAX_COMPARED: usize = 64;

/// What a name may be.
pub(crate) const NAME: &str = "a name of 1 to 64 letters, digits and - _ . + @, the first a letter or digit";

/// Whether a text may be the name of something in a scenario: [`NAME`].
pub(crate) fn is_name(text: &str) -> bool {
    let good = |b: u8| b.is_ascii_alphanumeric() || b"-_.+@".contains(&b);
    let first = text.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric());
    first && text.len() <= 64 && text.bytes().all(good)
}

/// The start of a text, as much as fits a message.
pub(crate) fn clip(text: &str) -> String {
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_string(),
    }
}

/// The candidate nearest to `word`, if it is near enough to be what was meant: at most a third of its letters differ.
pub(crate) fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > MAX_COMPARED {
        return None;
    }
    let (edits, best) = closest(word, candidates)?;
    (edits < best.len() && edits * 3 <= best.len().max(3)).then_some(best)
}

/// The candidate with the fewest edits from `word`, letter case aside, and how many; the first of several. An edit inserts, deletes or
/// replaces a letter or swaps two neighbours.
pub(crate) fn closest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<(usize, &'a str)> {
    let word: String = word.chars().take(MAX_COMPARED).flat_map(char::to_lowercase).collect();
    let edits = |other: &str| strsim::osa_distance(&word, &other.to_lowercase());
    candidates.into_iter().map(|c| (edits(c), c)).min_by_key(|(edits, _)| *edits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_understood_and_another_word_is_not() {
        let known = ["eta", "buffer", "duration"];
        assert_eq!(nearest("bufer", known), Some("buffer"));
        assert_eq!(nearest("Druation", known), Some("duration"));
        assert_eq!(nearest("window", known), None);
        assert_eq!(nearest(&"eta".repeat(1000), known), None);
        assert_eq!(closest("window", []), None);
    }

    #[test]
    fn long_texts_are_cut_at_whole_letters() {
        assert_eq!(clip(&"ä".repeat(MAX_SHOWN + 1)), "ä".repeat(MAX_SHOWN) + "…");
        assert_eq!(clip("ä"), "ä");
    }
}
