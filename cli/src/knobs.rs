//! `hakmem presets --knobs`: what can be decided about a preset, and the variables of the original that each decision
//! answers to.

use hakmem::config::{Class, Knob, Place, Route, Standing, VARIABLES};

use crate::text;

/// Columns of the names.
const NAMES: usize = 31;

/// All of them, for a reader.
pub fn list() -> String {
    let headings = [
        (Standing::Ready, "On or off (hakmem build --with KNOB, --without KNOB)"),
        (Standing::BuiltIn, "On in every preset"),
        (Standing::Missing, "Off in every preset, not built"),
    ];
    let mut out = String::new();
    for (standing, heading) in headings {
        out += &format!("{heading}\n");
        for &knob in Knob::ALL.iter().filter(|knob| knob.standing() == standing) {
            out += &entry(knob.name(), knob.summary(), &variables_of_knob(knob));
        }
        out.push('\n');
    }
    out += "Routes (--with ROUTE-cN puts class CN on one, --without ROUTE-cN puts it back on legacy)\n";
    for route in Route::ALL {
        let classes = Class::ALL.into_iter().filter(|&class| route.classes().has(class));
        let classes: Vec<_> = classes.map(Class::name).collect();
        let built = if route.ready() { "" } else { ", not built" };
        out += &entry(route.name(), &format!("For {}{built}.", classes.join(" ")), &variables_of_route(route));
    }
    out
}

/// The variables of the original that the knob answers to.
pub fn variables_of_knob(knob: Knob) -> Vec<String> {
    variables(|place| match place {
        Place::Knob(other) => other == knob,
        Place::Knobs(knobs) => knobs.contains(&knob),
        _ => false,
    })
}

/// The variables of the original that the route answers to.
pub fn variables_of_route(route: Route) -> Vec<String> {
    variables(|place| match place {
        Place::Route(other) | Place::Classes(other) | Place::RouteOf(other, _) => other == route,
        _ => false,
    })
}

fn variables(of: impl Fn(Place) -> bool) -> Vec<String> {
    let found = VARIABLES.iter().filter(|variable| of(variable.place));
    found.map(|variable| format!("HAKMEM_{}", variable.name)).collect()
}

/// A name, what it stands for, and the variables below.
fn entry(name: &str, summary: &str, variables: &[String]) -> String {
    let mut out = text::entry(&format!("  {name}"), NAMES, summary);
    if !variables.is_empty() {
        out += &text::entry("", NAMES, &variables.join(", "));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_decision_is_there_with_its_variables() {
        let list = list();
        assert!(list.lines().all(|line| line.len() <= text::WIDTH), "{list}");
        for &knob in Knob::ALL {
            assert_eq!(list.matches(&format!("\n  {} ", knob.name())).count(), 1, "{}", knob.name());
        }
        for variable in VARIABLES {
            let shown = !matches!(variable.place, Place::Preset | Place::Tool(_));
            assert_eq!(list.contains(&format!("HAKMEM_{}", variable.name)), shown, "{}", variable.name);
        }
        assert_eq!(variables_of_knob(Knob::FreePolicyFast).len(), 2);
        assert_eq!(variables_of_knob(Knob::HeaderFull), ["HAKMEM_TINY_HEADER_MODE"]);
        assert_eq!(variables_of_route(Route::Ultra), ["HAKMEM_TINY_C6_ULTRA_FREE_ENABLED"]);
    }
}
