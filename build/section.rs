//! A table of a preset file: its keys by type. What is of another type, or not known, becomes a mistake.

use crate::config::{Class, Classes};
use crate::mistakes::{Mistakes, list, nearest};
use std::fmt::Display;
use toml::{Table, Value};

/// A table, or the place where one might stand.
pub struct Section<'a> {
    mistakes: &'a Mistakes,
    /// What leads to its keys: empty, or with a dot at the end.
    path: String,
    table: Option<&'a Table>,
}

impl<'a> Section<'a> {
    /// The whole file, which has no other keys than `keys`.
    pub fn root(mistakes: &'a Mistakes, table: &'a Table, keys: &[&str]) -> Self {
        let this = Self { mistakes, path: String::new(), table: Some(table) };
        this.know(keys);
        this
    }

    /// The table `key`, which has no other keys than `keys`. Without those its keys are classes, see [`Self::by_class`].
    pub fn section(&self, key: &str, keys: &[&str]) -> Section<'a> {
        let table = match self.value(key) {
            Some(Value::Table(table)) => Some(table),
            Some(other) => self.unlike(key, other, "a table", &format!("[{}{key}]", self.path)),
            None => None,
        };
        let section = Section { mistakes: self.mistakes, path: format!("{}{key}.", self.path), table };
        if !keys.is_empty() {
            section.know(keys);
        }
        section
    }

    /// Whatever `key` is.
    pub fn value(&self, key: &str) -> Option<&'a Value> {
        self.table?.get(key)
    }

    /// A mistake at `key`.
    pub fn wrong(&self, key: &str, what: impl Display, remedy: impl Display) {
        self.mistakes.add(&format!("{}{key}", self.path), what, remedy);
    }

    /// A mistake at `key`: `value` is not what is `wanted`.
    pub fn unlike<T>(&self, key: &str, value: &Value, wanted: &str, example: &str) -> Option<T> {
        self.wrong(key, format!("this is of type {}, not {wanted}", value.type_str()), format!("write `{example}`"));
        None
    }

    /// A string of one line.
    pub fn text(&self, key: &str) -> Option<&'a str> {
        let text = match self.value(key)? {
            Value::String(text) => text,
            other => return self.unlike(key, other, "a string", &format!("{key} = \"...\"")),
        };
        if text.trim().is_empty() || text.contains(char::is_control) {
            self.wrong(key, "a text of one line is wanted", format!("write `{key} = \"...\"`"));
            return None;
        }
        Some(text)
    }

    /// A number; what is negative becomes 0.
    pub fn number(&self, key: &str, example: usize) -> Option<usize> {
        match self.value(key)? {
            Value::Integer(number) => Some(clamped(*number)),
            other => self.unlike(key, other, "an integer", &format!("{key} = {example}")),
        }
    }

    /// A list of strings, empty if there is none.
    pub fn names(&self, key: &str) -> Vec<&'a str> {
        let example = format!("{key} = [\"...\"]");
        let names = match self.value(key) {
            Some(Value::Array(values)) => values.iter().map(|value| match value {
                Value::String(name) => Some(name.as_str()),
                other => self.unlike(key, other, "a string", &example),
            }),
            Some(other) => return self.unlike(key, other, "a list of strings", &example).unwrap_or_default(),
            None => return Vec::new(),
        };
        names.flatten().collect()
    }

    /// What each class is given, and under which key: by its name, by a mask, or by `all` where neither names it.
    pub fn by_class<T: Copy>(&self, read: impl Fn(&str, &'a Value) -> Option<T>) -> [Option<(&'a str, T)>; 8] {
        let mut given = [None; 8];
        let (mut all, mut named) = (None, [None; 8]);
        for (key, value) in self.table.into_iter().flatten() {
            let classes = if key == "all" { Some(Classes::ALL) } else { self.classes(key, key) };
            let (Some(classes), Some(value)) = (classes, read(key, value)) else { continue };
            if key == "all" {
                all = Some((key.as_str(), value));
                continue;
            }
            for class in Class::ALL.into_iter().filter(|&class| classes.has(class)) {
                match named[class as usize].replace(key) {
                    None => given[class as usize] = Some((key.as_str(), value)),
                    Some(other) => {
                        let what = format!("{} is named by `{other}` already", class.name());
                        self.wrong(key, what, "name each class once, those that are left by `all`");
                    }
                }
            }
        }
        given.map(|value| value.or(all))
    }

    /// The classes that `text`, found at `key`, stands for: C0 to C7, or a mask.
    pub fn classes(&self, key: &str, text: &str) -> Option<Classes> {
        let named = Class::ALL.into_iter().find(|class| class.name() == text).map(|class| 1 << class as u8);
        let digits = text.strip_prefix("0x").filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        let mask = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()).filter(|&mask| mask != 0);
        let classes = named.or(mask).map(Classes);
        if classes.is_none() {
            let remedy = "write C0 to C7, or a mask from \"0x01\" to \"0xff\", whose bit n is class Cn";
            self.wrong(key, format!("`{text}` is no class and no mask of classes"), remedy);
        }
        classes
    }

    /// Every key that is not one of `keys` is a mistake.
    fn know(&self, keys: &[&str]) {
        for key in self.table.into_iter().flat_map(Table::keys) {
            if !keys.contains(&key.as_str()) {
                let all = || format!("leave it out; the keys here are {}", list(keys.iter().copied()));
                self.wrong(key, "there is no such key", nearest(key, keys.iter().copied(), all()));
            }
        }
    }
}

/// A number of TOML as a number of bytes or blocks: what is negative is as wrong as 0.
pub fn clamped(number: i64) -> usize {
    usize::try_from(number).unwrap_or(0)
}
