//! What a check says, as text and as JSON. The help of `hakmem doctor` documents the keys: they stay.

use serde_json::{Value, json};

use crate::text;

/// Columns of the state, and of the state with the name.
const STATE: usize = 9;
const HEAD: usize = STATE + 22;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum State {
    /// As it should be.
    Ok,
    /// Worth knowing.
    Note,
    /// Something does not work.
    Problem,
}

impl State {
    fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Problem => "problem",
        }
    }
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// What.
    pub name: &'static str,
    pub state: State,
    /// What was found, and what follows from it.
    pub found: String,
    /// What to do about it, if something has to or can be done.
    pub remedy: Option<String>,
}

impl Check {
    /// As it should be.
    pub fn ok(name: &'static str, found: impl Into<String>) -> Self {
        Self { name, state: State::Ok, found: found.into(), remedy: None }
    }

    /// Worth knowing.
    pub fn note(name: &'static str, found: impl Into<String>) -> Self {
        Self { state: State::Note, ..Self::ok(name, found) }
    }

    /// Something does not work.
    pub fn problem(name: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { state: State::Problem, ..Self::ok(name, found) }.remedy(remedy)
    }

    /// With something to do about it.
    pub fn remedy(self, remedy: impl Into<String>) -> Self {
        Self { remedy: Some(remedy.into()), ..self }
    }

    /// What went wrong, from a message that has its remedy in it.
    pub fn failure(name: &'static str, message: &str) -> Self {
        match message.split_once("Remedy: ") {
            Some((found, remedy)) => Self::problem(name, found.trim_end(), remedy),
            None => Self { state: State::Problem, ..Self::ok(name, message) },
        }
    }
}

/// How many of the checks are in that state.
pub fn count(checks: &[Check], state: State) -> usize {
    checks.iter().filter(|check| check.state == state).count()
}

/// A line or more for each check.
pub fn text(checks: &[Check]) -> String {
    let entry = |check: &Check| {
        let head = format!("{:<STATE$}{}", check.state.name(), check.name);
        let remedy = check.remedy.as_ref().map(|remedy| text::entry("", HEAD, &format!("Remedy: {remedy}")));
        text::entry(&head, HEAD, &check.found) + &remedy.unwrap_or_default()
    };
    checks.iter().map(entry).collect()
}

/// The same as JSON.
pub fn json(checks: &[Check]) -> Value {
    let all = checks.iter().map(|check| {
        json!({
            "check": check.name,
            "state": check.state.name(),
            "found": check.found,
            "remedy": check.remedy,
        })
    });
    json!({
        "checks": all.collect::<Vec<_>>(),
        "problems": count(checks, State::Problem),
        "notes": count(checks, State::Note),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checks() -> [Check; 3] {
        [
            Check::ok("kernel", "6.1"),
            Check::note("gdb", "not installed").remedy("install it"),
            Check::failure("preload", "it does not work. Remedy: try again"),
        ]
    }

    #[test]
    fn a_check_is_a_line_and_its_remedy_another() {
        let expected = "\
ok       kernel                6.1
note     gdb                   not installed
                               Remedy: install it
problem  preload               it does not work.
                               Remedy: try again
";
        assert_eq!(text(&checks()), expected);
        let long = text(&[Check::ok("kernel", "word ".repeat(60))]);
        assert!(long.lines().all(|line| line.len() <= text::WIDTH), "{long}");
    }

    #[test]
    fn the_keys_stay() {
        let value = json(&[checks(), [(); 3].map(|()| Check::note("perf", "not installed"))].concat());
        let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert_eq!(keys(&value), ["checks", "notes", "problems"]);
        assert_eq!((&value["problems"], &value["notes"]), (&json!(1), &json!(4)));
        assert_eq!(keys(&value["checks"][0]), ["check", "found", "remedy", "state"]);
        let expected = json!({ "check": "gdb", "state": "note", "found": "not installed", "remedy": "install it" });
        assert_eq!(value["checks"][1], expected);
        assert_eq!(value["checks"][0]["remedy"], Value::Null);
    }
}
