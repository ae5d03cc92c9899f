//! What is wrong with a preset file or with the features: sentences with a remedy, collected so that one build shows
//! them all.

use std::cell::RefCell;
use std::fmt::Display;

/// The mistakes of one place: a file, or the features.
pub struct Mistakes {
    place: String,
    found: RefCell<Vec<String>>,
}

impl Mistakes {
    /// None yet. `place` stands in front of each.
    pub fn of(place: impl Into<String>) -> Self {
        Self { place: place.into(), found: RefCell::default() }
    }

    /// Adds one. `key` is the place within the place, empty where there is none; neither text ends with a full stop.
    pub fn add(&self, key: &str, what: impl Display, remedy: impl Display) {
        let key = if key.is_empty() { String::new() } else { format!("{key}: ") };
        self.found.borrow_mut().push(format!("{}: {key}{what}. Remedy: {remedy}.", self.place));
    }

    /// Adds one that the vocabulary states: what is wrong and the remedy, with a colon between.
    pub fn add_sentence(&self, key: &str, sentence: &str) {
        let (what, remedy) = sentence.split_once(": ").unwrap_or((sentence, "leave it out"));
        self.add(key, what, remedy);
    }

    /// Whether there are none.
    pub fn none(&self) -> bool {
        self.found.borrow().is_empty()
    }

    /// All of them, in the order in which they were found.
    pub fn into_list(self) -> Vec<String> {
        self.found.into_inner()
    }
}

/// The remedy for a name that is not known: the known one that it resembles, or else what `otherwise` says.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>, otherwise: impl Display) -> String {
    let distance = |known: &&str| strsim::damerau_levenshtein(name, known);
    match known.into_iter().min_by_key(distance) {
        // A third of the letters wrong is a slip; more is another word.
        Some(near) if distance(&near) <= near.len().div_ceil(3) => format!("write `{near}`"),
        _ => otherwise.to_string(),
    }
}

/// `a`, `a and b`, `a, b and c`.
pub fn list(items: impl IntoIterator<Item = impl Into<String>>) -> String {
    let items: Vec<String> = items.into_iter().map(Into::into).collect();
    match &items[..] {
        [most @ .., last] if !most.is_empty() => format!("{} and {last}", most.join(", ")),
        _ => items.concat(),
    }
}
